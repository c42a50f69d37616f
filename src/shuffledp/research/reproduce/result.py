"""A recomputed table or figure and its files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shuffledp.display.plot import dress, new_figure, panels, rendered
from shuffledp.errors import ParameterError
from shuffledp.files import write_whole

Row = tuple[object, ...]


@dataclass(frozen=True)
class Result:
    """Rows for CSV and JSON, a drawing for the PNG, remarks for the reader."""

    columns: tuple[str, ...]
    rows: list[Row]
    draw: Callable[[Any], None] | dict[str, Callable[[Any], None]]
    """On one pair of axes, or by name on small ones."""
    remarks: list[str] = field(default_factory=list)
    panel: tuple[float, float] = (3.2, 3.0)
    """Width and height of each of several drawings, in inches."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "remarks": self.remarks,
        }

    def save(self, folder: Path, name: str, title: str) -> list[str]:
        """Write name.csv, name.json and name.png, once all three are ready."""
        table = io.StringIO(newline="")
        writer = csv.writer(table)
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        contents = {
            "csv": table.getvalue().encode(),
            "json": (json.dumps(self.to_dict(), indent=2) + "\n").encode(),
            "png": rendered(self.figure(title), "png"),
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError("out", "a folder that can be made", str(folder)) from error
        for ending, content in contents.items():
            write_whole("out", folder / f"{name}.{ending}", content)
        return [str(folder / f"{name}.{ending}") for ending in contents]

    def figure(self, title: str) -> Any:
        """The picture."""
        if isinstance(self.draw, dict):
            return panels(self.draw, title, self.panel)
        figure, axes = new_figure()
        self.draw(axes)
        dress(axes, title)
        return figure


@dataclass(frozen=True)
class Item:
    """One entry of ``shuffledp reproduce --list``."""

    title: str
    run: Callable[[], Result]
    takes: str = ""
    """Minutes or hours, if so long that --all leaves it out."""


def relative(ours: float, printed: float | None) -> float | None:
    """ours / printed - 1."""
    return None if printed is None else ours / printed - 1.0
