"""About what delta will be: where to look for an answer, never an answer."""

from __future__ import annotations

import math

from shuffledp.accounting.bounds.tightest import SILENT
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import CheckIn, Repeated
from shuffledp.numerics.enclosure import QUICK

_STANDS_OUT = 0.05
"""Such a share of those who check in is told from the others: losses are rare and large."""


def likely_delta(protocol: Shuffled, epsilon: float) -> float:
    """Many rounds by a limit theorem: of one of them only delta at epsilon = 0 is asked, but where
    no limit is near, and one round alone may lose more."""
    from statistics import NormalDist  # slow to import, rarely needed

    whole = protocol.randomizer
    rounds = whole.rounds if isinstance(whole, Repeated) else 1
    once = protocol.using(whole.randomizer) if isinstance(whole, Repeated) else protocol
    try:
        start = once.proven().quick_delta(0.0, QUICK).value
    except SILENT:
        return 1.0
    if not 0.0 < start < 1.0:
        return min(max(start, 0.0), 1.0)
    mu = 2.0 * NormalDist().inv_cdf(0.5 + 0.5 * min(start, 1.0 - 1e-15))
    together = gaussian_delta(max(mu * math.sqrt(rounds), 1e-300), epsilon)
    if isinstance(once.randomizer, CheckIn) and start > _STANDS_OUT * once.randomizer.rate:
        together = max(together, once.proven().quick_delta(epsilon, QUICK).value)
    return together
