"""Guarantees by class of budgets: a table, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shuffledp.accounting.protocols.personalized import Guarantees, Personalized
from shuffledp.display.palette import COLOURS
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import NAMES, console, print_heading, print_table
from shuffledp.labels import in_full, outward

_SHOWN = 40
_GREYS = "#555555", "#999999"


def print_guarantees(protocol: Personalized, answer: Guarantees, seconds: float) -> None:
    """One row per class; the warning goes to stderr."""
    out = console()
    print_heading(protocol, "budgets and n public")
    print_classes(answer)
    worst = answer.worst
    out.print(
        f"worst class: budget {worst.eps0:g}, guaranteed {NAMES[answer.quantity]}"
        f" {outward(worst.interval.upper, up=True)}; computed in {seconds:.2f} s"
    )
    console(stderr=True).print(answer.warning)


def print_classes(answer: Guarantees) -> None:
    """One row per class."""
    asked = "delta" if answer.quantity == "epsilon" else "epsilon"
    name = NAMES[answer.quantity]
    title = f"{name} at {asked} = {in_full(answer.given)}, by class"
    ends = [f"otherwise {end}" if answer.uncovered else end for end in ("leaked", "guaranteed")]
    columns = ("own eps", "users", *ends, "applies", "status", "theorem")
    step = max(1, -(-len(answer.classes) // _SHOWN))
    shown = [*answer.classes[:-1:step], answer.classes[-1]]
    rows = [
        (
            f"{each.smallest:.4g} to {each.eps0:.4g}"
            if each.smallest < each.eps0
            else f"{each.eps0:.6g}",
            f"{each.count:,}",
            outward(each.interval.lower, up=False),
            outward(each.interval.upper, up=True),
            each.applies,
            "-" if answer.uncovered else each.interval.status.value,
            each.interval.theorem,
        )
        for each in shown
    ]
    heading = ". ".join(filter(None, (title, answer.uncovered)))
    print_table(heading, columns, rows, spare=["theorem"])


def save_guarantees(answer: Guarantees, path: str | Path) -> None:
    """As a picture."""
    figure, axes = new_figure()
    draw_guarantees(answer, axes)
    save_figure(figure, path)


def draw_guarantees(answer: Guarantees, axes: Any) -> None:
    """Own budget on x, amplified on y, the interval shaded."""
    at = [each.eps0 for each in answer.classes]
    lower = [each.interval.lower for each in answer.classes]
    upper = [each.interval.upper for each in answer.classes]
    style, dashed = ("o-", "o--") if len(at) <= 64 else ("-", "--")
    guaranteed, leaked = "guaranteed (PROVEN)", "leaked by a data set (FIXED_PAIR)"
    colours = COLOURS["PROVEN"], COLOURS["FIXED_PAIR"]
    if answer.uncovered:
        guaranteed, leaked = "otherwise guaranteed", "otherwise leaked by a data set"
        colours = _GREYS
    axes.fill_between(at, lower, upper, color=colours[0], alpha=0.25)
    axes.plot(at, upper, style, color=colours[0], label=guaranteed)
    axes.plot(at, lower, dashed, ms=3, color=colours[1], label=leaked)
    if answer.quantity == "epsilon":
        axes.plot(at, at, "k:", label="own budget, unshuffled")
    if min(upper) > 0.0:
        axes.set_yscale("log")
    axes.set(xlabel="own budget", ylabel=f"{NAMES[answer.quantity]} after shuffling")
    shown = "visible" if "travels" in answer.warning else "hidden"
    title = f"{NAMES[answer.quantity]} by own budget, budgets {shown}"
    dress(axes, "; ".join(filter(None, (title, answer.uncovered))))
