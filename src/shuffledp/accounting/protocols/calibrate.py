"""The inverse: which local budget, or how many users, reach a target guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from shuffledp import checks
from shuffledp.accounting.bounds.composition import MANY_USERS
from shuffledp.accounting.bounds.theorem import worth_asking
from shuffledp.accounting.protocols.likely import likely_delta, likely_users
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import Randomizer, Repeated
from shuffledp.errors import InternalError, ParameterError, RegimeError, answering
from shuffledp.labels import Interval, outward
from shuffledp.numerics.enclosure import FINE, QUICK
from shuffledp.numerics.rounding import down, roundings
from shuffledp.numerics.search import (
    bisect,
    bisect_whole,
    fewest,
    foreseen,
    grown,
    log_log_excess,
    steered,
)
from shuffledp.shown import Printed

_LARGEST_EPS0 = 60.0
_MOST_USERS = 10**12
_ROUGHLY, _PRECISION = 1e-3, 1e-7
_UNKNOWN = 1.0
"""Of an excess that is negative."""
_OF_ONE, _OF_ROUNDS, _OF_BUDGETS = 1e-8, 3e-5, 1e-4
"""Shares that are not told apart: of a number of users, in one round, in several, whose bounds are
not known better; of eps0, in several whose bounds take long."""
_STEP = 1e-6
"""As far beyond the largest eps0 one looks for what ended the search."""
_NEAR = 0.9
"""A delta above this part of the target was ended by the target."""


@dataclass(frozen=True)
class Calibration(Printed):
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
    note
        What else than the target ended the search, if so.

    Examples
    --------
    >>> from shuffledp import LDP, calibrate
    >>> calibrate(LDP, epsilon=0.5, delta=1e-6, eps0=1.0).parameter
    'n'
    """

    parameter: str
    value: float
    protocol: Shuffled
    achieved: Interval
    """delta at the target epsilon; its upper end does not exceed the target."""
    note: str = ""

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
            "note": self.note,
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
        The value found, the protocol, and its delta at epsilon, checked forward. Over several
        rounds it may be a ten-thousandth from the best: their bounds are not known better.

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
        raise ParameterError("n", "given, or else eps0, not both", n)

    def built(budget: float) -> Randomizer:
        try:
            return randomizer(eps0=budget, **parameters)
        except TypeError as error:
            raise ParameterError("randomizer", "a family with a budget eps0", str(error)) from None

    @lru_cache(maxsize=128)
    def excess(budget: float, users: int, width: float) -> float:
        proven = Shuffled(built(budget), users).proven()
        try:
            found = proven.quick_delta(epsilon, width, enough=delta).value
        except RegimeError:
            found = 1.0
        return log_log_excess(found, delta)

    def largest_eps0(users: int) -> float:
        whole = built(epsilon)
        if not isinstance(whole, Repeated):
            return _largest_eps0(lambda budget, width: excess(budget, users, width), epsilon)
        return foreseen(
            lambda budget: excess(budget, users, FINE),
            lambda budget: log_log_excess(
                likely_delta(Shuffled(built(budget), users), epsilon), delta
            ),
            down(epsilon / whole.rounds, roundings(16)),
            _LARGEST_EPS0,
            share=_OF_BUDGETS if _dear(whole.randomizer, users) else _STEP,
            start=1.0,
        ).good

    def fewest_users(budget: float) -> int:
        whole = built(budget)
        if math.isinf(whole.pure):
            return _fewest_users(lambda users, width: excess(budget, users, width), epsilon)
        guess = 1 if whole.pure <= epsilon else likely_users(whole, epsilon, delta, _MOST_USERS)
        share = _OF_ROUNDS if isinstance(whole, Repeated) else _OF_ONE
        found = fewest(lambda users: excess(budget, users, FINE), guess, _MOST_USERS, share=share)
        if found is None:
            raise _unreachable(epsilon)
        return found.good

    asked = {**parameters, "n": n, "eps0": eps0, "epsilon": epsilon, "delta": delta}
    with answering(randomizer, asked):
        if n is not None:
            users = checks.count("n", n)
            value = largest_eps0(users)
            further = Shuffled(built(min(value * (1.0 + _STEP), _LARGEST_EPS0)), users)
            return _checked("eps0", value, Shuffled(built(value), users), further, epsilon, delta)
        local = checks.positive("eps0", eps0)
        users = fewest_users(local)
        further = Shuffled(built(local), max(users - 1, 1))
        return _checked("n", users, Shuffled(built(local), users), further, epsilon, delta)


