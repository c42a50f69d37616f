"""Swap bounds where users differ: drawn or not, budgets of their own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    ChannelFamily,
    CheckIn,
    KRRFamily,
    LaplaceFamily,
    Personalized,
    RegimeError,
    Shuffled,
    Subsampled,
)
from shuffledp.accounting.bounds import swap
from shuffledp.accounting.randomizers.swaps import any_randomizer, class_swap, response_swap
from shuffledp.numerics import several_laws
from shuffledp.numerics.several_laws import SeveralLaws
from tests.oracles.swap import class_deltas, drawn_deltas

TINY = 1.0 + 1e-9
"""The oracles' own rounding."""


def _channel(rng: np.random.Generator, inputs: int, outputs: int, spread: float):
    rows = np.exp(spread * rng.uniform(-1.0, 1.0, (inputs, outputs)))
    return rows / rows.sum(axis=1, keepdims=True)


def _response(k: int, eps0: float):
    return np.where(np.eye(k) > 0.0, math.exp(eps0), 1.0) / (math.exp(eps0) + k - 1.0)


@pytest.mark.parametrize(
    ("seed", "inputs", "n", "drawn"),
    [(0, 2, 24, 1), (1, 2, 22, 2), (2, 2, 20, 10), (3, 3, 10, 5), (4, 3, 10, 9), (5, 2, 14, 14)],
)
def test_above_all_data_sets_of_drawn_users(seed: int, inputs: int, n: int, drawn: int) -> None:
    rows = _channel(np.random.default_rng(seed), inputs, 2 + seed % 2, [0.1, 0.3, 0.6][seed % 3])
    eps0 = Channel(rows).eps0
    epsilons = [0.0, 0.02 * eps0, 0.2 * eps0]
    truth = drawn_deltas(rows, n, drawn, epsilons)
    for randomizer in (Channel(rows), LDP(eps0)):
        protocol = Shuffled(Subsampled(randomizer, drawn), n)
        for epsilon, delta in zip(epsilons, truth, strict=True):
            assert protocol.bound("swap-drawn", epsilon=epsilon).value * TINY >= delta


@pytest.mark.parametrize(
    ("randomizer", "n", "drawn", "most"),
    [
        (LDP(1.0), 10**5, 10**4, 1.005),
        (BinaryRR(eps0=2.0), 10**5, 1000, 1.02),
        (BinaryRR(eps0=2.0), 10**5, 90_000, 1.002),
        (CheckIn(LDP(2.0), 0.5), 10**5, 50_000, 1.01),
        (LDP(1.0), 1000, 100, 1.02),
    ],
)
def test_drawn_users_leak_what_is_proven(randomizer, n: int, drawn: int, most: float) -> None:
    """Tight: what breaks an inequality by a percent falls below the leaked end."""
    found = Shuffled(Subsampled(randomizer, drawn), n).epsilon(1e-6)
    assert found.theorem == "swap-drawn"
    assert found.upper <= most * found.lower


