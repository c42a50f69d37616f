"""Shuffled Gaussian reports: the pair's own numbers, and the smallest noise for a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.bounds import get_bound
from shuffledp.bounds.shuffle_gaussian import gaussian_pair
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Status, Value
from shuffledp.protocols.shuffled import Shuffled
from shuffledp.randomizers import CheckIn, Gaussian, Randomizer, Repeated, Subsampled

_PAIR_THEOREMS = ("shuffle-gaussian", "shuffle-gaussian-composed", "shuffle-gaussian-rdp")
_PROVEN = ("gaussian-unshuffled", "gaussian-approximate")
_LEAST, _MOST = 0.05, 1e6
"""Range of sigma / sensitivity searched."""
_PRECISION = 1e-6


def pair_values(protocol: Shuffled, **question: float) -> dict[str, Any]:
    """What the pair of data sets itself leaks, by every route, for Gaussian reports; else empty."""
    try:
        pair = gaussian_pair("shuffle-gaussian", protocol.randomizer, protocol.crowd)
    except RegimeError:
        return {}
    values: list[Value] = []
    for theorem in _PAIR_THEOREMS:
        try:
            values.append(protocol.bound(theorem, **question))
        except (RegimeError, ConversionError):
            continue
    return {
        "pair": {
            "dataset": str(pair),
            "sensitivity": pair.gaussian.sensitivity,
            "sigma": pair.gaussian.sigma,
            "values": [value.to_dict() for value in values],
        }
    }


@dataclass(frozen=True)
class SigmaCalibration:
    """The smallest noise found, and the epsilon it achieves."""

    sigma: float
    protocol: Shuffled
    achieved: Value
    """epsilon at the target delta, at most the target, with its label."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "sigma": self.sigma,
            "protocol": str(self.protocol),
            "epsilon": self.achieved.to_dict(),
            "status": self.achieved.status.value,
        }


def calibrate_sigma(
    *,
    epsilon: float,
    delta: float,
    n: int,
    sensitivity: float = 2.0,
    rounds: int = 1,
    rate: float = 1.0,
    drawn: int | None = None,
    status: Status = Status.PROVEN,
) -> SigmaCalibration:
    """Smallest sigma such that (epsilon, delta) holds over all rounds.

    ``status`` PROVEN asks for every data set; FIXED_PAIR for the pair of shuffle-gaussian only, by
    its Rényi curve. ``rate`` is the check-in probability, ``drawn`` the number of users drawn; the
    default sensitivity is the diameter of the unit clipping ball.
    """
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    users = checks.count("n", n)
    distance = checks.positive("sensitivity", sensitivity)
    if status not in (Status.PROVEN, Status.FIXED_PAIR):
        raise ParameterError("status", "PROVEN or FIXED_PAIR", status)
    theorems = _PROVEN if status is Status.PROVEN else ("shuffle-gaussian-rdp",)

    def built(scale: float) -> Randomizer:
        inner: Randomizer = Gaussian(scale * distance, distance)
        if drawn is not None:
            inner = Subsampled(inner, drawn)
        elif rate < 1.0:
            inner = CheckIn(inner, rate)
        return inner if rounds == 1 else Repeated(inner, rounds)

    def best(scale: float) -> Value:
        protocol = Shuffled(built(scale), users)
        found: list[Value] = []
        for theorem in theorems:
            try:
                found.append(protocol.bound(theorem, delta=delta))
            except (RegimeError, ConversionError):
                continue
            if found[-1].value <= epsilon:
                return found[-1]
        if not found:
            return Value(math.inf, status, get_bound(theorems[0]).theorem.direction, theorems[0])
        return min(found, key=lambda value: value.value)

    scale = _smallest(lambda x: best(x).value <= epsilon, epsilon)
    achieved = best(scale)
    if not achieved.value <= epsilon:
        raise ArithmeticError(f"calibration failed its own check: {achieved}")
    return SigmaCalibration(scale * distance, Shuffled(built(scale), users), achieved)


def _smallest(holds: Callable[[float], bool], epsilon: float) -> float:
    """Bisection over ln(sigma / sensitivity); more noise never hurts."""
    if not holds(_MOST):
        raise ParameterError("epsilon", f"reachable with sigma <= {_MOST:g} sensitivities", epsilon)
    if holds(_LEAST):
        return _LEAST
    low, high = math.log(_LEAST), math.log(_MOST)
    while high - low > _PRECISION:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(math.exp(middle)) else (middle, high)
    return math.exp(high)
