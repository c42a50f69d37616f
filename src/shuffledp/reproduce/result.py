"""A recomputed table or figure and its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shuffledp.errors import ParameterError
from shuffledp.reports.plot import new_figure, save_figure

Row = tuple[object, ...]


@dataclass(frozen=True)
class Result:
    """Rows for CSV and JSON, a drawing for the PNG, remarks for the reader."""

    columns: tuple[str, ...]
    rows: list[Row]
    draw: Callable[[Any], None]
    remarks: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "remarks": self.remarks,
        }

    def save(self, folder: Path, name: str) -> list[str]:
        """Write name.csv, name.json and name.png."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ParameterError("out", "a folder that can be made", str(folder)) from error
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        (folder / f"{name}.json").write_text(json.dumps(self.to_dict(), indent=2) + "\n")
        figure, axes = new_figure()
        self.draw(axes)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        save_figure(figure, folder / f"{name}.png")
        return [str(folder / f"{name}.{ending}") for ending in ("csv", "json", "png")]


@dataclass(frozen=True)
class Item:
    """One entry of ``shuffledp reproduce --list``."""

    title: str
    run: Callable[[], Result]


def relative(ours: float, printed: float | None) -> float | None:
    """ours / printed - 1."""
    return None if printed is None else ours / printed - 1.0
