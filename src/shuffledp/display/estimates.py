"""Estimates for people."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.collection.analysis import Estimate
from shuffledp.collection.analysis.distribution import Shares, Together
from shuffledp.collection.pipeline import Job, Questionnaire
from shuffledp.display.fonts import drawable, plain
from shuffledp.display.palette import COLOURS, QUIET
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.sentences import say
from shuffledp.display.text import print_rows, printable
from shuffledp.labels import counted

_MOST_BARS = 40
_MOST_ROWS, _FEW_ROWS = 1000, 100
"""Tables longer than the first are cut to the second; files hold all."""
_NOTE = 108
"""Characters in a line below a picture."""
_LETTER = 4.6
"""Points, of what stands beside a row: the note begins below it."""
_TICKS = 8
"""Numbers below a histogram, about."""


def print_estimate(job: Job, found: Estimate) -> None:
    """A table with error bars, then the privacy."""
    title = f"{job.task} of {', '.join(job.columns)}: {counted(found.reports, 'report')}"
    print_table(title, found)


def print_answers(done: Questionnaire, answers: Sequence[Estimate]) -> None:
    """A table for each question, then what all of them cost together."""
    for question, found in zip(done.questions, answers, strict=True):
        sent = len(question.messages)
        many = f"{counted(sent, 'message')} each: " if sent > 1 else ""
        remark = f"{many}{question.messages[0].described}"
        title = f"{question.asked.about}: {counted(found.reports, 'report')}"
        print_table(title, replace(found, label=""), [remark])
    say(printable(f"privacy of all: {done.label}"))


def print_table(title: str, found: Estimate, remarks: Sequence[str] = ()) -> None:
    """Estimates with error bars, then what they cost."""
    dropped = f"{counted(found.dropped, 'row')} dropped"
    kept: Sequence[int] = range(len(found.names))
    if len(kept) > _MOST_ROWS:
        remarks = [*remarks, f"the {_FEW_ROWS} largest of {len(kept):,} (all: --json, --out)"]
        kept = np.argsort(-found.values, kind="stable")[:_FEW_ROWS].tolist()
    errors = np.sqrt(found.variances)
    raw = [] if found.raw is None else [found.raw]
    numbers = np.stack([found.values, errors, *found.interval(), *raw], axis=1)
    rows = [
        [found.names[i], *(to_its_error(x, errors[i]) for x in numbers[i].tolist())] for i in kept
    ]
    first = found.quantity if found.quantity == "quantile" else ""
    print_rows(
        title,
        [first, "estimate", "error", "low", "high", *["raw"] * len(raw)],
        rows,
        [
            *remarks,
            *([f"privacy: {found.label}"] if found.label else []),
            *filter(None, (found.note, dropped * (found.dropped > 0))),
        ],
    )


def to_its_error(number: float, error: float) -> str:
    """With as many decimals as the error has two digits: more would say nothing."""
    if not math.isfinite(error) or error <= 0.0:
        return f"{number:.6g}"
    return f"{number:.{max(0, 1 - math.floor(math.log10(error)))}f}"


def save_estimate(job: Job, found: Estimate, path: str | Path) -> None:
    """The estimates with 95 % error bars, the largest first if there are many."""
    title = f"{job.task} of {', '.join(job.columns)}".replace(",", ", ").replace(",  ", ", ")
    _save(_panels(title, found), found.label, path)


def save_answers(done: Questionnaire, answers: Sequence[Estimate], path: str | Path) -> None:
    """A panel for each question, the privacy of all below the last."""
    shown = [
        panel
        for question, found in zip(done.questions, answers, strict=True)
        for panel in _panels(question.asked.about, found)
    ]
    _save(shown, answers[-1].label, path)


def _panels(title: str, found: Estimate) -> list[tuple[str, Estimate]]:
    """What fits on one axis together: shares of cells do not beside numbers of their range."""
    cells = [x for x in found.parts if x.has_frequencies] if isinstance(found, Together) else []
    if not isinstance(found, Together) or not cells:
        return [(title, found)]
    numbers = Together.of(found.quantity, [x for x in found.parts if not x.has_frequencies])
    cells[-1] = replace(cells[-1], note=found.note)
    titled = zip([title, *[""] * len(cells)], [numbers, *cells], strict=True)
    return [(name, replace(part, guarantee=found.guarantee)) for name, part in titled]


def _save(shown: Sequence[tuple[str, Estimate]], label: str, path: str | Path) -> None:
    """One below the other; what they cost below the last."""
    names = [plain(str(name)) for _, found in shown for name in found.names]
    said = [plain(words) for title, found in shown for words in (title, found.note)]
    with drawable([*names, *said, plain(label)]):
        heights = [
            3.4 if isinstance(found, Shares) else 2.0 + 0.28 * min(len(found.names), _MOST_BARS)
            for _, found in shown
        ]
        figure, places = new_figure(height=sum(heights) / len(shown), rows=len(shown))
        places = np.atleast_1d(places)
        places[0].get_gridspec().set_height_ratios(heights)
        for axes, (title, found) in zip(places, shown, strict=True):
            last = axes is places[-1]
            draw_estimate(replace(found, label=label if last else ""), axes, plain(title))
        save_figure(figure, path)


def draw_estimate(found: Estimate, axes: Any, title: str = "") -> None:
    """Frequencies as bars from zero, other numbers as dots, with 95 % error bars."""
    if isinstance(found, Shares):
        _draw_cells(found, axes)
    else:
        _draw_rows(found, axes)
    note = "; ".join(filter(None, (found.label, found.note)))
    if note:
        beside = 8 if isinstance(found, Shares) else max(len(str(x)) for x in found.names or [""])
        axes.annotate(
            textwrap.fill(plain(note), _NOTE),
            (0.0, 0.0),
            xytext=(-_LETTER * beside, -34),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7,
            color=QUIET,
        )
    dress(axes, title)
    axes.grid(visible=False, axis="x" if isinstance(found, Shares) else "y")


def _colour(found: Estimate) -> str:
    return COLOURS["PROVEN"] if found.guarantee is not None else QUIET


def _draw_cells(found: Shares, axes: Any) -> None:
    """A histogram, in the order of the numbers."""
    low, high = found.interval()
    places, colour = np.arange(len(found.names)), _colour(found)
    axes.bar(places, found.values, width=0.9, color=colour, alpha=0.55)
    reach = [found.values - low, high - found.values]
    axes.errorbar(places, found.values, yerr=reach, fmt="none", ecolor="black", lw=0.8)
    axes.axhline(0.0, color="black", lw=0.8)
    edges = [str(name).partition(" to ")[0] for name in found.names]
    every = max(1, len(edges) // _TICKS)
    axes.set_xticks(places[::every] - 0.5, edges[::every], fontsize=8)
    axes.margins(x=0.01)
    axes.set_ylabel("share of a cell, with 95 % intervals", fontsize=8)


def _draw_rows(found: Estimate, axes: Any) -> None:
    """A bar or a dot beside each name."""
    order = np.arange(len(found.names))
    if len(order) > _MOST_BARS:
        order = np.argsort(-found.values)[:_MOST_BARS]
    names = [plain(str(found.names[i])) for i in order]
    low, high = found.interval()
    values, places = found.values[order], np.arange(len(order))
    errors = [values - low[order], high[order] - values]
    colour = _colour(found)
    if found.quantity == "frequency":
        axes.barh(places, values, height=0.7, color=colour, alpha=0.55)
        axes.axvline(0.0, color="black", lw=0.8)
        bar: dict[str, Any] = {"fmt": "none"}
    else:
        bar = {"fmt": "o", "ms": 5}
    axes.errorbar(values, places, xerr=errors, ecolor="black", color=colour, capsize=3, **bar)
    for place, value, top in zip(places, values, np.maximum(values, high[order]), strict=True):
        said = f"{100.0 * value:.1f} %" if found.quantity == "frequency" else f"{value:.4g}"
        axes.annotate(
            said,
            (top, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12, y=0.12)
    axes.set_xlabel(f"{found.quantity}, with 95 % intervals", fontsize=8)
