"""The atlas as one picture: a row per theorem, a block per budget, red where it breaks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from shuffledp.display.palette import COLOURS, GROUND, QUIET
from shuffledp.display.plot import new_figure
from shuffledp.research.atlas.cell import Cell, Judgement
from shuffledp.research.atlas.summary import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOSE = 6.0
"""log10 of the ratio drawn palest."""
_BROKEN = "#d1240f"
_TIGHT = ["#0b5f54", "#58ab9d", "#dcefeb"]
"""As the label PROVEN, paler the looser; apart from red for every kind of colour vision."""
_SILENT = "#f3f3f1"
_ONE_PAIR = "#c9d3df"
_BETWEEN_BLOCKS, _BETWEEN_FAMILIES = 0.5, 1.2
_HIGH = 0.86
"""Of a row, which is 1 high."""


@dataclass(frozen=True)
class _Block:
    """All places of one mechanism at one budget: users from left to right, deltas downwards."""

    title: str
    value: str
    cells: Sequence[Cell]
    left: float

    @property
    def users(self) -> list[int]:
        return sorted({cell.point.n for cell in self.cells})

    @property
    def deltas(self) -> list[float]:
        return sorted({cell.point.leak for cell in self.cells}, reverse=True)

    @property
    def right(self) -> float:
        return self.left + len(self.users)

    def place(self, cell: Cell, row: int) -> tuple[tuple[float, float], float, float]:
        """Corner, width and height of a cell."""
        high = _HIGH / len(self.deltas)
        down = row + (1.0 - _HIGH) / 2.0 + high * self.deltas.index(cell.point.leak)
        return (self.left + self.users.index(cell.point.n), down), 1.0, high


def draw(cells: Sequence[Cell], lines: Sequence[Line], *, broken_only: bool = False) -> Figure:
    """Theorems that answer somewhere, the broken ones first, or those alone."""
    shown = [line for line in lines if (line.violations if broken_only else line.answered)]
    shown.sort(key=lambda line: -len(line.violations))
    row = {line.theorem.id: i for i, line in enumerate(shown)}
    blocks = _blocks(_with_answers(cells, row) if broken_only else cells)
    main, key = (0.42 if broken_only else 0.27) * len(shown) + 1.4, 1.1
    figure, (axes, below) = new_figure(width=9.0, height=(main + key) / 2.0, rows=2)
    axes.get_gridspec().set_height_ratios([main, key])
    _draw_cells(axes, blocks, row)
    axes.set(xlim=(0.0, blocks[-1].right), ylim=(len(shown), 0.0))
    axes.set_yticks([i + 0.5 for i in range(len(shown))], [_label(line) for line in shown])
    for tick, line in zip(axes.get_yticklabels(), shown, strict=True):
        tick.set(color=COLOURS[line.theorem.status.value], fontsize=9, family="monospace")
    _mark_blocks(axes, blocks, len(shown))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    broken = sum(len(line.violations) for line in shown)
    axes.set_title(
        f"{broken} places where a data set leaks more than is claimed",
        loc="left",
        fontsize=12,
        fontweight="bold",
        pad=44,
    )
    _draw_key(below, blocks[0])
    return figure


def _with_answers(cells: Sequence[Cell], row: Mapping[str, int]) -> list[Cell]:
    """Of the mechanisms that these theorems speak of somewhere."""
    spoken = {
        cell.point.family.title
        for cell in cells
        if any(claim.theorem in row for claim in cell.claims)
    }
    return [cell for cell in cells if cell.point.family.title in spoken]


def _blocks(cells: Sequence[Cell]) -> list[_Block]:
    """From the left, those of one mechanism together."""
    found: list[_Block] = []
    at = 0.0
    for title, of_family in groupby(cells, key=lambda cell: cell.point.family.title):
        for value, members in groupby(of_family, key=lambda cell: cell.point.value):
            found.append(_Block(title, f"{value:g}", list(members), at))
            at = found[-1].right + _BETWEEN_BLOCKS
        at += _BETWEEN_FAMILIES
    return found


def _draw_cells(axes: Any, blocks: Sequence[_Block], row: Mapping[str, int]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    patches, colours = [], []
    for block in blocks:
        for i in row.values():  # one piece where nothing answers
            corner = (block.left, i + (1.0 - _HIGH) / 2.0)
            patches.append(Rectangle(corner, block.right - block.left, _HIGH))
            colours.append(_SILENT)
        for cell in block.cells:
            for claim in cell.claims:
                if claim.theorem in row:
                    patches.append(Rectangle(*block.place(cell, row[claim.theorem])))
                    colours.append(_colour(claim.verdict, claim.ratio))
    axes.add_collection(PatchCollection(patches, facecolors=colours, edgecolors=GROUND, lw=0.4))


def _mark_blocks(axes: Any, blocks: Sequence[_Block], height: int) -> None:
    axes.set_xticks([(block.left + block.right) / 2 for block in blocks])
    axes.set_xticklabels([block.value for block in blocks], fontsize=8)
    for title, members in groupby(blocks, key=lambda block: block.title):
        family = list(members)
        left, right = family[0].left, family[-1].right
        parameter = "sigma" if title.startswith("Gaussian") else "eps0"
        middle = (left + right) / 2
        axes.text(
            middle,
            -0.25,
            textwrap.fill(title, max(11, int(0.8 * (right - left)))),
            ha="center",
            va="bottom",
            fontsize=8,
            fontweight="bold",
        )
        axes.annotate(
            parameter,
            (middle, height),
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=QUIET,
        )


def _label(line: Line) -> str:
    mark = f"  {len(line.violations)}×" if line.violations else ""
    return f"{line.theorem.id}{mark}"


def _shade(loose: float) -> Any:
    """From 0, tight, to 1, looser than is worth telling apart."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("loose", _TIGHT)(loose)


