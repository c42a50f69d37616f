"""Any eps0-LDP randomizer: one delta and one epsilon, beside the plain sum; growth with n.

python bench/accounting.py [--json]
"""

from __future__ import annotations

import math

import numpy as np
from figures import Figure, cold, publish, warm
from scipy.special import betainc
from scipy.stats import binom

from shuffledp import LDP, Shuffled
from shuffledp.accounting.bounds.clones import stronger_clones

EPS0, DELTA = 2.0, 1e-6
_SUMMED = 10**7
"""The plain sum is taken up to so many users."""


def plain_sum(eps0: float, n: int, epsilon: float) -> float:
    """The textbook sum over all 0 <= c < n, vectorised with SciPy."""
    big, e = math.exp(eps0), math.exp(epsilon)
    w = 1.0 / (big + 1.0)
    k = 1.0 - w - w * e
    g = (e * (1.0 - w) - w) / k
    c = np.arange(n)
    t = np.floor(g * (c + 1) / (1 + g))
    mass = binom.pmf(c, n - 1, 2 * w)
    tail = np.where(t < c, betainc(t + 1, np.maximum(c - t, 1e-9), 0.5), 0.0)
    at = binom.pmf(t, c, 0.5)
    return float(k * np.sum(mass * (at + (1 - g) * tail)))


def bisected(eps0: float, n: int) -> float:
    """epsilon by bisecting the plain sum, as published programs do."""
    low, high = 0.0, eps0
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if plain_sum(eps0, n, middle) > DELTA else (low, middle)
    return high


def main() -> None:
    deltas, epsilons = [], []
    for exponent in range(2, 13):
        n = 10**exponent
        curve = stronger_clones.curve(LDP(EPS0), n)
        epsilon = curve.epsilon(DELTA) or curve.epsilon(1e-12)
        plain = None
        if n <= _SUMMED:
            plain = warm(lambda i, n=n, e=epsilon: plain_sum(EPS0, n, e * (1 + 1e-3 * i)), 3)
        deltas.append(
            Figure(
                "delta, stronger clones, warm",
                n,
                warm(lambda i, c=curve, e=epsilon: c.enclose(e * (1.0 + 1e-3 * i))),
                "plain sum" if plain else "",
                plain,
                f"width {curve.enclose(epsilon).width:.0e}",
            )
        )
        epsilons.append(
            Figure(
                "epsilon, both ends, warm",
                n,
                warm(lambda i, n=n: Shuffled(LDP(EPS0 + 0.01 * i), n).epsilon(DELTA)),
                "plain sum, bisected (one end)" if n <= 10**5 else "",
                warm(lambda i, n=n: bisected(EPS0 + 0.01 * i, n), 1) if n <= 10**5 else None,
            )
        )
    fresh = [
        Figure("epsilon, both ends, cold", n, cold(f"Shuffled(LDP({EPS0}), {n}).epsilon({DELTA})"))
        for n in (10**5, 10**12)
    ]
    publish("Any eps0-LDP randomizer (eps0 = 2, delta = 1e-6)", [*deltas, *epsilons, *fresh])


if __name__ == "__main__":
    main()
