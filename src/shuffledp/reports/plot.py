"""Pictures of answers. Needs the extra 'plot'."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.labels import Interval, Value
from shuffledp.protocols import Shuffled
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


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the picture whole or not at all."""
    target = Path(path)
    if target.suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise ParameterError("plot", "a .png, .pdf or .svg file", str(path))
    if not target.parent.is_dir():
        raise ParameterError("plot", "in an existing folder", str(path))
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=target.suffix)
    os.close(handle)
    try:
        figure.savefig(name, dpi=150)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


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


def save_comparison(values: list[Value], quantity: str, title: str, path: str | Path) -> None:
    """All bounds of one question as bars."""
    figure, axes = new_figure(width=8.0, height=5.0)
    _draw_bounds(axes, values, quantity)
    axes.set_title(title, fontsize=9)
    save_figure(figure, path)
