"""Both ends of an answer at many points at once, for pictures."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.accounting.bounds.candidates import candidates
from shuffledp.accounting.bounds.theorem import Bound
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import ConversionError, RegimeError

_PROBES = (0.0, 2.0, 5.0)
"""Deviations of a loss at which curves are compared."""


def band(
    randomizer: Randomizer, n: int, quantity: str, at: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Lower and upper ends; each as sound as a single answer, and a few percent wider."""
    proven, leaked = candidates(randomizer)
    small = quantity != "tradeoff"
    guaranteed = _tightest(proven, randomizer, n, quantity, at, small)
    witnessed = _tightest(leaked, randomizer, n, quantity, at, not small)
    return (witnessed, guaranteed) if small else (guaranteed, witnessed)


def _tightest(
    bounds: list[Bound],
    randomizer: Randomizer,
    n: int,
    quantity: str,
    at: Sequence[float],
    least: bool,
) -> list[float]:
    """The least or the largest answer at each point, of those theorems that have one."""
    curves: list[Curve] = []
    rows: list[list[float]] = []
    reasons: list[Exception] = []
    for each in bounds:
        try:
            curves.append(each.curve(randomizer, n))
        except (RegimeError, ConversionError) as error:
            reasons.append(error)
    one = quantity == "epsilon" and len(at) == 1
    for curve in curves if one else _useful(curves, least != (quantity == "tradeoff")):
        try:
            if one and rows and least and curve.sketched("delta", rows[0])[0] > at[0]:
                continue  # needs a larger epsilon
            rows.append(curve.sketched(quantity, at))
        except (RegimeError, ConversionError) as error:
            reasons.append(error)
    if not rows:
        raise reasons[0]
    return [(min if least else max)(column) for column in zip(*rows, strict=True)]


def _useful(curves: list[Curve], least: bool) -> list[Curve]:
    """Those with the tightest delta somewhere, and those without a delta."""
    if len(curves) < 2:
        return curves
    deltas: dict[int, list[float]] = {}
    unit = 0.0
    for i, curve in enumerate(curves):
        try:
            unit = unit or 2.5 * curve.sketched("delta", [0.0])[0]
            deltas[i] = curve.sketched("delta", [unit * k for k in _PROBES])
        except (RegimeError, ConversionError):
            continue
    pick = min if least else max
    best = {pick(deltas, key=lambda i: deltas[i][probe]) for probe in range(len(_PROBES)) if deltas}
    return [curve for i, curve in enumerate(curves) if i in best or i not in deltas]
