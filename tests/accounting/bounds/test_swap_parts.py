"""The parts of the swap bound one by one: each is on the safe side, and no farther than it must be."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    CheckIn,
    Laplace,
    Piecewise,
    RegimeError,
    Shuffled,
    optimised_unary,
)
from shuffledp.accounting.bounds import swap
from shuffledp.accounting.bounds.swap_laplace import alone
from shuffledp.accounting.randomizers.swaps import Arrival, any_randomizer, padded


@pytest.mark.parametrize(
    ("randomizer", "theorem", "n"),
    [
        (LDP(0.9e-4), "swap-ldp", 1000),
        (BinaryRR(eps0=1.0), "swap", 9),
        (BinaryRR(eps0=31.0), "swap", 1000),
        (CheckIn(LDP(1.0), 0.9e-6), "swap-ldp", 1000),
        (CheckIn(Laplace(eps0=1.0), 0.9e-3), "swap-laplace", 1000),
        (Laplace(eps0=0.009), "swap-laplace", 1000),
    ],
    ids=str,
)
def test_just_outside_its_regime(randomizer, theorem: str, n: int) -> None:
    with pytest.raises(RegimeError, match=theorem):
        Shuffled(randomizer, n).bound(theorem, epsilon=0.1)


@pytest.mark.parametrize(("low", "high"), [(30.0, 300.0), (950.0, 1050.0)])
def test_moved_gains_are_the_largest_in_the_window(low: float, high: float) -> None:
    """V / (1 + (g at the arrival - g) / T) for every T, and every g the arrival may have."""
    rng = np.random.default_rng(7)
    pair = any_randomizer(1.5)
    values = [rng.normal(size=x.mass.size) for x in pair.laws]
    partners = tuple((i, 0.4, 2.5) for i in range(len(pair.laws)))
    kind = Arrival(np.ones(1), np.ones(1), np.ones(1), partners)
    (places,) = swap._places(replace(pair, arrivals=((kind,),)), (100,))
    assert places.starts == (0,)
    assert places.users.tolist() == [[99.0]]
    found = swap._moved_laws(pair, places, padded(values), (low, high))
    windows = np.linspace(low, high, 101)[:, None]
    for i, (x, v) in enumerate(zip(pair.laws, values, strict=True)):
        k = v.size
        true = np.stack([v / (1.0 + (g - x.swap) / windows) for g in (0.4, 1.0, 2.5)])
        largest = true.max(axis=(0, 1))
        assert (found.values[i, :k] >= largest).all()
        assert found.values[i, :k] == pytest.approx(largest, rel=1e-12, abs=0.0)
        assert found.weights[i, :k].tolist() == x.mass.tolist()
        assert not found.weights[i, k:].any()
        assert (found.decays[i, :k] <= x.swap).all()
        assert found.decays[i, :k] == pytest.approx(x.swap, rel=1e-12, abs=0.0)


def test_no_users_are_forgotten() -> None:
    """Each class of others has a column of its own, and laws."""
    pair = any_randomizer(1.0).drawn(0.25)
    (places,) = swap._places(pair, (5, 15))
    slots = [kind.slot for kinds in pair.arrivals for kind in kinds]
    for slot, users in zip(slots, places.users, strict=True):
        assert sorted(users[users > 0.0]) == [5.0 - (slot == 0), 15.0 - (slot == 1)]
    assert (places.users > 0.0).sum(axis=0).tolist() == [1] * len(places.starts)
    some = tuple(
        tuple(replace(kind, partners=kind.partners[:-1]) for kind in kinds)
        for kinds in pair.arrivals
    )
    with pytest.raises(ValueError, match="class 1 without a law"):
        swap._places(replace(pair, arrivals=some), (5, 15))


def test_kinds_taken_at_once_are_those_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    (pair,) = Channel([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]).swaps()[:1]
    together = swap.swap_delta(pair, (50,), 0.1, 2e-3)
    monkeypatch.setattr(swap, "_ENTRIES", 1)
    swap._places.cache_clear()
    assert len(swap._places(pair, (50,))) == 3
    apart = swap.swap_delta(pair, (50,), 0.1, 2e-3)
    swap._places.cache_clear()
    assert apart == pytest.approx(together, rel=1e-3, abs=0.0)


def test_gains_are_rounded_up() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.uniform(0.1, 5.0, (2, 200))
    e = math.exp(0.37)
    found = swap.gain(first, second, e, 0.0)
    for a, b, gain in zip(first.tolist(), second.tolist(), found.tolist(), strict=True):
        assert Fraction(gain) >= Fraction(a) - Fraction(e) * Fraction(b)
        assert gain == pytest.approx(a - e * b, rel=1e-12, abs=1e-14)
    off = swap.gain(first, second, e, 1e-3)
    assert (off >= first * 1.001 - e * second * 0.999 - 1e-14).all()


def test_sums_of_swaps_leave_their_window_as_rarely_as_is_said() -> None:
    """Chernoff's bound itself, at the best of many tilts: no less, and hardly more."""
    laws = any_randomizer(1.0).laws
    m, log_chance = 400, math.log(1e-7)
    for sign in (-1.0, 1.0):
        away = swap.deviation([(m, laws)], log_chance, sign)
        best = math.inf
        for tilt in np.geomspace(1e-3, 3.0, 2000):
            growth = max(
                math.log(float(np.exp(sign * tilt * (x.swap - 1.0)) @ x.mass)) for x in laws
            )
            best = min(best, (m * growth - log_chance) / tilt)
        assert best * (1.0 - 1e-9) <= away <= 1.02 * best


