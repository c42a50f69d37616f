"""The clone pair from its definition: C clones, A of them on the first symbol, then the victim.

C ~ Bin(n-1, weight), A ~ Bin(C, 1/2); the victim's report is the first symbol with probability
1 - w under P and w under Q, w = 1/(e^eps0 + 1). The analyst sees (C, how many first symbols).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from flint import arb

from tests.oracles.balls import binomial_mass, precise


@precise
def stronger(eps0: float) -> tuple[arb, arb]:
    """2/(E+1) and its complement."""
    big = arb(eps0).exp()
    return 2 / (big + 1), (big - 1) / (big + 1)


@precise
def standard(eps0: float) -> tuple[arb, arb]:
    """1/E and its complement."""
    big = arb(eps0).exp()
    return 1 / big, (big - 1) / big


def outcomes(eps0: float, n: int, weight: tuple[arb, arb]) -> Iterator[tuple[arb, arb]]:
    """Both probabilities of every outcome (C, number of first symbols)."""
    w = 1 / (arb(eps0).exp() + 1)
    for c in range(n):
        mass = binomial_mass(c, n - 1, *weight) / 2**c
        for first in range(c + 2):
            with_first = math.comb(c, first - 1) if first >= 1 else 0
            without = math.comb(c, first)
            yield (
                mass * ((1 - w) * with_first + w * without),
                mass * (w * with_first + (1 - w) * without),
            )


@precise
def delta(eps0: float, n: int, epsilon: float, weight: tuple[arb, arb]) -> arb:
    """H_e(P||Q), term by term. H_e(Q||P) is the same number by symmetry."""
    e = arb(epsilon).exp()
    total = arb(0)
    for p, q in outcomes(eps0, n, weight):
        total += (p - e * q).nonnegative_part()
    return total


@precise
def renyi(eps0: float, n: int, order: float, weight: tuple[arb, arb]) -> arb:
    """D_order(P||Q), term by term."""
    power = arb(order)
    total = arb(0)
    for p, q in outcomes(eps0, n, weight):
        total += q * (p / q) ** power
    return total.log() / (power - 1)


@precise
def window_delta(eps0: float, n: int, epsilon: float, depth: float = 60.0) -> arb:
    """H_e(P||Q) of the stronger pair for large n: one binomial tail per C near its mean.

    delta = k sum_c Pr[C=c] (Pr[B >= t] - g Pr[B > t]), B ~ Bin(c, 1/2). C further than ``depth``
    nats of Chernoff from the mean adds at most exp(-depth), which is put into the ball.
    """
    p, q = stronger(eps0)
    e, w = arb(epsilon).exp(), p / 2
    k = 1 - w - w * e
    g = (e * (1 - w) - w) / k
    mean = float(p.mid()) * (n - 1)
    reach = math.sqrt(2.0 * depth * mean) + depth
    first, last = max(0, math.floor(mean - reach)), min(n - 1, math.ceil(mean + reach))
    half = arb(1) / 2
    t = _threshold(g, first)
    tail = arb(1) if t <= 0 else half.beta_lower(arb(t), arb(first - t + 1), regularized=True)
    mass = binomial_mass(first, n - 1, p, q)
    total = arb(0)
    for c in range(first, last + 1):
        at = binomial_mass(t, c, half, half)
        total += mass * (tail - g * (tail - at))
        mass *= p / q * (n - 1 - c) / (c + 1)
        tail += binomial_mass(t - 1, c, half, half) / 2  # now Pr[Bin(c+1, 1/2) >= t]
        new = _threshold(g, c + 1)
        for step in range(t, new):
            tail -= binomial_mass(step, c + 1, half, half)
        t = new
    left_out = 2 * (-arb(depth)).exp() if (first > 0 or last < n - 1) else arb(0)
    return k * (total + (left_out / 2 + arb(0, 1) * left_out / 2))


def _threshold(g: arb, c: int) -> int:
    at = g * (c + 1) / (1 + g)
    whole = at.floor().unique_fmpz()
    # a ball around an integer (epsilon = 0): that outcome adds nothing, so either side is exact
    return round(float(at.mid())) if whole is None else int(whole)
