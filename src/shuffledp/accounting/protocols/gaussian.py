"""Shuffled Gaussian reports: the pair's own numbers, and the smallest noise for a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from shuffledp import checks
from shuffledp.accounting.bounds import Bound
from shuffledp.accounting.bounds.gaussian_proven import gaussian_unshuffled
from shuffledp.accounting.bounds.gaussian_rounds import shuffle_gaussian_composed
from shuffledp.accounting.bounds.shuffle_gaussian import (
    gaussian_pair,
    shuffle_gaussian,
    shuffle_gaussian_rdp,
)
from shuffledp.accounting.bounds.tightest import SILENT
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import CheckIn, Gaussian, Randomizer, Repeated, Subsampled
from shuffledp.errors import ParameterError, RegimeError, answering
from shuffledp.labels import Status, Value

_OF_THE_PAIR = (shuffle_gaussian, shuffle_gaussian_composed, shuffle_gaussian_rdp)
_LEAST, _MOST = 0.05, 1e6
"""Range of sigma / sensitivity searched."""
_PRECISION = 1e-6
_COARSE, _FINE = 5e-3, 1e-5


def pair_values(protocol: Shuffled, **question: float) -> dict[str, Any]:
    """What the pair of data sets itself leaks, by every route, for Gaussian reports; else empty.

    Parameters
    ----------
    protocol
        Gaussian reports of n users.
    **question
        One of ``delta=``, ``epsilon=``, ``order=``, ``alpha=``.

    Returns
    -------
    dict
        The pair in words, and its values, JSON-ready.
    """
    try:
        pair = gaussian_pair(protocol.randomizer, protocol.crowd)
    except RegimeError:
        return {}
    values: list[Value] = []
    for bound in _OF_THE_PAIR:
        try:
            values.append(protocol.bound(bound.theorem.id, **question))
        except SILENT:
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
    """The smallest noise found, and the epsilon it achieves.

    Parameters
    ----------
    sigma
        Deviation of the noise.
    protocol
        The protocol with it.
    achieved
        epsilon at the target delta.
    """

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
    scalar: bool = False,
    ball: bool = False,
    status: Status = Status.PROVEN,
) -> SigmaCalibration:
    """Smallest sigma such that (epsilon, delta) holds over all rounds.

    Guarantees over several rounds, of drawn users or numbers take long: there the search ends
    within 0.5 % of the target epsilon.

    Parameters
    ----------
    epsilon, delta
        The target guarantee.
    n
        Number of users.
    sensitivity
        Largest distance of two values; 2, the diameter of the unit clipping ball, unless given.
    rounds
        How often the same users report.
    rate
        Probability that a user checks in.
    drawn
        Users drawn each round, without replacement, instead of a check-in.
    scalar
        Whether values are numbers in an interval of that length.
    ball
        Whether values lie in a ball of that diameter, as vectors clipped to a norm do.
    status
        PROVEN asks for every data set, FIXED_PAIR for the pair of shuffle-gaussian only.

    Returns
    -------
    SigmaCalibration
        The sigma found, and the epsilon it achieves.

    Examples
    --------
    >>> from shuffledp import calibrate_sigma
    >>> found = calibrate_sigma(epsilon=2.0, delta=1e-5, n=1)
    >>> round(found.sigma, 2), found.achieved.theorem
    (3.99, 'gaussian-unshuffled')
    """
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    distance = checks.positive("sensitivity", sensitivity)
    if status not in (Status.PROVEN, Status.FIXED_PAIR):
        raise ParameterError("status", "PROVEN or FIXED_PAIR", status)
    if drawn is not None and rate != 1.0:
        raise ParameterError("rate", "left out (1) where users are drawn", rate)
    times = checks.count("rounds", rounds)

    def protocol(scale: float) -> Shuffled:
        inner: Randomizer = Gaussian(scale * distance, distance, scalar, ball)
        if drawn is not None:
            inner = Subsampled(inner, drawn)
        elif rate != 1.0:
            inner = CheckIn(inner, rate)
        return Shuffled(inner if times == 1 else Repeated(inner, times), n)

    @cache
    def best(scale: float) -> Value:
        asked = protocol(scale)
        bounds = _bounds(asked, status)
        with answering(asked, {"delta": delta}):
            try:
                return asked.tightest(bounds).best("epsilon", delta, enough=epsilon)
            except SILENT:
                return bounds[0].theorem.value(math.inf)

    slow = status is Status.PROVEN and (times > 1 or drawn is not None or scalar)
    scale = _smallest(lambda x: best(x).value, epsilon, _COARSE if slow else _FINE)
    return SigmaCalibration(scale * distance, protocol(scale), best(scale))


def _bounds(protocol: Shuffled, status: Status) -> list[Bound[Curve]]:
    """Whom to ask, the quick ones first."""
    if status is Status.FIXED_PAIR:
        return [shuffle_gaussian_rdp]
    return sorted(protocol.candidates()[0], key=lambda bound: bound is not gaussian_unshuffled)


def _smallest(loss: Callable[[float], float], target: float, tolerance: float) -> float:
    """Least sigma / sensitivity with loss <= target, to ``tolerance`` in the loss.

    More noise never hurts, and ln loss is about linear in ln sigma: what the line between the ends
    of the bracket says is tried, kept well inside.
    """

    def miss(x: float) -> float:
        return math.log(max(loss(math.exp(x)), 1e-300) / target)

    bottom, high, step = math.log(_LEAST), math.log(_MOST), 8.0
    above = miss(high)
    if above > 0.0:
        raise ParameterError("epsilon", f"reachable with sigma <= {_MOST:g} sensitivities", target)
    low = high
    while (below := miss(low := max(low + max(above, -step) - 0.1, bottom))) <= 0.0:
        high, above, step = low, below, 2.0
        if low == bottom:
            return _LEAST
    # where a theorem's range begins the loss falls at once, and no sigma is near the target
    while high - low > max(_PRECISION, 0.1 * tolerance) and above < -tolerance:
        share = below / (below - above) if math.isfinite(below) else 0.5
        middle = low + min(max(share, 0.1), 0.9) * (high - low)
        value = miss(middle)
        low, below, high, above = (
            (low, below, middle, value) if value <= 0.0 else (middle, value, high, above)
        )
    return math.exp(high)
