"""Confidence limits of a probability, valid for any number of trials."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import log_mass
from shuffledp.numerics.search import bisect


def at_least(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) >= count]."""
    if count <= 0:
        return 1.0
    if count > trials:
        return 0.0
    reach = 40 + math.ceil(14.0 * math.sqrt(trials * p * (1.0 - p)))
    if count < trials * p:
        return 1.0 - at_least(trials - count + 1, trials, 1.0 - p)
    places = np.arange(count, min(trials, count + reach) + 1, dtype=np.float64)
    logs, _ = log_mass(places, float(trials), p, 1.0 - p)
    return float(np.exp(logs).sum())


def lower_limit(count: int, trials: int, failure: float) -> float:
    """Clopper and Pearson: the probability is above this, but for a chance of ``failure``."""
    if count == 0:
        return 0.0
    return bisect(
        lambda p: at_least(count, trials, p) < failure, 0.0, count / trials, halvings=60
    ).good


def upper_limit(count: int, trials: int, failure: float) -> float:
    """As above, from the other side."""
    return 1.0 - lower_limit(trials - count, trials, failure)