def _dear(randomizer: Randomizer, users: int) -> bool:
    """Whether bounds are asked that take long."""
    asked = worth_asking(randomizer, leaking=False)
    return users >= MANY_USERS and any(bound.dear for bound in asked)


def _checked(
    parameter: str,
    value: float,
    protocol: Shuffled,
    further: Shuffled,
    epsilon: float,
    delta: float,
) -> Calibration:
    achieved = protocol.delta(epsilon=epsilon)
    if achieved.upper > delta:
        raise InternalError(f"calibration failed its own check: {achieved} above {delta!r}")
    found = Calibration(parameter, value, protocol, achieved)
    if parameter == "eps0" and value == _LARGEST_EPS0:
        return replace(found, note=f"no larger eps0 than {_LARGEST_EPS0:g} is tried")
    if achieved.upper > _NEAR * delta:
        return found
    beyond = further.proven().quick_delta(epsilon, QUICK)
    if beyond.theorem == achieved.theorem or beyond.value <= delta:
        return found
    return replace(
        found,
        note=f"{achieved.theorem} ends here, not the target: beyond, {beyond.theorem} proves"
        f" delta <= {outward(beyond.value, up=True, digits=3)} only",
    )


Excess = Callable[[Any, float], float]
"""How far delta is above its target, for a budget or a number of users and a width."""


def _largest_eps0(excess: Excess, epsilon: float) -> float:
    """eps0 = epsilon always holds, and delta grows with eps0."""
    if epsilon >= _LARGEST_EPS0:
        return epsilon
    # no further up than needed: budgets that hide nothing take longest
    over = grown(lambda x: excess(x, QUICK) > 0.0, 2.0 * epsilon, epsilon, most=_LARGEST_EPS0)
    high = min(over.good, _LARGEST_EPS0)
    above = excess(high, QUICK if high < _LARGEST_EPS0 else FINE)
    if above <= 0.0:
        return _LARGEST_EPS0
    ends = -_UNKNOWN, above
    low = steered(lambda x: excess(x, QUICK), over.bad, high, share=_ROUGHLY, begin=ends).good
    # upper ends of a fine look are below those of a quick one
    step, below = _ROUGHLY * low, excess(low, FINE)
    if below > 0.0:
        return bisect(lambda x: excess(x, FINE) <= 0.0, epsilon, low, share=_PRECISION).good
    while (high := min(low + step, _LARGEST_EPS0)) < _LARGEST_EPS0:
        above = excess(high, FINE)
        if above > 0.0:
            break
        low, below, step = high, above, 2.0 * step
    return steered(
        lambda x: excess(x, FINE), low, high, share=_PRECISION, begin=(below, above)
    ).good


def _first_enough(excess: Excess, epsilon: float) -> tuple[int, int]:
    """Neighbouring sizes of a growing series: too few users, and enough."""
    for width in (QUICK, FINE):
        low, high = 0, 1
        while excess(high, width) > 0.0:
            if high == _MOST_USERS:
                break
            low, high = high, min(high + max(1, high // 2), _MOST_USERS)
        else:
            return low, high
    raise _unreachable(epsilon)


def _unreachable(epsilon: float) -> ParameterError:
    return ParameterError("epsilon", f"reachable with n <= {_MOST_USERS:g} users", epsilon)


def _fewest_users(excess: Excess, epsilon: float) -> int:
    """Smallest n certified where delta0 > 0: the bound falls with n, then rises again."""
    low, high = _first_enough(excess, epsilon)
    high, low = bisect_whole(lambda n: excess(n, QUICK) <= 0.0, high, low, parts=1000)
    # quick upper ends exceed fine ones: the smallest certified n is at or below ``high``
    low = 9 * low // 10 if low > 10 else 0
    return bisect_whole(lambda n: excess(n, FINE) <= 0.0, high, low).good
