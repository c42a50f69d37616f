"""Every data set of random small channels, in exact fractions, against the bounds."""

import math
from fractions import Fraction

import pytest

from shuffledp import KRR, LDP
from shuffledp.accounting.bounds import get_bound
from tests.oracles import datasets
from tests.oracles.balls import contains, off
from tests.oracles.brute_force import (
    Channel,
    channels,
    hockey_stick,
    local_delta,
    local_ratio,
    response_with_spectator,
    shuffled_law,
    worst_delta,
)
from tests.oracles.positive_part import rational

SHARES = (0.0, 0.15, 0.5, 0.85)


def _above(ratio: Fraction) -> float:
    """ln(ratio), rounded up beyond doubt."""
    return math.log(ratio) * (1.0 + 1e-15) + 1e-300 if ratio > 1 else 1e-9


def _threshold(eps0: float, share: float) -> tuple[Fraction, float]:
    """A rational e and a float below ln(e), so that a bound at the float covers e."""
    e = Fraction(math.exp(share * eps0)).limit_denominator(10**6)
    e = max(e, Fraction(1))
    return e, max(math.log(e) * (1.0 - 1e-15), 0.0)


def _attack(channel: Channel, n: int) -> None:
    eps0 = _above(local_ratio(channel))
    for share in SHARES:
        e, epsilon = _threshold(eps0, share)
        leaked = worst_delta(channel, n, e)
        for name in ("stronger-clones", "feldman-2021", "wang-2023"):
            bound = get_bound(name).curve(LDP(eps0), n).delta(epsilon)
            assert Fraction(bound) >= leaked, (name, channel, n, e)


def test_two_ways_to_the_same_delta() -> None:
    """The fast integer search agrees with the plain definition."""
    for channel in channels(3, 5):
        e = Fraction(3, 2)
        plain = max(
            hockey_stick(
                shuffled_law(channel, (x, *others)), shuffled_law(channel, (y, *others)), e
            )
            for x in range(len(channel))
            for y in range(len(channel))
            for others in [(i, j) for i in range(len(channel)) for j in range(len(channel))]
        )
        assert plain == worst_delta(channel, 3, e)


