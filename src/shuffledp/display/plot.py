"""Pictures of answers. Needs the extra 'plot'."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.protocols.base import QUESTIONS, BoundedProtocol
from shuffledp.accounting.randomizers import LDP
from shuffledp.display.palette import COLOURS, CYCLE, GROUND, QUIET, darkened
from shuffledp.display.text import NAMES
from shuffledp.errors import ConversionError, MissingExtraError, RegimeError
from shuffledp.files import check_picture, write_whole
from shuffledp.labels import Direction, Interval, Status, Value, in_full, outward

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLE, _LEGEND = 68, 84
"""Characters in a line of a title, of a legend."""
_DEEPEST, _TINY = 1e-12, 1e-300
"""How far down a delta is drawn unless asked for; stands for 0 on a log axis."""
_AXES = {"epsilon": "epsilon", "order": "order", "alpha": "type I error"}
_LOSSES = NAMES | {"tradeoff": "1 - type I error - type II error"}
"""What is drawn: of a trade-off the distance from the diagonal, on which nothing would be seen."""


def new_figure(
    columns: int = 1, width: float = 6.4, height: float = 4.4, rows: int = 1
) -> tuple[Figure, Any]:
    """A figure that never touches a screen, and its axes."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", "Drawing a picture") from error
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_prop_cycle(color=CYCLE)
    return figure, grid


