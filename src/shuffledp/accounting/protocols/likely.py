"""About what delta will be: where to look for an answer, never an answer."""

from __future__ import annotations

import math

from shuffledp.accounting.bounds.tightest import SILENT
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import CheckIn, Randomizer, Repeated
from shuffledp.numerics.enclosure import QUICK
from shuffledp.numerics.search import bisect

_LOOKS, _FIRST_CROWD, _MORE, _SAME = 6, 1000, 100, 0.02
"""How many crowds are looked at; the first, how many times more where that hides nothing, and when
two are alike."""
_STANDS_OUT = 0.05
"""Such a share of those who check in is told from the others: losses are rare and large."""
_LOG_DISTANCES = -300.0, 5.0
"""Of two normal laws: too little to see, and all that there is."""


def likely_delta(protocol: Shuffled, epsilon: float) -> float:
    """Many rounds by a limit theorem: of one of them only delta at epsilon = 0 is asked, but where
    no limit is near, and one round alone may lose more."""
    whole = protocol.randomizer
    rounds = whole.rounds if isinstance(whole, Repeated) else 1
    once = protocol.using(whole.randomizer) if isinstance(whole, Repeated) else protocol
    mu = likely_mu(once)
    if not 0.0 < mu < math.inf:
        return 1.0 if mu else 0.0
    together = gaussian_delta(max(mu * math.sqrt(rounds), 1e-300), epsilon)
    checked_in = once.randomizer
    if isinstance(checked_in, CheckIn) and gaussian_delta(mu, 0.0) > _STANDS_OUT * checked_in.rate:
        together = max(together, once.proven().quick_delta(epsilon, QUICK).value)
    return together


def likely_users(randomizer: Randomizer, epsilon: float, delta: float, most: int) -> int:
    """About how many reach a target: a crowd four times as large hides twice as well."""
    whole = randomizer
    rounds = whole.rounds if isinstance(whole, Repeated) else 1
    once = whole.randomizer if isinstance(whole, Repeated) else whole
    aim = bisect(lambda x: gaussian_delta(math.exp(x), epsilon) <= delta, *_LOG_DISTANCES).good
    users = _FIRST_CROWD
    for _ in range(_LOOKS):
        mu = likely_mu(Shuffled(once, users)) * math.sqrt(rounds)
        growth = (mu / math.exp(aim)) ** 2 if mu < math.inf else _MORE
        found = int(min(max(users * growth, 1), most))
        if abs(found - users) <= _SAME * users:
            break
        users = found
    return users


def likely_mu(once: Shuffled) -> float:
    """The distance of the two normal laws that a round is about as hard to tell apart as."""
    from statistics import NormalDist  # slow to import, rarely needed

    try:
        start = once.proven().quick_delta(0.0, QUICK).value
    except SILENT:
        return math.inf
    if start >= 1.0:
        return math.inf
    return 2.0 * NormalDist().inv_cdf(0.5 + 0.5 * min(max(start, 0.0), 1.0 - 1e-15))
