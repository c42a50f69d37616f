"""Names in any script in pictures, as far as fonts are installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from shuffledp.errors import MissingExtraError


@contextmanager
def drawable(texts: Iterable[str]) -> Iterator[None]:
    """Pictures made inside draw these texts; what no font can draw is said once, on stderr."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("plot", "Drawing a picture") from error
    needed = {ord(letter) for letter in "".join(texts) if letter.isprintable()}
    families, missing = _fallbacks(needed)
    if missing:
        some = "".join(map(chr, sorted(missing)[:8]))
        print(f"note: no installed font draws {some!r}: boxes in the picture", file=sys.stderr)
    with (
        matplotlib.rc_context({"font.family": [*matplotlib.rcParams["font.family"], *families]}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def _fallbacks(needed: set[int]) -> tuple[list[str], set[int]]:
    """Further families that draw what the usual one lacks, and what none draws."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    missing = needed - get_font(findfont(FontProperties())).get_charmap().keys()
    families: list[str] = []
    for name in sorted({entry.name for entry in fontManager.ttflist}):
        if not missing:
            break
        if name.startswith("Last Resort"):  # draws boxes for everything
            continue
        try:
            found = get_font(findfont(FontProperties(family=name))).get_charmap().keys() & missing
        except (OSError, RuntimeError):  # listed, but gone or broken
            continue
        if found:
            families.append(name)
            missing -= found
    return families, missing


def plain(text: str) -> str:
    """As it stands: a dollar sign does not begin a formula."""
    return text.replace("$", r"\$")
