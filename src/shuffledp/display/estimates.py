"""Estimates for people."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shuffledp.collection.analysis import Estimate
from shuffledp.collection.pipeline import Job
from shuffledp.display.fonts import drawable, plain
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import print_rows

_MOST_BARS = 40


def print_estimate(job: Job, found: Estimate) -> None:
    """A table with error bars, then the privacy."""
    title = f"{job.task} of {', '.join(job.columns)}: {found.reports:,} reports"
    print_table(title, found)


def print_table(title: str, found: Estimate) -> None:
    """Estimates with error bars, then what they cost."""
    dropped = f"{found.dropped:,} rows dropped"
    low, high = found.interval()
    columns = [found.values, np.sqrt(found.variances), low, high]
    rows = zip(found.names, *(column.tolist() for column in columns), strict=True)
    first = found.quantity if found.quantity == "quantile" else ""
    print_rows(
        title,
        [first, "estimate", "error", "low", "high"],
        [list(row) for row in rows],
        [f"privacy: {found.label}", *filter(None, (found.note, dropped * (found.dropped > 0)))],
    )


def save_estimate(job: Job, found: Estimate, path: str | Path) -> None:
    """The estimates with 95 % error bars, the largest first if there are many."""
    order = np.arange(len(found.names))
    if len(order) > _MOST_BARS:
        order = np.argsort(-found.values)[:_MOST_BARS]
    names = [plain(str(found.names[i])) for i in order]
    title = [plain(f"{job.task} of {', '.join(job.columns)}"), plain(f"privacy: {found.label}")]
    title += [plain(found.note)] * bool(found.note)
    low, high = found.interval()
    values = found.values[order]
    errors = [values - low[order], high[order] - values]
    with drawable([*names, *title]):
        figure, axes = new_figure(width=max(6.4, 0.22 * len(names)))
        axes.errorbar(names, values, yerr=errors, fmt="o", capsize=3, ms=4)
        axes.tick_params(axis="x", rotation=90 if len(names) > 8 else 0, labelsize=8)
        axes.set_ylabel(f"{found.quantity} (95 % interval)")
        dress(axes, "; ".join(title))
        save_figure(figure, path)