def test_everybody_drawn_is_nobody_drawn() -> None:
    everybody = Shuffled(Subsampled(KRR(4, eps0=1.0), 500), 500).bound("swap-drawn", epsilon=0.1)
    assert everybody.value == Shuffled(KRR(4, eps0=1.0), 500).bound("swap", epsilon=0.1).value


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [
        (Subsampled(LDP(1.0, sequential=True), 50), 100),
        (Subsampled(LDP(1.0, 1e-9), 50), 100),
        (Subsampled(LDP(31.0), 50), 100),
        (Subsampled(LDP(1.0), 5), 9),
        (LDP(1.0), 100),
    ],
)
def test_drawn_users_outside_the_regime(randomizer, n: int) -> None:
    with pytest.raises(RegimeError, match="swap-drawn"):
        Shuffled(randomizer, n).bound("swap-drawn", epsilon=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_above_all_data_sets_of_several_channels(seed: int) -> None:
    rng = np.random.default_rng(40 + seed)
    spread = [0.1, 0.4, 0.8][seed % 3]
    channels = [_channel(rng, 2, 2 + seed % 2, spread * share) for share in (0.3, 1.0)]
    counts = [(2, 9), (9, 2), (5, 6)][seed % 3]
    for own in (0, 1):
        eps0 = Channel(channels[own]).eps0
        epsilons = [0.0, 0.05 * eps0, 0.3 * eps0]
        truth = class_deltas(channels[own], list(zip(channels, counts, strict=True)), epsilons)
        users = tuple(count + (k == own) for k, count in enumerate(counts))
        curve = swap.swap_curve([class_swap(channels, own, 0, 1)], users, eps0)
        for epsilon, delta in zip(epsilons, truth, strict=True):
            assert curve.delta(epsilon) * TINY >= delta


@pytest.mark.parametrize(
    ("k", "counts"), [(2, {0.3: 9, 1.0: 7}), (3, {0.2: 5, 0.7: 5}), (4, {0.3: 5, 0.8: 5})]
)
def test_above_all_data_sets_of_unequal_response(k: int, counts: dict[float, int]) -> None:
    protocol = Personalized(KRRFamily(k), counts, budgets_visible=False)
    budgets = list(counts)
    for own, eps0 in enumerate(budgets):
        epsilons = [0.0, 0.05 * eps0, 0.3 * eps0]
        others = [(_response(k, b), counts[b] - (b == eps0)) for b in budgets]
        truth = class_deltas(_response(k, eps0), others, epsilons)
        curve = protocol._swapped(own, own)
        for epsilon, delta in zip(epsilons, truth, strict=True):
            assert curve.delta(epsilon) * TINY >= delta


@pytest.mark.parametrize(
    ("counts", "most"),
    [({0.5: 400, 1.0: 400, 2.0: 200}, 1.005), ({0.5: 40_000, 1.0: 40_000, 4.0: 20_000}, 1.003)],
)
def test_users_of_own_budgets_leak_what_is_proven(counts, most: float) -> None:
    found = Personalized(KRRFamily(2), counts, budgets_visible=False).guarantees(delta=1e-5)
    for each in found.classes:
        assert each.interval.theorem == "swap-personal"
        assert each.applies == "amplified"
        assert each.interval.upper <= most * each.interval.lower


def test_visible_budgets_hide_among_equals() -> None:
    """Whatever the mechanism, a class is a collection of its own."""
    for family, one in ((KRRFamily(2), KRR(2, eps0=1.0)), (LaplaceFamily(), None)):
        found = Personalized(family, {1.0: 1000, 2.0: 300}, budgets_visible=True)
        each = found.guarantees(delta=1e-6).classes[0].interval
        assert each.theorem == "swap-personal"
        assert each.upper <= 1.05 * each.lower
        if one is not None:
            same = Shuffled(one, 1000).bound("swap", delta=1e-6).value
            assert each.upper == pytest.approx(same, rel=1e-6, abs=0.0)


def test_who_is_gone_was_helpful() -> None:
    """Of unequal response users those of small budgets help most: without them it is worse."""
    whole = {0.5: 600, 1.0: 400, 2.0: 200}
    for own, budget in enumerate(whole):
        fewer = Personalized(KRRFamily(2), whole, budgets_visible=False, colluders=300)
        claimed = fewer._swapped(own, own).delta(0.15)
        for gone in whole:
            if gone != budget and whole[gone] >= 300:
                left = {b: c - 300 * (b == gone) for b, c in whole.items()}
                rest = Personalized(KRRFamily(2), left, budgets_visible=False)
                assert claimed * TINY >= rest._swapped(own, own).delta(0.15)


def test_nobody_knows_which_channel_helps_most() -> None:
    def matrix(eps0: float):
        return _response(3, eps0)

    alike = Personalized(ChannelFamily(matrix), {0.5: 60, 1.0: 60}, budgets_visible=False)
    named = Personalized(KRRFamily(3), {0.5: 60, 1.0: 60}, budgets_visible=False)
    for own in (0, 1):
        one, two = alike._swapped(own, own).delta(0.1), named._swapped(own, own).delta(0.1)
        assert one == pytest.approx(two, rel=0.02, abs=0.0)
    fewer = Personalized(
        ChannelFamily(matrix), {0.5: 60, 1.0: 60}, budgets_visible=False, colluders=5
    )
    rest = Personalized(ChannelFamily(matrix), {0.5: 55, 1.0: 55}, budgets_visible=False)
    assert fewer._swapped(0, 0).delta(0.1) == rest._swapped(0, 0).delta(0.1)


def test_many_budgets_are_rounded_up() -> None:
    """Neighbouring budgets together leak no less than each for itself, and little more."""
    budgets = np.geomspace(0.5, 1.5, 60)
    apart = {float(b): 50 for b in budgets}
    found = Personalized(KRRFamily(2), apart, budgets_visible=False)
    strengths, counts = found._strengths, found._counts.copy()
    counts[-1] -= 1
    users = tuple(int(c) for c in found._counts)
    exact = swap.swap_curve([response_swap(2, list(map(float, strengths)), 59)], users, 1.5)
    rounded = found._swapped(59, 59)
    assert exact.delta(0.1) <= rounded.delta(0.1) <= 2.0 * exact.delta(0.1)


def test_a_third_value_is_the_partners_own_or_not() -> None:
    for k, both in ((3, False), (4, True)):
        pair = response_swap(k, [0.5, 1.0], 0)
        levels = {(law, low) for law, low, _ in pair.arrivals[0][2].partners}
        assert (len([1 for law, _ in levels if law == 2]) == 2) == both
        for law in pair.laws:
            assert float(law.mass @ law.swap) == pytest.approx(law.weight, rel=1e-12, abs=0.0)
            assert float(law.mass @ law.first) == pytest.approx(law.weight, rel=1e-12, abs=0.0)


def test_deviations_of_weighted_sums() -> None:
    """Against the exact tails of a sum of two kinds of two-valued g."""
    pair = response_swap(2, [0.4, 1.5], 1)
    others = [(30, pair.of_class(0)[:1]), (20, pair.of_class(1)[:1])]
    sums, masses = np.zeros(1), np.ones(1)
    for m, (law,) in others:
        for _ in range(m):
            sums = np.add.outer(sums, law.swap).ravel()
            masses = np.multiply.outer(masses, law.mass).ravel()
            keys, at = np.unique(np.round(sums, 9), return_inverse=True)
            sums, masses = keys, np.bincount(at, weights=masses)
    mean = sum(m * law.weight for m, (law,) in others)
    for chance, sign in itertools.product((1e-2, 1e-5), (-1.0, 1.0)):
        away = swap.deviation(others, math.log(chance), sign)
        assert masses[sign * (sums - mean) > away].sum() <= chance


@pytest.mark.parametrize("seed", range(5))
def test_the_chord_lies_above_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, 3).astype(float)
    left, right = rng.uniform(-0.6, 0.0, (2, 3, 50))
    ends = np.exp(several_laws._ends(left, right, counts))
    for share in np.linspace(0.0, 1.0, 11):
        linear = 1.0 + (1.0 - share) * left + share * right
        product = np.exp(0.5 * counts @ np.log(linear))
        assert (product <= ((1.0 - share) * ends[0] + share * ends[1]) * TINY).all()


