"""Write the reference: a page per module, from what each module says is public.

python docs/reference.py docs/generated/reference
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import shuffledp

PARTS = {
    "protocols": "Questions and answers",
    "randomizers": "Randomizers",
    "families": "A randomizer per budget",
    "noise": "Noise",
    "labels": "Labels",
    "errors": "Errors",
}
"""Pages of what ``import shuffledp`` gives: it is too much for one."""
MODULES = {
    "accounting.curves": [],
    "accounting.bounds.theorem": ["Bound", "bound", "all_bounds", "get_bound"],
    "labels": ["Refutation", "register", "all_theorems", "get_theorem"],
    "collection.planning": [],
    "collection.devices": [],
    "collection.shuffling": [],
    "collection.analysis": [],
    "collection.counting": [],
    "collection.pipeline": [],
    "collection.auditing": [],
    "ledger": [],
    "service": [],
    "service.client": ["Client", "ObliviousClient", "split_task"],
    "service.analyst": ["open_batch", "Opened"],
    "service.shuffler": ["Shuffler", "LedgerBook", "Released"],
    "training": [],
    "interop.dp_accounting": ["ShuffledDpEvent", "ShuffledAccountant", "to_pld"],
    "interop.opacus": [
        *(
            "ShuffleAccountant",
            "shuffle_accountant",
            "LocalNoiseOptimizer",
            "SimulatedShuffleEngine",
        ),
        *("AllocationAccountant", "AllocationEngine", "AllocationSampler"),
    ],
    "interop.opendp": ["make_measurement"],
    "research.atlas": [],
    "interfaces.web.api": ["application"],
}
"""Modules with a page, and what of them where they do not say."""


def part(name: str) -> str:
    """The page a name of the package belongs to, by the module it lives in."""
    words = getattr(shuffledp, name).__module__.split(".")
    return next((word for word in reversed(words) if word in PARTS), "protocols")


def documented(module: ModuleType, names: list[str]) -> Iterator[str]:
    """Every name with an anchor of its own."""
    yield from ("```{eval-rst}", f".. currentmodule:: {module.__name__}", "")
    for name in names:
        item = getattr(module, name)
        kind = "class" if isinstance(item, type) else "function" if callable(item) else "data"
        yield from (f".. auto{kind}:: {name}", *["   :members:"] * (kind == "class"), "")
    yield from ("```", "")


def pages() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """File name, title, full names and lines of each page."""
    for page, title in PARTS.items():
        names = [name for name in shuffledp.__all__ if part(name) == page]
        lines = [f"`from shuffledp import {names[0]}`", "", *documented(shuffledp, names)]
        yield page, title, [f"shuffledp.{name}" for name in names], lines
    for path, only in MODULES.items():
        module = importlib.import_module(f"shuffledp.{path}")
        full, names = module.__name__, only or module.__all__
        lines = ["```{eval-rst}", f".. automodule:: {full}", "```", ""]
        lines += documented(module, names)
        yield full, full, [f"{full}.{name}" for name in names], lines


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    index = [
        "# Reference",
        "",
        "From Python; for the command line see [commands](../../commands.md).",
        "",
    ]
    toctree = ["```{toctree}", ":hidden:", ""]
    for page, title, names, lines in pages():
        (folder / f"{page}.md").write_text("\n".join([f"# {title}", "", *lines]), encoding="utf-8")
        shown = " · ".join(f"{{py:obj}}`~{name}`" for name in names)
        index += [f"[{title}]({page}.md)", f": {shown}", ""]
        toctree.append(page)
    (folder / "index.md").write_text("\n".join([*index, *toctree, "```", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
