"""Training runs for people: accuracy against epsilon."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from shuffledp.display.palette import COLOURS
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import console, print_rows
from shuffledp.labels import in_full, outward

_SHOWN = 12


def save_training(history: dict[str, Any], path: str | Path) -> None:
    """Test accuracy against epsilon: guaranteed, and as other accountings have it."""
    figure, axes = new_figure()
    draw_training(axes, history)
    dress(axes, ". ".join(filter(None, ("Test accuracy against epsilon", history["uncovered"]))))
    save_figure(figure, path)


def draw_training(axes: Any, history: dict[str, Any]) -> None:
    """One line per accounting of the same run."""
    rows = history["rows"]
    accuracy = [row["test_accuracy"] for row in rows]
    guarantee = [math.nan if row["epsilon"] is None else row["epsilon"] for row in rows]
    name, colour = "guaranteed (PROVEN)", COLOURS["PROVEN"]
    if history["uncovered"]:
        name, colour = "otherwise guaranteed", "#555555"
    axes.plot(guarantee, accuracy, "o-", ms=3, color=colour, label=name)
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


def print_training(history: dict[str, Any]) -> None:
    """The run in a table of few rows, then what its numbers mean."""
    rows = history["rows"]
    stride = max(1, math.ceil(len(rows) / _SHOWN))
    few = rows[::-stride][::-1]
    why_not = history["uncovered"]
    print_rows(
        "Training",
        ("releases", "test accuracy", "otherwise epsilon" if why_not else "epsilon (PROVEN)"),
        [(row["release"], row["test_accuracy"], _bound(row["epsilon"])) for row in few],
    )
    out, spent = console(), history["spent"]

    def say(line: str) -> None:
        out.print(line)

    known = spent["otherwise" if why_not else "epsilon"]
    status = "" if why_not else f"{known['status']} "
    words = (
        f"epsilon = {_bound(known['value'])} at delta = {in_full(spent['delta'])} for"
        f" {history['protects']}: {status}by {known['theorem']} {known['note']}".rstrip()
    )
    say(f"{why_not}. Otherwise: {words}" if why_not else words)
    for claim in spent["claims"]:
        say(f"{claim['theorem']} says {claim['value']:.6g}: {claim['status']}. {claim['note']}")
    say(f"Randomness: {history['randomness']}.")
    if history["stopped"]:
        say(f"Stopped: {history['stopped']}.")


def _bound(epsilon: float | None) -> str:
    """Rounded up: a guarantee never looks better than it is."""
    return "no bound" if epsilon is None else outward(epsilon, up=True)
