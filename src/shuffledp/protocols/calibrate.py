"""The inverse: which local budget, or how many users, reach a target guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.bounds.clones import stronger_clones
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval
from shuffledp.numerics.enclosure import FINE, QUICK
from shuffledp.protocols.shuffled import Shuffled
from shuffledp.randomizers import LDP

_LARGEST_EPS0 = 60.0
_MOST_USERS = 10**12


@dataclass(frozen=True)
class Calibration:
    """The parameter found, and the target checked forward with it."""

    parameter: str
    value: float
    protocol: Shuffled
    achieved: Interval
    """delta at the target epsilon; its upper end does not exceed the target."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "parameter": self.parameter,
            self.parameter: self.value,
            "n": self.protocol.n,
            "eps0": self.protocol.randomizer.eps0,
            "delta": self.achieved.to_dict(),
            "status": self.achieved.status.value,
            "theorem": self.achieved.theorem,
        }


def calibrate(
    randomizer: type[LDP],
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
    eps0: float | None = None,
) -> Calibration:
    """Largest eps0 for n users, or smallest n for a given eps0, such that (epsilon, delta) holds.

    Give exactly one of ``n`` and ``eps0``. The result is checked forward before it is returned.
    """
    if not (isinstance(randomizer, type) and issubclass(randomizer, LDP)):
        raise ParameterError("randomizer", "a randomizer class such as LDP", randomizer)
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    if (n is None) == (eps0 is None):
        raise ParameterError("n", "given if and only if eps0 is not", n)
    if n is not None:
        users = checks.count("n", n)
        value = _largest_eps0(users, epsilon, delta)
        return _checked("eps0", value, Shuffled(randomizer(value), users), epsilon, delta)
    local = checks.positive("eps0", eps0)
    users = _fewest_users(local, epsilon, delta)
    return _checked("n", users, Shuffled(randomizer(local), users), epsilon, delta)


def _holds(eps0: float, n: int, epsilon: float, delta: float, width: float = FINE) -> bool:
    return stronger_clones(LDP(eps0), n).enclose(epsilon, width).upper <= delta


def _checked(
    parameter: str, value: float, protocol: Shuffled, epsilon: float, delta: float
) -> Calibration:
    achieved = protocol.delta(epsilon=epsilon)
    if achieved.upper > delta:
        raise ArithmeticError(f"calibration failed its own check: {achieved} above {delta}")
    return Calibration(parameter, value, protocol, achieved)


def _largest_eps0(n: int, epsilon: float, delta: float) -> float:
    """Bisection: eps0 = epsilon always holds, and delta grows with eps0."""
    if _holds(_LARGEST_EPS0, n, epsilon, delta):
        return _LARGEST_EPS0
    low = _bisect(lambda x: _holds(x, n, epsilon, delta, QUICK), epsilon, _LARGEST_EPS0, 1e-4)[0]
    high = _LARGEST_EPS0
    step = 1e-3 * low
    while _holds(low + step, n, epsilon, delta):
        low, step = low + step, 2.0 * step
    high = min(high, low + step)
    return _bisect(lambda x: _holds(x, n, epsilon, delta), low, high, 1e-12)[0]


def _bisect(
    holds: Callable[[float], bool], low: float, high: float, tolerance: float
) -> tuple[float, float]:
    """Shrink [low, high], holds(low) and not holds(high), to a relative tolerance."""
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _fewest_users(eps0: float, epsilon: float, delta: float) -> int:
    """Smallest n certified; delta falls with n."""
    if not _holds(eps0, _MOST_USERS, epsilon, delta):
        raise ParameterError("epsilon", f"reachable with n <= {_MOST_USERS:g} users", epsilon)
    low, high = 0, 1
    while high < _MOST_USERS and not _holds(eps0, high, epsilon, delta, QUICK):
        low, high = high, min(4 * high, _MOST_USERS)
    while high - low > max(1, high // 10_000):
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(eps0, middle, epsilon, delta, QUICK) else (middle, high)
    # coarse upper ends exceed exact ones: the smallest certified n is at or below ``high``
    low = math.floor(0.9 * low) if low > 10 else 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(eps0, middle, epsilon, delta) else (middle, high)
    return high
