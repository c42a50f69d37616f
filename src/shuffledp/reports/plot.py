"""Pictures of answers. Needs the extra 'plot'."""

from __future__ import annotations

import io
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.errors import MissingExtraError
from shuffledp.labels import Interval, Value
from shuffledp.protocols import Shuffled
from shuffledp.randomizers import LDP
from shuffledp.reports.files import check_picture, write_whole
from shuffledp.reports.text import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "PROVEN": "#1a7f4b",
    "FIXED_PAIR": "#1f6fb4",
    "ASYMPTOTIC": "#c98a00",
    "HEURISTIC": "#c98a00",
    "REFUTED": "#c22f2f",
}


def new_figure(columns: int = 1, width: float = 6.4, height: float = 4.4) -> tuple[Figure, Any]:
    """A figure that never touches a screen, and its axes."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", "Drawing a picture") from error
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, columns)


def rendered(figure: Figure, ending: str) -> bytes:
    """The picture as the content of a file with that ending."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150, format=ending.lstrip(".").lower())
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the picture whole or not at all."""
    target = check_picture(path)
    write_whole("plot", target, rendered(figure, target.suffix))


def save_account(
    protocol: Shuffled, given: str, at: float, interval: Interval, path: str | Path
) -> None:
    """The delta(eps) band of the protocol and the bounds compared at the question asked."""
    figure, (left, right) = new_figure(2)
    _draw_band(left, protocol)
    if interval.quantity == "epsilon":
        left.plot([interval.lower, interval.upper], [at, at], "k|-", label="the question asked")
    elif interval.quantity == "delta":
        left.plot(
            [at, at],
            [max(interval.lower, 1e-300), interval.upper],
            "k_-",
            label="the question asked",
        )
    left.legend(fontsize=8)
    _draw_bounds(right, protocol.bounds(**{given: at}), interval.quantity)
    figure.suptitle(f"{protocol}: {NAMES[interval.quantity]} at {given} = {at:g}")
    save_figure(figure, path)


def _draw_band(axes: Any, protocol: Shuffled) -> None:
    """Guaranteed and leaked delta over epsilon, down to 1e-12."""
    far = protocol.ask(delta=1e-12).upper
    grid = [far * k / 40.0 for k in range(41)]
    band = [protocol.delta(epsilon) for epsilon in grid]
    upper = [max(interval.upper, 1e-14) for interval in band]
    lower = [max(interval.lower, 1e-14) for interval in band]
    axes.fill_between(grid, lower, upper, color="#1a7f4b", alpha=0.25, label="the truth lies here")
    axes.plot(grid, upper, color=COLOURS["PROVEN"], label="guaranteed (PROVEN)")
    axes.plot(grid, lower, color=COLOURS["FIXED_PAIR"], ls="--", label="leaked by a data set")
    axes.set(yscale="log", xlabel="epsilon", ylabel="delta", ylim=(1e-13, 1.5))
    axes.grid(alpha=0.3)


def _draw_bounds(axes: Any, values: list[Value], quantity: str) -> None:
    """One horizontal bar per bound, coloured by status."""
    names = [value.theorem for value in values]
    lengths = [value.value for value in values]
    positive = [length for length in lengths if length > 0.0]
    axes.barh(names, lengths, color=[COLOURS[value.status.value] for value in values])
    if quantity != "tradeoff" and positive and max(positive) > 20.0 * min(positive):
        axes.set_xscale("log")
        axes.set_xlim(10 ** math.floor(math.log10(min(positive)) - 0.2), None)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_xlabel(NAMES[quantity])
    shown = {value.status.value for value in values}
    handles = [axes.barh([0], [0], color=COLOURS[status], label=status) for status in sorted(shown)]
    axes.legend(handles=handles, fontsize=7, loc="upper right")
    axes.invert_yaxis()


def save_comparison(
    protocol: Shuffled,
    values: list[Value],
    quantity: str,
    question: dict[str, float],
    path: str | Path,
) -> None:
    """All bounds of one question as bars; for epsilon and delta also over n and over eps0."""
    sweeps = quantity in {"epsilon", "delta"}
    varied = _other_budgets(protocol) if sweeps else []
    figure, axes = new_figure(1 + sweeps + bool(varied))
    panels = list(axes) if sweeps else [axes]
    _draw_bounds(panels[0], values, quantity)
    if sweeps:
        crowds = [max(10, round(protocol.n * 10**power)) for power in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        crowds = [min(n + protocol.colluders, 10**12) for n in crowds]
        over_n = [replace(protocol, n=n, minimum_batch=None) for n in crowds]
        _draw_sweep(panels[1], [float(p.n) for p in over_n], over_n, question, "number of users")
        panels[1].set_xscale("log")
    if varied:
        budgets = [p.randomizer.eps0 for p in varied]
        _draw_sweep(panels[2], budgets, varied, question, "eps0")
    figure.suptitle(str(protocol), fontsize=10)
    save_figure(figure, path)


def _other_budgets(protocol: Shuffled) -> list[Shuffled]:
    """The protocol with other local budgets, where the randomizer has one to set."""
    randomizer = protocol.randomizer
    if not any(f.name == "eps0" and f.init for f in fields(randomizer)):  # type: ignore[arg-type]
        return []
    factors = (0.5, 0.75, 1.0, 1.25, 1.5)
    return [
        replace(protocol, randomizer=replace(randomizer, eps0=factor * randomizer.eps0))  # type: ignore[type-var]
        for factor in factors
    ]


def _draw_sweep(
    axes: Any, at: list[float], protocols: list[Shuffled], question: dict[str, float], label: str
) -> None:
    """The interval of this randomizer and the generic guarantee."""
    answers = [p.ask(**question) for p in protocols]
    axes.fill_between(
        at, [a.lower for a in answers], [a.upper for a in answers], color="#1a7f4b", alpha=0.25
    )
    axes.plot(at, [a.upper for a in answers], "o-", color=COLOURS["PROVEN"], label="guaranteed")
    axes.plot(at, [a.lower for a in answers], "o--", color=COLOURS["FIXED_PAIR"], label="leaked")
    if not isinstance(protocols[0].randomizer, LDP) and math.isfinite(protocols[0].randomizer.eps0):
        generic = [p.bound("stronger-clones", **question).value for p in protocols]
        axes.plot(at, generic, ":", color="black", label="generic bound for the same eps0")
    axes.set(xlabel=label, ylabel=NAMES[answers[0].quantity], yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
