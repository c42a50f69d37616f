"""About what delta will be: where to look for an answer, never an answer."""

from __future__ import annotations

import math

from shuffledp.accounting.bounds.tightest import SILENT
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import Repeated
from shuffledp.numerics.enclosure import QUICK


def likely_delta(protocol: Shuffled, epsilon: float) -> float:
    """Many rounds by a limit theorem: of one of them only delta at epsilon = 0 is asked."""
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
    return gaussian_delta(max(mu * math.sqrt(rounds), 1e-300), epsilon)
