"""A fixed number of users drawn without replacement, then shuffled.

Symbols: q = m / n the share drawn, t = exp(epsilon).
"""

from __future__ import annotations

import math
from dataclasses import replace

from shuffledp.accounting.bounds.blanket import WorstDataset, dataset_curve
from shuffledp.accounting.bounds.scopes import drawn, drawn_otherwise
from shuffledp.accounting.bounds.theorem import bound, worth_asking
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import ProfileCurve, PureEnd
from shuffledp.accounting.randomizers import Randomizer, Subsampled
from shuffledp.errors import ParameterError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import down, roundings, up


def share_drawn(randomizer: Subsampled, n: int) -> tuple[Randomizer, int, float]:
    """What those drawn run, how many of them, and their share."""
    if randomizer.m > n:
        raise ParameterError("m", f"at most n = {n}", randomizer.m)
    return randomizer.randomizer, randomizer.m, randomizer.m / n


def pure_end(eps0: float, q: float) -> float:
    """From this epsilon on reports of that local budget, drawn with that chance, leak nothing."""
    if eps0 >= 600.0:
        return eps0
    return up(math.log1p(q * math.expm1(eps0)), roundings(90))


@bound(
    Theorem(
        id="subsampled",
        citation="Balle, Barthe, Gaboardi 2018 (NeurIPS), Theorem 9,"
        " on the shuffled reports of the drawn",
        statement="delta(ln(1 + q(e^eps - 1))) <= q delta_m(eps), q = m/n, delta_m that of m users",
        validity="m of n users drawn without replacement, in secret; replacement neighbours",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/composition.md",
    ),
    drawn,
    turn=4,
)
def subsampled(randomizer: Subsampled, n: int) -> ProfileCurve:
    """The best proven curve of the m users, drawn in secret."""
    inner, m, q = share_drawn(randomizer, n)
    proven = Tightest.about(worth_asking(inner, leaking=False), inner, m)

    def profile(epsilon: float, width: float) -> Enclosure:
        at = epsilon
        if epsilon < 600.0:
            at = down(math.log1p(math.expm1(epsilon) / q), roundings(90))
        value = min(up(q * proven.enclose(at, width).upper, roundings(90)), 1.0)
        return Enclosure(value, value)

    return ProfileCurve(profile, PureEnd(pure_end(inner.pure, q)))


@bound(
    Theorem(
        id="subsampled-dataset",
        citation="exact computation",
        statement="all others share one value: a drawn victim is one of m reports of law (1-q)"
        " r + q a",
        validity="m of n users drawn without replacement; randomizers whose law is known,"
        " and the LDP class",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/composition.md",
    ),
    drawn,
    asked_of=drawn_otherwise,
    turn=2,
)
def subsampled_dataset(randomizer: Subsampled, n: int) -> WorstDataset:
    """The usual data sets, the victim there only with probability q."""
    inner, m, q = share_drawn(randomizer, n)
    pairs = [replace(s, outcomes=s.outcomes.diluted(q)) for s in inner.datasets()]
    return WorstDataset([dataset_curve(pair, m, PureEnd(inner.eps0)) for pair in pairs])
