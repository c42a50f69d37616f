"""Write the gallery: every reproduced table and figure, the paper's value beside ours.

python docs/gallery.py docs/generated
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from shuffledp.research.reproduce import ITEMS, Result


def cell(value: object) -> str:
    """A number to five digits, anything else as it is."""
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def section(name: str, title: str, result: Result) -> Iterator[str]:
    """One item: remarks, picture, table."""
    yield f"## {title}"
    yield ""
    yield f"`shuffledp reproduce {name}`; data: {{download}}`{name}.csv`, {{download}}`{name}.json`."
    yield ""
    for remark in result.remarks:
        yield f"* {remark}"
    yield ""
    yield f"![{title}]({name}.png)"
    yield ""
    yield "| " + " | ".join(str(column).replace("|", "\\|") for column in result.columns) + " |"
    yield "|" + " --- |" * len(result.columns)
    for row in result.rows:
        yield "| " + " | ".join(cell(value) for value in row) + " |"
    yield ""


def main() -> None:
    folder = Path(sys.argv[1])
    lines = [
        "# Gallery",
        "",
        "Every published table and figure that is recomputed, with the printed value beside ours where the paper prints"
        " one, and remarks where the two differ. Training runs take longer: their results are [kept](../training/results.md).",
        "",
    ]
    for name, item in ITEMS.items():
        if item.takes:  # their results are kept: docs/training
            continue
        result = item.run()
        result.save(folder, name, item.title)
        lines += section(name, item.title, result)
        print(f"{name} done", file=sys.stderr)
    (folder / "gallery.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
