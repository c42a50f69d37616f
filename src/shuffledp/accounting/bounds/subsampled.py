"""A fixed number of users drawn without replacement, then shuffled.

Symbols: q = m / n the share drawn, t = exp(epsilon).
"""

from __future__ import annotations

import math
from dataclasses import replace

from shuffledp.accounting.bounds.blanket import WorstDataset, dataset_curve
from shuffledp.accounting.bounds.candidates import candidates
from shuffledp.accounting.bounds.theorem import Subject, Theorem, bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd
from shuffledp.accounting.randomizers import Randomizer, Subsampled
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Direction, Status
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import down, roundings, up


def _share(theorem: str, randomizer: Randomizer, n: int) -> tuple[Randomizer, int, float]:
    if not isinstance(randomizer, Subsampled):
        raise RegimeError(theorem, "users drawn without replacement", str(randomizer))
    if randomizer.m > n:
        raise ParameterError("m", f"at most n = {n}", randomizer.m)
    return randomizer.randomizer, randomizer.m, randomizer.m / n


@bound(
    Theorem(
        id="subsampled",
        citation="Balle, Barthe, Gaboardi 2018 (NeurIPS), Theorem 9, on the shuffled reports of the drawn",
        statement="delta(ln(1 + q(e^eps - 1))) <= q delta_m(eps), q = m/n, delta_m that of m users",
        validity="m of n users drawn without replacement, in secret; replacement neighbours",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/composition.md",
    ),
    about=Subject.LAW,
)
def subsampled(randomizer: Randomizer, n: int) -> Curve:
    """The best proven curve of the m users, drawn in secret."""
    inner, m, q = _share("subsampled", randomizer, n)
    curves = [found for b in candidates(inner)[0] if (found := _curve(b.curve, inner, m))]
    if not curves:
        raise RegimeError("subsampled", "a proven bound for the users drawn", str(inner))

    def profile(epsilon: float, width: float) -> Enclosure:
        at = epsilon
        if epsilon < 600.0:
            at = down(math.log1p(math.expm1(epsilon) / q), roundings(90))
        value = min(
            c.enclose(at, width).upper if isinstance(c, ProfileCurve) else c.delta(at)
            for c in curves
        )
        value = min(up(q * value, roundings(90)), 1.0)
        return Enclosure(value, value)

    eps0 = inner.pure
    top = eps0
    if eps0 < 600.0:
        top = up(math.log1p(q * math.expm1(eps0)), roundings(90))
    return ProfileCurve(profile, PureEnd(top))


def _curve(make: object, inner: Randomizer, m: int) -> Curve | None:
    assert callable(make)
    try:
        curve: Curve = make(inner, m)
    except (RegimeError, ConversionError):
        return None
    return curve


@bound(
    Theorem(
        id="subsampled-dataset",
        citation="exact computation",
        statement="all others share one value: a drawn victim is one of m reports of law (1-q) r + q a",
        validity="m of n users drawn without replacement; randomizers whose law is known, and the LDP class",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/composition.md",
    ),
    about=Subject.LAW,
)
def subsampled_dataset(randomizer: Randomizer, n: int) -> Curve:
    """The usual data sets, the victim there only with probability q."""
    inner, m, q = _share("subsampled-dataset", randomizer, n)
    scenes = [replace(s, outcomes=s.outcomes.diluted(q)) for s in inner.datasets()]
    return WorstDataset([dataset_curve(scene, m, PureEnd(inner.eps0)) for scene in scenes])