RANDOMIZERS = [
    LDP(1.0),
    BinaryRR(eps0=0.5),
    KRR(5, eps0=2.0),
    optimised_unary(4, 1.0),
    Piecewise(eps0=1.5),
    Channel([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]),
]


@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=str)
def test_masses_and_ratios_fit_each_other(randomizer, rate: float) -> None:
    """Laws sum to 1 and so do a, b and rho, as ratios to them; each ratio is met by an arrival."""
    pairs = (CheckIn(randomizer, rate) if rate < 1.0 else randomizer).swaps()
    assert pairs
    for pair in [*pairs, *(each.reversed() for each in pairs)]:
        everywhere = np.concatenate([x.swap for x in pair.laws])  # where laws are mixtures of ours
        for x in pair.laws:
            assert x.mass.sum() == pytest.approx(1.0)
            for ratio in (x.first, x.second, x.swap):
                assert x.mass @ ratio == pytest.approx(1.0)
        for kinds in pair.arrivals:
            for name in ("mass", "first", "second"):
                sums = [
                    kind.mass.sum() if name == "mass" else kind.mass @ getattr(kind, name)
                    for kind in kinds
                ]
                assert sum(sums) == pytest.approx(1.0)
            for law, low, high in (each for kind in kinds for each in kind.partners):
                swaps = everywhere if isinstance(randomizer, LDP) else pair.laws[law].swap
                assert low <= high
                assert swaps.min() * (1.0 - 1e-12) <= low
                assert high <= swaps.max() * (1.0 + 1e-12)
        together = pair.merged
        for kinds, (one,) in zip(pair.arrivals, together.arrivals, strict=True):
            assert one.mass.sum() == pytest.approx(1.0)
            ranges = {law: (low, high) for law, low, high in one.partners}
            for law, low, high in (each for kind in kinds for each in kind.partners):
                assert ranges[law][0] <= low
                assert high <= ranges[law][1]


def test_the_values_exchanged_are_the_other_order() -> None:
    (pair,) = Channel([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]).swaps()[:1]
    back = pair.reversed()
    for x, y in zip(pair.laws, back.laws, strict=True):
        assert x.first.tolist() == y.second.tolist()
        assert x.second.tolist() == y.first.tolist()
    for kinds, others in zip(pair.arrivals, back.arrivals, strict=True):
        for one, other in zip(kinds, others, strict=True):
            assert one.first.tolist() == other.second.tolist()
            assert one.second.tolist() == other.first.tolist()


@pytest.mark.parametrize(("eps0", "levels", "steps"), [(1.0, 20, 19), (1.0, 20, 3), (0.2, 4, 4)])
def test_one_report_on_a_grid_tells_more_than_between(eps0: float, levels: int, steps: int) -> None:
    """By all outcomes: what is claimed of one report alone holds, and Laplace noise would not do."""
    ratio = eps0 / levels
    places = np.arange(-60 * levels, 60 * levels)
    first, second = (np.tanh(0.5 * ratio) * np.exp(-ratio * np.abs(places - x)) for x in (0, steps))
    largest = ratio * steps
    missed = 0
    for epsilon in np.linspace(0.0, 0.999 * largest, 40).tolist():
        truth = float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())
        assert truth <= alone(eps0, steps / levels, epsilon, 1.0 / levels) <= 1.06 * truth
        missed += truth > alone(eps0, steps / levels, epsilon)
    assert missed
    assert alone(eps0, steps / levels, 1.001 * largest, 1.0 / levels) == 0.0
