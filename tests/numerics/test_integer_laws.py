"""Certified laws on the whole numbers against exact ones, and what tells two of them apart."""

import math

import mpmath as mp
import numpy as np
import pytest

from shuffledp import RegimeError
from shuffledp.numerics.integer_laws import (
    IntegerLaw,
    IntegerPair,
    binomial,
    discrete_gaussian,
    from_ratios,
    negative_binomial,
    point,
    poisson,
    two_sided_geometric,
)

mp.mp.dps = 40


def _poisson(k: int, mean: float) -> mp.mpf:
    return mp.exp(-mp.mpf(mean)) * mp.mpf(mean) ** k / mp.factorial(k)


def _negative_binomial(k: int, shape: float, ratio: float) -> mp.mpf:
    r, q = mp.mpf(shape), mp.mpf(ratio)
    return mp.gamma(k + r) / (mp.gamma(r) * mp.factorial(k)) * (1 - q) ** r * q**k


def _gaussian(k: int, variance: float) -> mp.mpf:
    total = mp.nsum(lambda j: mp.exp(-(j**2) / (2 * mp.mpf(variance))), [-200, 200])
    return mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(variance))) / total


def _binomial(k: int, trials: int, p: float) -> mp.mpf:
    return mp.binomial(trials, k) * mp.mpf(p) ** k * (1 - mp.mpf(p)) ** (trials - k)


CASES = {
    "poisson 0.3": (poisson(0.3), lambda k: _poisson(k, 0.3), 0),
    "poisson 80": (poisson(80.0), lambda k: _poisson(k, 80.0), 0),
    "binomial 90": (binomial(90, 0.3, 0.7), lambda k: _binomial(k, 90, 0.3), 0),
    "few heads": (binomial(3, 0.001, 0.999), lambda k: _binomial(k, 3, 0.001), 0),
    "peaked": (negative_binomial(0.2, 0.9), lambda k: _negative_binomial(k, 0.2, 0.9), 0),
    "negative binomial": (
        negative_binomial(7.5, 0.6),
        lambda k: _negative_binomial(k, 7.5, 0.6),
        0,
    ),
    "gaussian": (discrete_gaussian(20.0), lambda k: _gaussian(k, 20.0), -1000),
    "narrow gaussian": (discrete_gaussian(0.02), lambda k: _gaussian(k, 0.02), -1000),
}


@pytest.mark.parametrize("name", CASES)
def test_masses_lie_between_their_ends(name: str) -> None:
    law, exact, least = CASES[name]
    assert law.start >= least
    for i, (low, high) in enumerate(zip(law.low.tolist(), law.high.tolist(), strict=True)):
        mass = exact(law.start + i)
        assert low <= mass <= high
        assert high - low <= 1e-10 * high
    inside = mp.fsum(exact(law.start + i) for i in range(law.low.size))
    assert 1 - inside <= law.rest + mp.mpf(10) ** -38
    assert law.rest < 1e-55


def test_sums_differences_and_multiples() -> None:
    total = poisson(2.0).plus(poisson(3.0))
    whole = poisson(5.0)
    for i in range(40):
        k = i - total.start
        assert total.low[k] <= whole.high[i]
        assert total.high[k] >= whole.low[i]
    thrice = binomial(4, 0.3, 0.7).times(3)
    for k, (low, high) in enumerate(zip(thrice.low, thrice.high, strict=True)):
        assert low <= _binomial(k, 12, 0.3) <= high
    one = negative_binomial(1.0, 0.5)
    laplace, known = one.plus(one.mirrored()), two_sided_geometric(0.5)
    for z in range(-50, 51):
        low, high = (ends[z - laplace.start] for ends in (laplace.low, laplace.high))
        assert low <= (1 / 3) * 0.5 ** abs(z) * (1 + 1e-12)
        assert high >= (1 / 3) * 0.5 ** abs(z) * (1 - 1e-12)
        assert known.low[z - known.start] <= high
    assert point(0).times(7).start == 0


