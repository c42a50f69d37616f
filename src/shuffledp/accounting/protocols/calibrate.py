"""The inverse: which local budget, or how many users, reach a target guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import InternalError, ParameterError, RegimeError, answering
from shuffledp.labels import Interval
from shuffledp.numerics.enclosure import FINE, QUICK
from shuffledp.numerics.search import bisect, bisect_whole

_LARGEST_EPS0 = 60.0
_MOST_USERS = 10**12
_PRECISION = 1e-9


@dataclass(frozen=True)
class Calibration:
    """The parameter found, and the target checked forward with it.

    Parameters
    ----------
    parameter
        "eps0" or "n".
    value
        What was found.
    protocol
        The protocol with it.
    achieved
        delta at the target epsilon.
    """

    parameter: str
    value: float
    protocol: Shuffled
    achieved: Interval
    """delta at the target epsilon; its upper end does not exceed the target."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "parameter": self.parameter,
            "n": self.protocol.n,
            "eps0": self.protocol.eps0,
            self.parameter: self.value,
            "delta": self.achieved.to_dict(),
            "status": self.achieved.status.value,
            "theorem": self.achieved.theorem,
        }


def calibrate(
    randomizer: Callable[..., Randomizer],
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
    eps0: float | None = None,
    **parameters: object,
) -> Calibration:
    """Largest eps0 for n users, or smallest n for a given eps0, such that (epsilon, delta) holds.

    Parameters
    ----------
    randomizer
        A family such as ``LDP`` or ``KRR``, built with eps0 and the other ``parameters``.
    epsilon, delta
        The target guarantee.
    n, eps0
        Exactly one of them; the other is sought.
    **parameters
        What the randomizer takes besides its budget, such as ``k=16``.

    Returns
    -------
    Calibration
        The value found, the protocol, and its delta at epsilon, checked forward.

    Raises
    ------
    ParameterError
        If no number of users up to 10^12 is enough.

    Examples
    --------
    >>> from shuffledp import KRR, calibrate
    >>> found = calibrate(KRR, k=16, eps0=2.0, epsilon=0.3, delta=1e-6)
    >>> 500 < found.value < 700, found.achieved.upper <= 1e-6
    (True, True)
    """
    if not callable(randomizer):
        raise ParameterError("randomizer", "a family such as LDP or KRR", randomizer)
    epsilon = checks.positive("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    if (n is None) == (eps0 is None):
        raise ParameterError("n", "given if and only if eps0 is not", n)

    def built(budget: float) -> Randomizer:
        try:
            return randomizer(eps0=budget, **parameters)
        except TypeError as error:
            raise ParameterError("randomizer", "a family with a budget eps0", str(error)) from None

    def holds(budget: float, users: int, width: float = FINE) -> bool:
        proven = Shuffled(built(budget), users).proven()
        try:
            return proven.quick_delta(epsilon, width, enough=delta).value <= delta
        except RegimeError:
            return False

    asked = {**parameters, "n": n, "eps0": eps0, "epsilon": epsilon, "delta": delta}
    with answering(randomizer, asked):
        if n is not None:
            users = checks.count("n", n)
            value = _largest_eps0(lambda budget, width: holds(budget, users, width), epsilon)
            return _checked("eps0", value, Shuffled(built(value), users), epsilon, delta)
        local = checks.positive("eps0", eps0)
        users = _fewest_users(lambda crowd, width: holds(local, crowd, width), epsilon)
        return _checked("n", users, Shuffled(built(local), users), epsilon, delta)


def _checked(
    parameter: str, value: float, protocol: Shuffled, epsilon: float, delta: float
) -> Calibration:
    achieved = protocol.delta(epsilon=epsilon)
    if achieved.upper > delta:
        raise InternalError(f"calibration failed its own check: {achieved} above {delta!r}")
    return Calibration(parameter, value, protocol, achieved)


def _largest_eps0(holds: Callable[[float, float], bool], epsilon: float) -> float:
    """Bisection: eps0 = epsilon always holds, and delta grows with eps0."""
    if epsilon >= _LARGEST_EPS0:
        return epsilon
    if holds(_LARGEST_EPS0, FINE):
        return _LARGEST_EPS0
    low = bisect(lambda x: holds(x, QUICK), epsilon, _LARGEST_EPS0, share=1e-4).good
    step = 1e-3 * low
    while low + step < _LARGEST_EPS0 and holds(low + step, FINE):
        low, step = low + step, 2.0 * step
    high = min(low + step, _LARGEST_EPS0)
    return bisect(lambda x: holds(x, FINE), low, high, share=_PRECISION).good


def _first_enough(holds: Callable[[int, float], bool], epsilon: float) -> tuple[int, int]:
    """Neighbouring sizes of a growing series: too few users, and enough."""
    for width in (QUICK, FINE):
        low, high = 0, 1
        while not holds(high, width):
            if high == _MOST_USERS:
                break
            low, high = high, min(high + max(1, high // 2), _MOST_USERS)
        else:
            return low, high
    raise ParameterError("epsilon", f"reachable with n <= {_MOST_USERS:g} users", epsilon)


def _fewest_users(holds: Callable[[int, float], bool], epsilon: float) -> int:
    """Smallest n certified. delta falls with n, though with delta0 > 0 its bound rises again."""
    low, high = _first_enough(holds, epsilon)
    high, low = bisect_whole(lambda n: holds(n, QUICK), high, low, parts=1000)
    # quick upper ends exceed fine ones: the smallest certified n is at or below ``high``
    low = 9 * low // 10 if low > 10 else 0
    return bisect_whole(lambda n: holds(n, FINE), high, low).good
