"""Draw the pictures of the first pages, on light and on dark ground: python docs/pictures.py docs/pictures"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import shuffledp
from shuffledp.collection.pipeline.sample_data import TRANSPORT, sample_table
from shuffledp.display.estimates import draw_estimate
from shuffledp.display.plot import new_figure, save_figure
from shuffledp.research.atlas import grid, survey
from shuffledp.research.atlas.picture import draw
from shuffledp.research.atlas.summary import lines
from shuffledp.research.reproduce import ITEMS


def transport() -> Any:
    """What the first example of README draws."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "survey.csv"
        table.write_text(sample_table(), encoding="utf-8")
        found = shuffledp.run(
            table, "transport", task="histogram", categories=list(TRANSPORT), epsilon=1, delta=1e-6
        )
    figure, axes = new_figure(height=2.0 + 0.28 * len(TRANSPORT))
    draw_estimate(found, axes, "histogram of transport")
    return figure


def atlas_broken() -> Any:
    cells = survey(grid(False), workers=2)
    return draw(cells, lines(cells), broken_only=True)


def swap_gap() -> Any:
    item = ITEMS["swap-gap"]
    return item.run().figure(item.title)


def main() -> None:
    folder = Path(sys.argv[1])
    for make in (transport, atlas_broken, swap_gap):
        figure = make()
        for ending in ("svg", "dark.svg"):
            save_figure(figure, folder / f"{make.__name__.replace('_', '-')}.{ending}")


if __name__ == "__main__":
    main()
