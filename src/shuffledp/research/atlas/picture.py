"""The atlas as one picture: a row per theorem, a column per place, red where it breaks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffledp.display.palette import COLOURS
from shuffledp.display.plot import new_figure
from shuffledp.research.atlas.cell import Cell, Judgement
from shuffledp.research.atlas.summary import Line, recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOSE = 6.0
"""log10 of the ratio drawn palest."""
_BROKEN = "#d1240f"
_TIGHT = ["#0b5f54", "#58ab9d", "#dcefeb"]
"""As the label PROVEN, paler the looser; apart from red for every kind of colour vision."""
_SILENT = "#f3f3f1"
_ONE_PAIR = "#c9d3df"
_GAP = 1.2


def draw(cells: Sequence[Cell], lines: Sequence[Line], *, broken_only: bool = False) -> Figure:
    """Theorems that answer somewhere, the broken ones first, or those alone."""
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from matplotlib.patches import Rectangle

    shown = [line for line in lines if (line.violations if broken_only else line.answered)]
    shown.sort(key=lambda line: -len(line.violations))
    central = recorded(lines)
    shown = [*central, *shown]
    row = {line.theorem.id: i for i, line in enumerate(shown)}
    if broken_only:
        cells = _with_answers(cells, row)
    loose = LinearSegmentedColormap.from_list("loose", _TIGHT)
    lefts, groups = _columns(cells)
    width = lefts[-1] + 1.0
    figure, axes = new_figure(1, 11.0, 2.9 + (0.34 if broken_only else 0.23) * len(shown))
    colours = np.empty((len(shown), len(cells), 4))
    colours[:] = to_rgba(_SILENT)
    for column, cell in enumerate(cells):
        for claim in cell.claims:
            if claim.theorem in row:
                colours[row[claim.theorem], column] = _colour(claim.verdict, claim.ratio, loose)
    patches = [Rectangle((left, i + 0.04), 1.0, 0.92) for i in range(len(shown)) for left in lefts]
    axes.add_collection(
        PatchCollection(patches, facecolors=colours.reshape(-1, 4), edgecolors="white", lw=0.3)
    )
    for i, line in enumerate(central):
        _whole_row(axes, i, width, line)
    axes.set(xlim=(0.0, width), ylim=(len(shown), 0.0))
    axes.set_yticks([i + 0.5 for i in range(len(shown))], [_label(line) for line in shown])
    for tick, line in zip(axes.get_yticklabels(), shown, strict=True):
        tick.set(color=COLOURS[line.theorem.status.value], fontsize=9, family="monospace")
    _mark_groups(axes, groups, len(shown))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    broken = sum(len(line.violations) for line in shown) + len(central)
    axes.set_title(
        f"{broken} claims of published bounds are broken by a concrete data set",
        loc="left",
        fontsize=13,
        fontweight="bold",
        pad=52,
    )
    _legend(figure, loose, cells)
    return figure


def _whole_row(axes: Any, row: int, width: float, line: Line) -> None:
    """One red cell with its numbers: what is claimed, and what the data set on record leaks."""
    from matplotlib.patches import Rectangle

    case = line.theorem.refutation
    assert case is not None
    claimed, leaked = line.on_record or (case.claimed, case.leaked)
    axes.add_patch(Rectangle((0.0, row + 0.04), width, 0.92, facecolor=_BROKEN, lw=0))
    given = ", ".join(f"{name} = {value:g}" for name, value in case.parameters.items())
    words = f"shuffled batches accounted as Poisson samples: epsilon {claimed:.3g} claimed,"
    axes.text(
        0.5 * width,
        row + 0.5,
        f"{words} {leaked:.4g} leaked ({given})",
        ha="center",
        va="center",
        fontsize=8,
        color="white",
        fontweight="bold",
    )


def _with_answers(cells: Sequence[Cell], row: Mapping[str, int]) -> list[Cell]:
    """Of the mechanisms that these theorems speak of somewhere."""
    spoken = {
        cell.point.family.title
        for cell in cells
        if any(claim.theorem in row for claim in cell.claims)
    }
    return [cell for cell in cells if cell.point.family.title in spoken]


def _columns(cells: Sequence[Cell]) -> tuple[list[float], list[tuple[str, str, float, float]]]:
    """Left edges of the columns; (family, value, left, right) of each block."""
    lefts: list[float] = []
    groups = []
    at = 0.0
    for title, of_family in groupby(cells, key=lambda cell: cell.point.family.title):
        for value, block in groupby(of_family, key=lambda cell: cell.point.value):
            start, members = at, list(block)
            lefts += [at + i for i in range(len(members))]
            at += len(members)
            groups.append((title, f"{value:g}", start, at))
            at += 0.35
        at += _GAP
    return lefts, groups


def _mark_groups(axes: Any, groups: list[tuple[str, str, float, float]], height: int) -> None:
    axes.set_xticks([(left + right) / 2 for _, _, left, right in groups])
    axes.set_xticklabels([value for _, value, _, _ in groups], fontsize=8)
    for title, members in groupby(groups, key=lambda group: group[0]):
        block = list(members)
        left, right = block[0][2], block[-1][3]
        parameter = "sigma" if title.startswith("Gaussian") else "eps0"
        middle = (left + right) / 2
        axes.text(
            middle,
            -0.3,
            textwrap.fill(title, max(11, int(0.5 * (right - left)))),
            ha="center",
            va="bottom",
            fontsize=9,
            fontweight="bold",
        )
        axes.annotate(
            parameter,
            (middle, height),
            xytext=(0, -22),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
        )


def _label(line: Line) -> str:
    mark = f"  {len(line.violations)}×" if line.violations else ""
    return f"{line.theorem.id}{mark}"


def _colour(verdict: Judgement, ratio: float, loose: Any) -> Any:
    from matplotlib.colors import to_rgba

    if verdict is Judgement.VIOLATED:
        return to_rgba(_BROKEN)
    if verdict is Judgement.ONE_PAIR:
        return to_rgba(_ONE_PAIR)
    return loose(min(abs(math.log10(max(ratio, 1e-300))), _LOOSE) / _LOOSE)


def _legend(figure: Figure, loose: Any, cells: Sequence[Cell]) -> None:
    from matplotlib.patches import Patch

    entries = [
        (_BROKEN, "below what a data set certainly leaks"),
        (loose(0.0), "tight"),
        (loose(0.5), "off by 10$^3$"),
        (loose(1.0), "off by 10$^6$ or more"),
        (_ONE_PAIR, "speaks of one pair only"),
        (_SILENT, "no answer here"),
    ]
    figure.legend(
        handles=[Patch(facecolor=c, edgecolor="#888888", lw=0.4, label=t) for c, t in entries],
        loc="outside lower center",
        ncols=3,
        fontsize=8,
        frameon=False,
        title=f"delta claimed at epsilon, against the best lower bound. In each block, from the"
        f" left:\n{_places(cells)}",
        title_fontsize=8,
    )


def _places(cells: Sequence[Cell]) -> str:
    """What the columns of a block are, as they follow each other."""
    first = cells[0].point
    block = [
        cell.point
        for cell in cells
        if (cell.point.family, cell.point.value) == (first.family, first.value)
    ]
    by_size = groupby(block, key=lambda point: point.n)
    return "; ".join(
        f"{n:,} users, delta {' and '.join(f'{point.leak:g}' for point in points)}"
        for n, points in by_size
    )