def panels(
    drawings: dict[str, Callable[[Any], None]],
    title: str,
    size: tuple[float, float],
    columns: int = 2,
) -> Figure:
    """Drawings of that size side by side under their names; one legend for all."""
    figure, grid = new_figure(columns, *size, -(-len(drawings) // columns))
    for axes, (name, draw) in zip(grid.flat, drawings.items(), strict=True):
        draw(axes)
        _dress_axes(axes)
        axes.set_title(name, fontsize=9)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.suptitle(textwrap.fill(title, _TITLE), fontsize=10)
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def dress(axes: Any, title: str = "") -> None:
    """Title, grid, and the legend below the axes, where it covers nothing. Comes last."""
    _dress_axes(axes)
    if title:
        axes.set_title(textwrap.fill(title, _TITLE), fontsize=10, loc="left")
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        legend_below(axes, handles, labels)


def _dress_axes(axes: Any) -> None:
    """A faint grid; on a log axis few numbers, written out where they are few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() != "log":
            continue
        low, high = sorted(axis.get_view_interval())
        axis.set_minor_formatter(NullFormatter())
        decades = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1 if low > 0.0 else 2
        if high < 50.0 * low or decades < 2:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(_plain))


def _plain(x: float, _place: int) -> str:
    return f"{x:g}" if x < 1e4 else f"{x:,.0f}"


def legend_below(axes: Any, handles: list[Any], labels: list[str]) -> None:
    """Under the label of the x axis, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.figure
    figure.draw_without_rendering()
    below = axes.xaxis.get_tightbbox()
    gap = (axes.bbox.y0 - below.y0) / figure.dpi if below is not None else 0.0
    lower = ScaledTranslation(0.0, -gap - 0.04, figure.dpi_scale_trans)
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + lower,
        ncols=max(1, min(len(labels), _LEGEND // (6 + max(map(len, labels))))),
        fontsize=8,
        frameon=False,
    )


def rendered(figure: Figure, ending: str) -> bytes:
    """The picture as the content of a file with that ending; ``.dark.svg`` for dark pages."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150, format=ending.rpartition(".")[2].lower())
    content = buffer.getvalue()
    return darkened(content.decode()).encode() if ending.endswith("dark.svg") else content


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the picture whole or not at all."""
    target = check_picture(path)
    write_whole("plot", target, rendered(figure, "".join(target.suffixes[-2:])))


def save_account(
    protocol: BoundedProtocol, given: str, at: float, interval: Interval, path: str | Path
) -> None:
    """The curve the question is about, and the bounds compared at the point asked."""
    bounds = _as_losses(protocol.bounds(**{given: at}), {given: at})
    figure, (left, right) = new_figure(2, height=_height(bounds))
    question = "alpha" if given == "alpha" else "order" if given == "order" else "epsilon"
    grid = _abscissas(protocol, given, at, interval)
    _draw_band(left, question, grid, *protocol.band(**{question: grid}))
    ends = [interval.lower, interval.upper]
    if given == "alpha":
        ends = _gains([at, at], ends)
    if interval.quantity == "epsilon":
        left.plot(ends, [at, at], "k|-", label="the question asked")
    else:
        left.plot([at, at], ends, "k_-", label="the question asked")
    if question == "epsilon":
        lowest = min(
            _DEEPEST, *(x / 30.0 for x in (ends if given == "epsilon" else [at]) if x > 0.0)
        )
        left.set_ylim(max(lowest, _TINY), 1.5)
    gain = "what any attack gains over guessing"
    over = f"{NAMES[QUESTIONS[question]]} over {_AXES[question]}"
    dress(left, gain if given == "alpha" else over)
    _draw_bounds(right, bounds, interval.quantity)
    figure.suptitle(
        f"{protocol}: {NAMES[interval.quantity]} at {given} = {in_full(at)}", fontsize=11
    )
    save_figure(figure, path)


def _gains(type_one: list[float], type_two: list[float]) -> list[float]:
    """What an attack with these errors has over one that guesses."""
    return [max(0.0, 1.0 - x - y) for x, y in zip(type_one, type_two, strict=True)]


def _as_losses(values: list[Value], question: dict[str, float]) -> list[Value]:
    """Of a trade-off the gains, so that more is worse as everywhere else."""
    if "alpha" not in question:
        return values
    alphas = [question["alpha"]] * len(values)
    gains = _gains(alphas, [value.value for value in values])
    return [replace(value, value=gain) for value, gain in zip(values, gains, strict=True)]


def _height(bounds: list[Value]) -> float:
    """Of a picture in which each bound has a row."""
    return max(4.4, 1.6 + 0.16 * len(bounds))


def draw_curve(protocol: BoundedProtocol, axes: Any) -> None:
    """delta over epsilon, both ends."""
    grid = _abscissas(protocol, "delta", 1e-6, protocol.ask(delta=1e-6))
    _draw_band(axes, "epsilon", grid, *protocol.band(epsilon=grid))
    axes.set_ylim(_DEEPEST, 1.5)
    dress(axes, str(protocol))


def _abscissas(protocol: BoundedProtocol, given: str, at: float, interval: Interval) -> list[float]:
    """Where to draw the curve, so that the question asked is well inside."""
    if given == "alpha":
        return sorted({at, *(k / 50.0 for k in range(51))})
    if given == "order":
        least = math.log(min(2.0, 1.0 + 0.5 * (at - 1.0)))
        most = math.log(max(4.0 * at, 16.0))
        return sorted({at, *(math.exp(least + (most - least) * k / 12.0) for k in range(13))})
    end = 1.4 * (at if given == "epsilon" else interval.upper)
    deepest = min(_DEEPEST, at / 100.0) if given == "delta" else _DEEPEST
    with suppress(RegimeError, ConversionError):
        end = max(end, protocol.band(delta=[deepest])[1][0])
    end = end if 0.0 < end < math.inf else 1.0
    return [end * k / 40.0 for k in range(41)]


def _draw_band(
    axes: Any, question: str, grid: list[float], lower: list[float], upper: list[float]
) -> None:
    """Guaranteed and leaked, and the truth between them."""
    if question == "alpha":
        lower, upper = _gains(grid, upper), _gains(grid, lower)
    if question == "epsilon":
        lower, upper = ([max(x, _TINY) for x in ends] for ends in (lower, upper))
    axes.fill_between(
        grid, lower, upper, color=COLOURS["PROVEN"], alpha=0.25, label="the truth lies here"
    )
    axes.plot(grid, upper, color=COLOURS["PROVEN"], lw=3.0, label="guaranteed (PROVEN)")
    axes.plot(
        grid, lower, color=COLOURS["FIXED_PAIR"], ls=(0, (5, 4)), label="leaked by a data set"
    )
    axes.set(xlabel=_AXES[question], ylabel=_LOSSES[QUESTIONS[question]])
    if question != "alpha":
        axes.set_yscale("log")
    if question == "order":
        axes.set_xscale("log")


def _draw_bounds(axes: Any, values: list[Value], quantity: str) -> None:
    """A bar from the leaked to the proven end, then a dot per bound, coloured by status.

    Filled where no more is lost, open where as much is. Lengths of bars from zero would say
    nothing on a log axis, which has none.
    """
    from matplotlib.lines import Line2D

    positive = [value.value for value in values if 0.0 < value.value < math.inf]
    if positive and max(positive) > 20.0 * min(positive):
        axes.set_xscale("log")
        axes.set_xlim(0.7 * min(positive), 1.4 * max(positive))
    for place, value in enumerate(values, start=1):
        colour = COLOURS[value.status.value]
        open_ = value.direction is Direction.LOWER
        axes.plot(value.value, place, "o", ms=5, color=colour, mfc=GROUND if open_ else colour)
    names = ["the truth", *(value.theorem for value in values)]
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel(_LOSSES[quantity])
    axes.invert_yaxis()
    _mark_ends(axes, values)
    dress(axes, "bounds compared")
    shown = [status for status in COLOURS if any(v.status.value == status for v in values)]
    handles = [Line2D([], [], ls="", marker="o", color=COLOURS[status]) for status in shown]
    open_dot = Line2D([], [], ls="", marker="o", color=QUIET, mfc=GROUND)
    legend_below(axes, [*handles, open_dot], [*shown, "open: leaked by a data set"])


def _mark_ends(axes: Any, values: list[Value]) -> None:
    """The interval: from the most that is leaked to the least that is guaranteed."""
    leaked = [v.value for v in values if v.direction is Direction.LOWER]
    proven = [
        v.value
        for v in values
        if v.direction is Direction.UPPER and v.status is Status.PROVEN and v.value < math.inf
    ]
    if not leaked or not proven:
        return
    ends = max(leaked), min(proven)
    axes.axvspan(*sorted(ends), color=COLOURS["PROVEN"], alpha=0.18, lw=0.8)
    axes.plot(ends, [0, 0], "-", color=COLOURS["PROVEN"], lw=5, solid_capstyle="butt")
    axes.plot(ends[0], 0, "|", color=COLOURS["FIXED_PAIR"], ms=11, mew=2)
    axes.plot(ends[1], 0, "|", color=COLOURS["PROVEN"], ms=11, mew=2)
    low, high = outward(min(ends), up=False, digits=4), outward(max(ends), up=True, digits=4)
    axes.annotate(
        f"{low} to {high}",
        (max(ends), 0),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
    )


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
    figure, places = _beside(sweeps + bool(varied), _height(values))
    _draw_bounds(places[0], _as_losses(values, question), quantity)
    if sweeps:
        crowds = [max(10, round(protocol.n * 10**power)) for power in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        crowds = [min(n + protocol.colluders, 10**12) for n in crowds]
        over_n = [replace(protocol, n=n, minimum_batch=None) for n in crowds]
        places[1].set_xscale("log")
        _draw_sweep(places[1], [float(p.n) for p in over_n], over_n, question, "number of users")
    if varied:
        budgets = [p.randomizer.eps0 for p in varied]
        _draw_sweep(places[2], budgets, varied, question, "eps0")
    figure.suptitle(str(protocol), fontsize=11)
    save_figure(figure, path)


def _beside(small: int, height: float) -> tuple[Figure, list[Any]]:
    """One tall pair of axes, and up to two smaller ones to its right, below each other."""
    if not small:
        figure, axes = new_figure(height=height)
        return figure, [axes]
    figure, grid = new_figure(2, height=max(height, 3.2 * small) / small, rows=small)
    if small == 1:
        return figure, list(grid)
    spec = grid[0][0].get_gridspec()
    for axes in (row[0] for row in grid):
        axes.remove()
    tall = figure.add_subplot(spec[:, 0])
    tall.spines[["top", "right"]].set_visible(False)
    return figure, [tall, *(row[1] for row in grid)]


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
        at,
        [a.lower for a in answers],
        [a.upper for a in answers],
        color=COLOURS["PROVEN"],
        alpha=0.25,
    )
    axes.plot(at, [a.upper for a in answers], "o-", color=COLOURS["PROVEN"], label="guaranteed")
    axes.plot(at, [a.lower for a in answers], "o--", color=COLOURS["FIXED_PAIR"], label="leaked")
    report = protocols[0].randomizer
    if report.layer == 0 and not isinstance(report, LDP) and math.isfinite(report.eps0):
        generic = [p.bound("stronger-clones", **question).value for p in protocols]
        axes.plot(at, generic, ":", color="black", label="generic bound for the same eps0")
    axes.set(xlabel=label, ylabel=NAMES[answers[0].quantity], yscale="log")
    dress(axes, f"{NAMES[answers[0].quantity]} over {label}")
