"""Shuffled Gaussian reports: the pair's own numbers, and the smallest noise for a target."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
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
from shuffledp.accounting.bounds.swap_gaussian import MOST_DIAMETER, limiting_mu
from shuffledp.accounting.bounds.tightest import SILENT, Tightest
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.likely import likely_delta
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import CheckIn, Gaussian, Randomizer, Repeated, Subsampled
from shuffledp.errors import ParameterError, RegimeError, answering
from shuffledp.labels import Status, Value
from shuffledp.numerics.enclosure import COARSE
from shuffledp.numerics.rounding import BELOW_ONE
from shuffledp.numerics.search import bisect, steered
from shuffledp.shown import Printed

_OF_THE_PAIR = (shuffle_gaussian, shuffle_gaussian_composed, shuffle_gaussian_rdp)
_LEAST, _MOST = 0.05, 1e6
"""Range of sigma / sensitivity searched."""
_COARSE, _FINE = 5e-3, 1e-6
_EDGE = (1.0 + 1e-5) / MOST_DIAMETER
"""The least noise of which the tightest theorem speaks."""
_FAR_ABOVE = 0.3
"""The logarithm of how many times smaller the logarithm of a delta is that is far above another."""


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
class SigmaCalibration(Printed):
    """The smallest noise found, and the epsilon it achieves.

    Parameters
    ----------
    sigma
        Deviation of the noise.
    protocol
        The protocol with it.
    achieved
        epsilon at the target delta.

    Examples
    --------
    >>> from shuffledp import calibrate_sigma
    >>> calibrate_sigma(epsilon=1.0, delta=1e-6, n=1).achieved.value <= 1.0
    True
    """

    sigma: float
    protocol: Shuffled | Counted | Rounds
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

    The search ends within 0.5 % of that sigma; for the pair, quick to ask, within 0.0001 %.

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
    (4.0, 'gaussian-unshuffled')
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

    def among(scale: float) -> Tightest:
        asked = protocol(scale)
        return asked.tightest(_bounds(asked, status))

    def reached(scale: float) -> float:
        try:
            return among(scale).quick_delta(epsilon, COARSE, enough=delta).value
        except SILENT:
            return 1.0

    proven = status is Status.PROVEN
    tolerance = _COARSE if proven else _FINE
    with answering(protocol(1.0), {"delta": delta}):
        start = min(enough_noise(epsilon, delta) * math.sqrt(times), _MOST)
        if proven:
            scale = least_scale(protocol, reached, epsilon, delta, start, tolerance)
        else:
            scale = smallest_noise(reached, delta, start, tolerance)
        while scale <= _MOST:
            achieved = among(scale).best("epsilon", delta, enough=epsilon)
            if achieved.value <= epsilon:
                return SigmaCalibration(scale * distance, protocol(scale), achieved)
            scale *= 1.0 + tolerance
    raise ParameterError("epsilon", f"reachable with sigma <= {_MOST:g} sensitivities", epsilon)


def least_scale(
    protocol: Callable[[float], Shuffled],
    delta: Callable[[float], float],
    epsilon: float,
    target: float,
    start: float,
    tolerance: float,
) -> float:
    """As ``smallest_noise`` for normal noise, of which ``start`` is enough.

    Begins where a limit theorem says, or where the tightest theorem ends.
    """

    def likely(scale: float) -> float:
        whole = protocol(scale)
        mu, rounds = _limiting_mu(whole)
        if math.isfinite(mu):
            return gaussian_delta(mu * math.sqrt(rounds), epsilon)
        return 0.0 if rounds == 1 else likely_delta(whole, epsilon)

    if math.isinf(_limiting_mu(protocol(start))[0]):
        return smallest_noise(delta, target, start, tolerance)
    first = _EDGE
    if likely(_EDGE) > target:
        first = bisect(lambda x: likely(x) <= target, start, _EDGE, share=tolerance).good
    return smallest_noise(delta, target, first, tolerance, likely=likely, edge=_EDGE)


def _limiting_mu(protocol: Shuffled) -> tuple[float, int]:
    """Of one round, and how many there are."""
    whole = protocol.randomizer
    if isinstance(whole, Repeated):
        return limiting_mu(whole.randomizer, protocol.crowd), whole.rounds
    return limiting_mu(whole, protocol.crowd), 1


def enough_noise(epsilon: float, delta: float) -> float:
    """A sigma / sensitivity that is enough for one round even if nothing is shuffled."""
    tail = math.sqrt(-2.0 * math.log(delta))
    return (tail + math.sqrt(tail**2 + 2.0 * epsilon)) / (2.0 * epsilon)


def _bounds(protocol: Shuffled, status: Status) -> list[Bound[Curve]]:
    """Whom to ask, the quick ones first."""
    if status is Status.FIXED_PAIR:
        return [shuffle_gaussian_rdp]
    return sorted(protocol.candidates()[0], key=lambda bound: bound is not gaussian_unshuffled)


def smallest_noise(
    delta: Callable[[float], float],
    target: float,
    start: float,
    tolerance: float,
    least: float = _LEAST,
    likely: Callable[[float], float] | None = None,
    edge: float = 0.0,
) -> float:
    """Least sigma / sensitivity whose delta is at most the target, to a share ``tolerance``.

    More noise never hurts, and ln(-ln delta) falls with ln sigma, with a slope of about 2 or more.
    Infinite if none does. ``likely`` is about delta and much cheaper: what it shows to be far above
    the target is not asked. With less noise than ``edge`` delta may jump.
    """

    def scale(place: int) -> float:
        return least * math.exp(tolerance * place)

    def excess(found: float) -> float:
        found = min(max(found, sys.float_info.min), BELOW_ONE)
        return math.log(math.log(target) / math.log(found))

    @lru_cache(maxsize=64)
    def miss(place: int) -> float:
        if likely is not None and (far := excess(likely(scale(place)))) > _FAR_ABOVE:
            return far
        return excess(delta(scale(place)))

    def steps(ratio: float) -> int:  # whole: the last digits of delta decide no place of the search
        return math.ceil(ratio / tolerance)

    high, top, last = (max(steps(math.log(x / least)), 0) for x in (start, _MOST, max(edge, least)))
    low, more = high, 2
    while miss(high) > 0.0:
        if high >= top:
            return math.inf
        low, high = high, min(high + 2 + steps(min(miss(high), 1.0)), top)
    while miss(low) <= 0.0:
        if low == 0:
            return least
        high, low = low, max(low - more - steps(-0.5 * max(miss(low), -4.0)), 0)
        more = steps(0.1)
        if high > last > low:
            low = last
        elif high == last:
            low = last - 1
    place = steered(miss, high, low, near=tolerance, begin=(miss(high), miss(low))).good
    return scale(place)
