"""Training runs for people: accuracy against epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.labels import in_full, outward
from shuffledp.reports.plot import COLOURS, dress, new_figure, save_figure
from shuffledp.reports.text import console, print_rows

_SHOWN = 12


def save_training(history: dict[str, Any], path: str | Path) -> None:
    """Test accuracy against epsilon: guaranteed, and as other accountings have it."""
    figure, axes = new_figure()
    draw_training(axes, history)
    dress(axes, "Test accuracy against epsilon")
    save_figure(figure, path)


def draw_training(axes: Any, history: dict[str, Any]) -> None:
    """One line per accounting of the same run."""
    rows = history["rows"]
    accuracy = [row["test_accuracy"] for row in rows]
    guarantee = [math.nan if row["epsilon"] is None else row["epsilon"] for row in rows]
    axes.plot(guarantee, accuracy, "o-", ms=3, color=COLOURS["PROVEN"], label="guaranteed (PROVEN)")
    for style, name in zip((":", "--", "-."), rows[-1]["claims"] if rows else (), strict=False):
        status = next((status for status in COLOURS if status in name), "HEURISTIC")
        at = [row["claims"].get(name, math.nan) for row in rows]
        axes.plot(at, accuracy, style, color=COLOURS[status], label=name)
    delta = history["spent"]["delta"]
    axes.set(
        xscale="log",
        xlabel=f"epsilon at delta = {in_full(delta)}",
        ylabel="test accuracy",
        ylim=(0, 1),
    )


def print_training(history: dict[str, Any], notes: Sequence[str]) -> None:
    """The run in a table of few rows, then what its numbers mean."""
    rows = history["rows"]
    stride = max(1, math.ceil(len(rows) / _SHOWN))
    few = rows[::-stride][::-1]
    print_rows(
        "Training",
        ("releases", "test accuracy", "epsilon (PROVEN)"),
        [(row["release"], row["test_accuracy"], row["epsilon"]) for row in few],
    )
    out, spent = console(), history["spent"]

    def say(line: str) -> None:
        out.print(line, markup=False, highlight=False)

    guarantee = spent["epsilon"]
    shown = "no bound" if guarantee["value"] is None else outward(guarantee["value"], up=True)
    say(
        f"epsilon = {shown} at delta = {in_full(spent['delta'])} for {history['protects']}:"
        f" {guarantee['status']} by {guarantee['theorem']} {guarantee['note']}".rstrip()
    )
    for claim in spent["claims"]:
        say(f"{claim['theorem']} says {claim['value']:.6g}: {claim['status']}. {claim['note']}")
    say(f"Randomness: {history['randomness']}.")
    for note in notes:
        say(f"Not covered by epsilon: {note}.")
    if history["stopped"]:
        say(f"Stopped: {history['stopped']}.")