def test_what_cannot_be_listed_is_refused() -> None:
    wide = discrete_gaussian(1e8)
    with pytest.raises(RegimeError, match="sums of laws"):
        wide.plus(wide)
    with pytest.raises(RegimeError, match="numbers"):
        from_ratios(lambda k: np.full_like(k, 1.0 - 1e-9), 0, least=0)


def _exact_delta(p: IntegerLaw, q: IntegerLaw, t: float) -> float:
    """Plain sums over both windows, good to ten digits."""
    first = {p.start + i: float(x) for i, x in enumerate(p.low)}
    second = {q.start + i: float(x) for i, x in enumerate(q.low)}
    return math.fsum(max(mass - t * second.get(k, 0.0), 0.0) for k, mass in first.items())


@pytest.mark.parametrize("law", [poisson(30.0), two_sided_geometric(0.7), binomial(12, 0.4, 0.6)])
def test_pairs_and_their_losses_enclose_the_divergence(law: IntegerLaw) -> None:
    pair = IntegerPair.of(law.shifted(1), law)
    epsilons = np.array([0.0, 0.1, 0.3, 0.35, 0.5, 1.0, 2.0])
    (low, high), (back_low, back_high) = pair.deltas(epsilons)
    below, above = pair.losses()
    for i, epsilon in enumerate(epsilons.tolist()):
        t = math.exp(epsilon)
        forward = _exact_delta(law.shifted(1), law, t)
        reverse = _exact_delta(law, law.shifted(1), t)
        assert low[i] <= forward * (1 + 1e-9) + 1e-13
        assert high[i] >= forward * (1 - 1e-9)
        assert high[i] - low[i] <= 1e-8 * forward + 1e-12
        assert back_low[i] <= reverse * (1 + 1e-9) + 1e-13
        assert back_high[i] >= reverse * (1 - 1e-9)
        for losses, side in ((below, -1), (above, 1)):
            profile = losses.revealing + float(
                np.maximum(losses.masses * (np.exp(losses.values) - t), 0.0).sum()
            )
            assert side * (profile - forward) >= -1e-9 * forward - 1e-13
            assert abs(profile - forward) <= 1e-6 * forward + 1e-8


def test_the_rest_counts_for_the_first_law_and_against_the_second() -> None:
    certain = IntegerLaw(0, np.ones(1), np.ones(1), 1e-3)
    other = IntegerLaw(1, np.ones(1), np.ones(1), 1e-3)
    (low, high), _ = IntegerPair.of(certain, certain).deltas(np.array([0.0, 1.0]))
    assert np.all(low == 0.0)
    assert np.all(high >= 1e-3)
    (low, high), _ = IntegerPair.of(certain, other).deltas(np.array([1.0]))
    assert low[0] <= 1.0 - math.e * 1e-3
    assert high[0] == 1.0


def test_far_epsilons_are_answered_soundly() -> None:
    (low, high), _ = IntegerPair.of(poisson(5.0).shifted(1), poisson(5.0)).deltas(np.array([800.0]))
    assert low[0] == 0.0
    assert 0.0 <= high[0] < 1e-30
    (low, high), _ = IntegerPair.of(poisson(5.0), poisson(5.0).shifted(1)).deltas(np.array([800.0]))
    assert high[0] >= math.exp(-5.0)  # no number is 0 with the victim in it


def test_upper_ends_alone_are_the_same() -> None:
    epsilons = np.linspace(0.0, 30.0, 61)
    one = poisson(5.0)
    for pair in (IntegerPair.of(one.shifted(1), one), IntegerPair.of(one, one.shifted(2))):
        for (none, alone), (_, high) in zip(
            pair.above(epsilons), pair.deltas(epsilons), strict=True
        ):
            assert (alone == high).all()
            assert (none == 0.0).all()
