"""Write the gallery: every reproduced table and figure, the paper's value beside ours.

python docs/gallery.py docs/generated
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from shuffledp.display.plot import save_figure
from shuffledp.research.reproduce import ITEMS, Result


def cell(value: object) -> str:
    """A number to five digits, anything else as it is."""
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def section(name: str, title: str, result: Result) -> Iterator[str]:
    """One item: remarks, picture, table."""
    yield from (f"({name})=", f"## {title}", "")
    yield f"`shuffledp reproduce {name}`; data: {{download}}`{name}.csv`, {{download}}`{name}.json`."
    yield ""
    for remark in result.remarks:
        yield f"* {remark}"
    yield ""
    for ending, where in (("svg", "light"), ("dark.svg", "dark")):
        yield from (
            f"```{{image}} {name}.{ending}",
            f":alt: {title}",
            f":class: only-{where}",
            "```",
        )
    yield ""
    yield "| " + " | ".join(str(column).replace("|", "\\|") for column in result.columns) + " |"
    yield "|" + " --- |" * len(result.columns)
    for row in result.rows:
        yield "| " + " | ".join(cell(value) for value in row) + " |"
    yield ""


def thumbnails(titles: dict[str, str]) -> Iterator[str]:
    """All pictures at a glance, each a link to its section."""
    yield from ("::::{grid} 2 2 3 3", ":gutter: 2", "")
    for name, title in titles.items():
        yield from (f":::{{grid-item-card}} {title}", f":link: {name}", ":link-type: ref", "")
        for ending, where in (("svg", "light"), ("dark.svg", "dark")):
            yield from (
                f"```{{image}} {name}.{ending}",
                f":class: only-{where}",
                f":alt: {title}",
                "```",
            )
        yield from (":::", "")
    yield from ("::::", "")


def main() -> None:
    folder = Path(sys.argv[1])
    lines = [
        "# Gallery",
        "",
        "Published tables and figures, recomputed: printed values beside ours, and remarks where the two differ."
        " Training runs take longer: their results are [kept](../training/results.md).",
        "",
    ]
    shown = {name: item for name, item in ITEMS.items() if not item.takes}
    lines += thumbnails({name: item.title for name, item in shown.items()})
    for name, item in shown.items():
        result = item.run()
        result.save(folder, name, item.title)
        figure = result.figure(item.title)
        for ending in ("svg", "dark.svg"):
            save_figure(figure, folder / f"{name}.{ending}")
        lines += section(name, item.title, result)
        print(f"{name} done", file=sys.stderr)
    (folder / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
