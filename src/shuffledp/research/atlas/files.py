"""The atlas as files: data (JSON, CSV), a picture and a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from shuffledp.display.plot import rendered
from shuffledp.files import write_whole
from shuffledp.research.atlas.cell import Cell
from shuffledp.research.atlas.page import page
from shuffledp.research.atlas.picture import draw
from shuffledp.research.atlas.summary import Line


def save(cells: Sequence[Cell], lines: Sequence[Line], folder: Path) -> list[str]:
    """Write atlas.json, atlas.csv, atlas.png and atlas.md, once all are ready.

    And atlas.broken.png, .svg and .dark.svg, the broken theorems alone, if there are any.
    """
    rows = [row for cell in cells for row in cell.rows()]
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    data = {"theorems": [line.to_dict() for line in lines], "claims": rows}
    contents = {
        "json": (json.dumps(data, indent=1, allow_nan=False) + "\n").encode(),
        "csv": table.getvalue().encode(),
        "png": rendered(draw(cells, lines), "png"),
        "md": page(cells, lines).encode(),
    }
    if any(line.violations for line in lines):
        figure = draw(cells, lines, broken_only=True)
        for ending in ("png", "svg", "dark.svg"):
            contents[f"broken.{ending}"] = rendered(figure, ending)
    for ending, content in contents.items():
        write_whole("out", folder / f"atlas.{ending}", content)
    return [str(folder / f"atlas.{ending}") for ending in contents]
