"""Results in notebooks: tables in HTML, and pictures on axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from shuffledp.accounting.protocols import (
    Calibration,
    RefutationAttempt,
    SigmaCalibration,
    Verdict,
)
from shuffledp.accounting.protocols.base import BoundedProtocol
from shuffledp.accounting.protocols.personalized import Guarantees
from shuffledp.collection.analysis import Estimate
from shuffledp.collection.planning import Plan
from shuffledp.display.estimates import to_its_error
from shuffledp.display.palette import COLOURS, QUIET
from shuffledp.display.text import NAMES
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.labels import Interval, Value, counted, in_full, outward

_VERDICTS = {"PROVEN": "PROVEN", "REFUTED": "REFUTED", "OPEN": "HEURISTIC"}


@dataclass(frozen=True)
class Sheet:
    """What is shown of a result, on whatever."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()


def html(result: Any) -> str:
    """A plain table; labels in their colours, everything else as the notebook has it."""
    shown = sheet(result)
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown.rows)
    small = f'<div style="color:{QUIET};font-size:90%">'
    said = "".join(f"{small}{escape(note)}</div>" for note in shown.notes if note)
    return (
        f"<div><strong>{escape(shown.title)}</strong>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}</div>"
    )


def plain(result: Any) -> str:
    """The same in letters of one width."""
    shown = sheet(result)
    cells = [list(shown.columns), *([_word(value) for value in row] for row in shown.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([shown.title, *lines, *filter(None, shown.notes)])


def _word(value: object) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _cell(value: object) -> str:
    text = _word(value)
    if (colour := COLOURS.get(_VERDICTS.get(text, text))) is not None:
        return f'<td><b style="color:{colour}">{escape(text)}</b></td>'
    return f"<td>{escape(text)}</td>"


@singledispatch
def sheet(result: Any) -> Sheet:
    """What to show of a result."""
    raise ParameterError("result", "one that notebooks can show", type(result).__name__)


@sheet.register
def _(result: Value) -> Sheet:
    row = [repr(result.value), result.status.value, result.direction.value]
    columns = ["value", "status", "direction", "theorem"]
    return Sheet("", columns, [[*row, result.theorem]], [result.note])


def _ends(interval: Interval) -> list[list[object]]:
    loss = interval.quantity != "tradeoff"
    ends = ("guaranteed", interval.guarantee, loss), ("leaked", interval.leaked, not loss)
    return [
        [name, outward(end.value, up=up), end.status.value, end.theorem] for name, end, up in ends
    ]


@sheet.register
def _(result: Interval) -> Sheet:
    return Sheet(NAMES[result.quantity], ["", "value", "status", "theorem"], _ends(result))


@sheet.register
def _(result: Calibration) -> Sheet:
    word = "fewest users" if result.parameter == "n" else "largest eps0"
    found = f"{result.value:,}" if result.parameter == "n" else outward(result.value, up=False)
    rows = _ends(result.achieved)
    notes = [str(result.protocol)]
    return Sheet(f"{word}: {found}", ["delta", "value", "status", "theorem"], rows, notes)


@sheet.register
def _(result: SigmaCalibration) -> Sheet:
    got = result.achieved
    row = [outward(got.value, up=True), got.status.value, got.theorem]
    notes = [str(result.protocol), got.note]
    title = f"smallest sigma: {in_full(result.sigma)}"
    return Sheet(title, ["epsilon", "status", "theorem"], [row], notes)


@sheet.register
def _(result: Verdict) -> Sheet:
    claim = f"({in_full(result.claimed_epsilon)}, {in_full(result.claimed_delta)})"
    row = [
        *(claim, result.verdict),
        *(outward(result.epsilon.upper, up=True), outward(result.epsilon.lower, up=False)),
    ]
    columns = ["claim", "verdict", "epsilon proven", "epsilon leaked"]
    data_set = f"data set that leaks more: {result.dataset}" if result.dataset else ""
    return Sheet("Is the claim right?", columns, [row], [data_set])


@sheet.register
def _(result: RefutationAttempt) -> Sheet:
    row = ["REFUTED" if result.refuted else "not refuted", in_full(result.claimed)]
    row += [outward(result.delta, up=False), result.dataset]
    columns = ["claim", "delta claimed", "delta leaked", "data set"]
    return Sheet("Does a data set leak more?", columns, [row], [f"searched: {result.searched}"])


@sheet.register
def _(result: Guarantees) -> Sheet:
    rows = [
        [
            each.eps0,
            f"{each.count:,}",
            outward(each.interval.upper, up=True),
            outward(each.interval.lower, up=False),
            "-" if result.uncovered else each.interval.status.value,
        ]
        for each in result.classes
    ]
    title = f"{NAMES[result.quantity]} by own budget"
    columns = ["own eps0", "users", "guaranteed", "leaked", "status"]
    return Sheet(title, columns, rows, [result.uncovered, result.warning])


@sheet.register
def _(result: Plan) -> Sheet:
    rows = [
        [
            choice.name,
            choice.trust,
            None if choice.eps0 is None else f"{choice.eps0:.4g}",
            f"{choice.error:.3g}",
            None if choice.achieved is None else choice.achieved.status.value,
        ]
        for choice in (*result.choices, *result.baselines)
    ]
    title, *advice = str(result).splitlines()
    columns = ["randomizer", "trusts", "eps0", "error", "status"]
    return Sheet(title, columns, rows, [*advice, f"error: expected of {result.task.error}"])


@sheet.register
def _(result: Estimate) -> Sheet:
    low, high = result.interval()
    errors = np.sqrt(result.variances)
    rows = [
        [name, *(to_its_error(number, error) for number in (value, error, *ends))]
        for name, value, error, *ends in zip(
            result.names, result.values, errors, low, high, strict=True
        )
    ]
    title = f"{result.quantity}: {counted(result.reports, 'report')}"
    notes = [f"privacy: {result.label}" if result.label else "", result.note]
    return Sheet(title, ["", "estimate", "error", "low", "high"], rows, notes)


@singledispatch
def _draw(result: Any, axes: Any) -> None:
    raise ParameterError("result", "one that can be drawn", type(result).__name__)


def plot(result: Any, axes: Any) -> Any:
    """Draw a result, on new axes of pyplot unless given: a notebook then shows them."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingExtraError("plot", "Drawing a picture") from error
        axes = pyplot.subplots(layout="constrained")[1]
    _draw(result, axes)
    return axes


@_draw.register
def _(result: BoundedProtocol, axes: Any) -> None:
    from shuffledp.display.plot import draw_curve

    draw_curve(result, axes)


@_draw.register
def _(result: Plan, axes: Any) -> None:
    from shuffledp.display.plan import draw_plan

    draw_plan(result, axes)


@_draw.register
def _(result: Estimate, axes: Any) -> None:
    from shuffledp.display.estimates import draw_estimate

    draw_estimate(result, axes)


@_draw.register
def _(result: Guarantees, axes: Any) -> None:
    from shuffledp.display.personalized import draw_guarantees

    draw_guarantees(result, axes)