def test_above_sums_over_two_classes() -> None:
    """Every choice of laws of every user, by enumeration."""
    rng = np.random.default_rng(8)
    weights = rng.dirichlet(np.ones(2), 4)
    values = np.array([[-1.0, 0.7], [-0.9, 1.0], [-0.3, 0.2], [-0.1, 0.3]])
    decays = rng.uniform(0.0, 1.0, (4, 2))
    laws = SeveralLaws(weights, values, decays, 1e-15, (0, 2))
    first, chance = np.array([-0.5, 0.8]), np.array([0.4, 0.6])
    for lam, counts in itertools.product((0.0, 0.3), ((2, 3), (1, 4), (3, 1))):
        worst = 0.0
        for rows in itertools.product(*([(0, 1)] * counts[0] + [(2, 3)] * counts[1])):
            sums, masses = first, chance
            for x in rows:
                sums = np.add.outer(sums, values[x]).ravel()
                masses = np.multiply.outer(masses, weights[x] * np.exp(-lam * decays[x])).ravel()
            worst = max(worst, float(masses @ np.maximum(sums, 0.0)))
        log, _ = laws.log_excess(counts, lam, first, chance, 2e-3)
        assert worst <= math.exp(log) <= 2.5 * worst


def test_a_randomizer_of_one_class_names_no_class() -> None:
    pair = any_randomizer(1.0)
    assert pair.of_class(0) == pair.laws
    drawn = pair.drawn(0.25)
    assert drawn.of_class(0) == pair.laws
    assert [kind.slot for kind in drawn.arrivals[0]] == [0, 1]
    masses = math.fsum(float(kind.mass.sum()) for kind in drawn.arrivals[0])
    assert masses == pytest.approx(1.0, rel=1e-14, abs=0.0)
    low, high = drawn.arrivals[0][0].partners[-1][1:]
    assert low < 1.0 < high