@pytest.mark.parametrize("seed", range(12))
def test_random_channels(seed: int) -> None:
    for i, channel in enumerate(channels(seed, 30)):
        _attack(channel, 1 + i % 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_channels(seed: int) -> None:
    for i, channel in enumerate(channels(seed, 100)):
        _attack(channel, 2 + i % 3)


@pytest.mark.parametrize("big", [2, 3, 10, 100])
@pytest.mark.parametrize("spectators", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_randomized_response(big: int, spectators: int, n: int) -> None:
    """Nearly tight, hence the most dangerous channels."""
    channel = response_with_spectator(big, spectators)
    assert local_ratio(channel) == big
    _attack(channel, n)


@pytest.mark.parametrize("big", [2, 9])
@pytest.mark.parametrize("spectators", [0, 1, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_variation_ratio(big: int, spectators: int, n: int) -> None:
    """Above every data set, and the law that its statement names: kinds (p, 1), (1, p), (1, 1)."""
    curve = get_bound("variation-ratio").curve(KRR(2 + spectators, eps0=math.log(big)), n)
    alpha = 1.0 / (big + 1 + spectators)  # TV / (p - 1)
    alike = (1.0 - alpha * (big + 1.0)) / big
    for share in SHARES:
        e, epsilon = _threshold(math.log(big), share)
        found = curve.delta(epsilon)
        leaked = worst_delta(response_with_spectator(big, spectators), n, e)
        assert found >= float(leaked) * (1.0 - 1e-12)
        values = [big - float(e), 1.0 - float(e) * big, big * (1.0 - float(e)), 0.0]
        exact = float(rational(values, [alpha, alpha, alike, 1.0 - 2.0 * alpha - alike], n))
        assert exact * (1.0 - 1e-9) <= found <= exact * (1.0 + 1e-3)


@pytest.mark.parametrize("big", [2, 7, 50])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("e", [Fraction(1), Fraction(5, 4), Fraction(19, 10)])
def test_named_data_sets_in_fractions(big: int, n: int, e: Fraction) -> None:
    """2-RR and 3-RR: the lower bounds are these very data sets."""
    eps0, epsilon = math.log(big), math.log(e)
    two = response_with_spectator(big, 0)
    both = [shuffled_law(two, (x, *(1,) * (n - 1))) for x in (0, 1)]
    exact = max(hockey_stick(both[0], both[1], e), hockey_stick(both[1], both[0], e))
    found = get_bound("dataset-2rr").curve(LDP(eps0), n).delta(epsilon)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=0.0)
    three = response_with_spectator(big, 1)
    both = [shuffled_law(three, (x, *(2,) * (n - 1))) for x in (0, 1)]
    exact = hockey_stick(both[0], both[1], e)
    assert exact == hockey_stick(both[1], both[0], e)
    found = get_bound("dataset-3rr").curve(LDP(eps0), n).delta(epsilon)
    assert found == pytest.approx(float(exact), rel=1e-9, abs=0.0)


@pytest.mark.parametrize("eps0", [1e-4, 0.1, 1.0, 4.0, 10.0, 20.0])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("share", SHARES)
def test_named_data_sets_in_balls(eps0: float, n: int, share: float) -> None:
    epsilon = share * eps0
    first, second = datasets.randomized_response(2, eps0)
    leaves = datasets.delta(first, second, second, n, epsilon)
    joins = datasets.delta(second, first, second, n, epsilon)
    exact = leaves if leaves > joins else joins
    found = get_bound("dataset-2rr").curve(LDP(eps0), n).enclose(epsilon)
    assert contains(found.lower, found.upper, exact)
    assert off(found.lower, exact) <= 1e-9
    first, second, third = datasets.randomized_response(3, eps0)
    exact = datasets.delta(first, second, third, n, epsilon)
    found = get_bound("dataset-3rr").curve(LDP(eps0), n).enclose(epsilon)
    assert contains(found.lower, found.upper, exact)
    assert off(found.lower, exact) <= 1e-9


APPROXIMATE = ("stronger-clones-approximate", "feldman-2021-approximate")


def _attack_approximate(channel: Channel, n: int, ratios: tuple[Fraction, ...]) -> int:
    """How many (ratio, e) were tried with a delta0 strictly between 0 and 1."""
    tried = 0
    for ratio in ratios:
        delta0 = local_delta(channel, ratio)
        if not 0 < delta0 < 1:
            continue
        randomizer = LDP(_above(ratio), float(delta0) * (1.0 + 1e-15))
        for share in (*SHARES, 1.2):
            e, epsilon = _threshold(randomizer.eps0, share)
            leaked = worst_delta(channel, n, e)
            for name in APPROXIMATE:
                bound = get_bound(name).curve(randomizer, n).delta(epsilon)
                assert Fraction(bound) >= leaked, (name, channel, n, ratio, e)
            tried += 1
    return tried


RATIOS = (Fraction(6, 5), Fraction(2), Fraction(5), Fraction(40))


@pytest.mark.parametrize("seed", range(4))
def test_random_approximate_channels(seed: int) -> None:
    tried = sum(
        _attack_approximate(channel, 1 + i % 3, RATIOS)
        for i, channel in enumerate(channels(1000 + seed, 40, zeros=True))
    )
    assert tried > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_random_approximate_channels(seed: int) -> None:
    for i, channel in enumerate(channels(2000 + seed, 100, zeros=True)):
        _attack_approximate(channel, 1 + i % 3, RATIOS)


@pytest.mark.parametrize("big", [Fraction(3, 2), Fraction(4), Fraction(100)])
@pytest.mark.parametrize("delta0", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 3)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_extreme_approximate_channels(big: Fraction, delta0: Fraction, n: int) -> None:
    """The extreme (eps0, delta0) mechanism: reveal with probability delta0, else respond."""
    for spectators in (0, 1):
        k = 2 + spectators
        rest = 1 - delta0
        channel = tuple(
            tuple(delta0 if x == z else Fraction(0) for z in range(k))
            + tuple(rest * (big if x == z else 1) / (big + k - 1) for z in range(k))
            for x in range(k)
        )
        assert local_delta(channel, big) == delta0
        _attack_approximate(channel, n, (big,))


@pytest.mark.parametrize("big", [Fraction(3, 2), Fraction(4), Fraction(100)])
@pytest.mark.parametrize("n", [2, 3])
def test_others_that_hide_less_than_pure_ones(big: Fraction, n: int) -> None:
    """A third value whose reports avoid the victim's symbols as far as delta0 allows."""
    for keep in (Fraction(0), Fraction(1, 2), Fraction(9, 10)):
        unit = 1 / (big + 2)
        third = (keep * unit, keep * unit, 1 - 2 * keep * unit)
        channel = (
            (big * unit, unit, unit),
            (unit, big * unit, unit),
            third,
        )
        assert _attack_approximate(channel, n, (big,)) > 0
