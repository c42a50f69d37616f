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
from shuffledp.collection.pipeline import Job, Questionnaire
from shuffledp.display.fonts import drawable, plain
from shuffledp.display.palette import COLOURS, QUIET
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import console, print_rows, printable

_MOST_BARS = 40
_MOST_ROWS, _FEW_ROWS = 1000, 100
"""Tables longer than the first are cut to the second; files hold all."""
_NOTE = 100
"""Characters in a line below a picture."""


def print_estimate(job: Job, found: Estimate) -> None:
    """A table with error bars, then the privacy."""
    title = f"{job.task} of {', '.join(job.columns)}: {found.reports:,} reports"
    print_table(title, found)


def print_answers(done: Questionnaire, answers: Sequence[Estimate]) -> None:
    """A table for each question, then what all of them cost together."""
    for question, found in zip(done.questions, answers, strict=True):
        sent = len(question.messages)
        many = f"{sent} messages each: " if sent > 1 else ""
        remark = f"{many}{question.messages[0].described}"
        title = f"{question.asked.about}: {found.reports:,} reports"
        print_table(title, replace(found, label=""), [remark])
    console().print(printable(f"privacy of all: {done.label}"), soft_wrap=True)


def print_table(title: str, found: Estimate, remarks: Sequence[str] = ()) -> None:
    """Estimates with error bars, then what they cost."""
    dropped = f"{found.dropped:,} rows dropped"
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
    names = [plain(str(name)) for name in found.names]
    said = plain(f"{job.task} of {', '.join(job.columns)}"), plain(found.label)
    with drawable([*names, *said, plain(found.note)]):
        figure, axes = new_figure(height=2.0 + 0.28 * min(len(names), _MOST_BARS))
        draw_estimate(found, axes, said[0])
        save_figure(figure, path)


def save_answers(done: Questionnaire, answers: Sequence[Estimate], path: str | Path) -> None:
    """A panel for each question, the privacy of all below the last."""
    about = [plain(each.asked.about) for each in done.questions]
    names = [plain(str(name)) for found in answers for name in found.names]
    with drawable([*names, *about, plain(done.label)]):
        rows = [2.0 + 0.28 * min(len(found.names), _MOST_BARS) for found in answers]
        figure, panels = new_figure(height=sum(rows) / len(rows), rows=len(rows))
        for i, (axes, title) in enumerate(zip(np.atleast_1d(panels), about, strict=True)):
            last = i == len(answers) - 1
            found = answers[i] if last else replace(answers[i], label="")
            draw_estimate(found, axes, title)
        save_figure(figure, path)


def draw_estimate(found: Estimate, axes: Any, title: str = "") -> None:
    """Frequencies as bars from zero, other numbers as dots, with 95 % error bars."""
    order = np.arange(len(found.names))
    if len(order) > _MOST_BARS:
        order = np.argsort(-found.values)[:_MOST_BARS]
    names = [plain(str(found.names[i])) for i in order]
    low, high = found.interval()
    values, places = found.values[order], np.arange(len(order))
    errors = [values - low[order], high[order] - values]
    colour = COLOURS["PROVEN"] if found.guarantee is not None else QUIET
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
    note = "; ".join(filter(None, (found.label, found.note)))
    if note:
        axes.annotate(
            textwrap.fill(plain(note), _NOTE),
            (0.0, 0.0),
            xytext=(0, -34),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7,
            color=QUIET,
        )
    dress(axes, title)
    axes.grid(visible=False, axis="y")