def _colour(verdict: Judgement, ratio: float) -> Any:
    if verdict is Judgement.VIOLATED:
        return _BROKEN
    if verdict is Judgement.ONE_PAIR:
        return _ONE_PAIR
    return _shade(min(abs(math.log10(max(ratio, 1e-300))), _LOOSE) / _LOOSE)


def _power(number: float) -> str:
    exponent = round(math.log10(number))
    return f"10$^{{{exponent}}}$" if math.isclose(number, 10.0**exponent) else f"{number:g}"


def _draw_key(axes: Any, block: _Block) -> None:
    """How to read a block, and the colours."""
    from matplotlib.patches import Patch, Rectangle

    axes.set_axis_off()
    key = axes.inset_axes((0.09, 0.3, 0.16, 0.42))
    users, deltas = block.users, block.deltas
    for column in range(len(users)):
        for i in range(len(deltas)):
            key.add_patch(Rectangle((column, i), 1, 1, fc=_ONE_PAIR, ec=GROUND, lw=1.5))
    key.set(xlim=(0, len(users)), ylim=(len(deltas), 0))
    key.set_xticks([i + 0.5 for i in range(len(users))], [_power(n) for n in users])
    key.set_yticks([i + 0.5 for i in range(len(deltas))], [_power(delta) for delta in deltas])
    key.set_xlabel("users", fontsize=8)
    key.set_ylabel("delta", fontsize=8)
    key.tick_params(length=0, labelsize=7)
    key.spines[:].set_visible(False)
    key.set_title("each block", fontsize=8, loc="left")
    entries = [
        (_BROKEN, "broken: below what a data set leaks"),
        (_shade(0.0), "tight"),
        (_shade(0.5), "delta off by 10$^3$"),
        (_shade(1.0), "off by 10$^6$ or more"),
        (_ONE_PAIR, "speaks of one pair only"),
        (_SILENT, "no answer here"),
    ]
    axes.legend(
        handles=[Patch(facecolor=c, edgecolor="#888888", lw=0.4, label=t) for c, t in entries],
        loc="center right",
        ncols=2,
        fontsize=8,
        frameon=False,
    )
