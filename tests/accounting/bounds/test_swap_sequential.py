"""The swap bound of data that are shuffled and then visited in order."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import LDP, CheckIn, RegimeError, Shuffled, Subsampled
from shuffledp.accounting.bounds import swap, swap_sequential
from shuffledp.accounting.randomizers.swaps import any_randomizer
from tests.oracles.swap import excess_in_order, ordered_deltas

TINY = 1.0 + 1e-5
"""The oracles' own error."""


def _step(eps0: float, n: int, depth: float):
    pair = any_randomizer(eps0)
    power = max(float(x.mass @ (x.first - x.second) ** 2) for x in pair.laws)
    e = math.exp(depth * math.sqrt(power / n))
    steps = swap_sequential._steps(pair, e, 0.9 * n, 1.1 * n)
    apart = pair.arrivals[0][0]
    return steps, swap.gain(apart.first, apart.second, e, pair.precision), apart.mass


@pytest.mark.parametrize(
    ("eps0", "m", "depth", "place"),
    [
        (0.1, 60, 1.0, 0),
        (0.5, 80, 2.0, 80),
        (0.7, 60, 3.0, 30),
        (1.0, 80, 2.0, 7),
        (2.0, 100, 1.0, 99),
    ],
)
def test_above_every_way_to_depend_on_what_came_before(
    eps0: float, m: int, depth: float, place: int
) -> None:
    steps, own, chance = _step(eps0, m + 1, depth)
    lam = 1.0 / m
    laws = [(steps.mass[i], steps.value[i], steps.swap[i]) for i in range(6)]
    worst = excess_in_order(laws, m, lam, (chance, own), place)
    claimed = math.exp(swap_sequential._log_excess(steps, m, lam, own, chance, 2e-3))
    assert worst <= claimed * TINY <= 2.0 * worst


@pytest.mark.parametrize(
    ("lam", "ratio", "most"), [(0.02, 1.05, 12.0), (1.0, 3.0, 4.0), (2.0, 3.0, 4.0)]
)
def test_the_sum_of_dominating_steps(monkeypatch, lam: float, ratio: float, most: float) -> None:
    """Three steps and the smoothing, by enumeration: each factor of the answer is in it."""
    monkeypatch.setattr(swap_sequential, "_RATES", (ratio,))
    made = []
    found = swap_sequential._Smoothed.dominating

    def kept(self):
        made.append((self, found(self)))
        return made[-1][1]

    monkeypatch.setattr(swap_sequential._Smoothed, "dominating", kept)
    steps, own, chance = _step(1.0, 12, 0.5)
    claimed = math.exp(swap_sequential._log_excess(steps, 3, lam, own, chance, 2e-3))
    smoothed, law = made[-1]
    weight = (law.mix[:, None] * steps.mass * np.exp(-lam * steps.swap)).ravel()
    sums, masses = own, chance
    for _ in range(3):
        sums = np.add.outer(sums, steps.value.ravel() + law.shift).ravel()
        masses = np.multiply.outer(masses, (1.0 + law.factor) * weight).ravel()
    exact = float(masses @ _smoothed(sums, smoothed.omega))
    assert exact <= claimed <= most * exact


@pytest.mark.parametrize("eps0", [0.5, 1.0, 3.0])
def test_each_part_of_the_dominating_law_is_needed(monkeypatch, eps0: float) -> None:
    steps, _, _ = _step(eps0, 1000, 3.0)
    smoothed = swap_sequential._Smoothed(steps, 1e-3, 0.2 / float(np.abs(steps.value).max()))
    made = smoothed.dominating()
    assert made is not None
    assert smoothed._above_on_the_right(made)
    assert not smoothed._above_on_the_right(replace(made, factor=0.0))
    assert not smoothed._above_on_the_right(replace(made, shift=0.0))
    monkeypatch.setattr(swap_sequential._Smoothed, "_above_on_the_right", lambda *_: False)
    assert smoothed.dominating() is None
    step = 2.0 * smoothed.reach / swap_sequential._CELLS
    assert smoothed.slack >= 0.5 * smoothed.omega * step**2 / 8.0


@pytest.mark.parametrize("seed", range(6))
def test_above_random_mechanisms_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    eps0, n = [0.1, 0.3][seed % 2], 10
    epsilons = [0.0, 0.1 * eps0, 0.3 * eps0]
    truth = ordered_deltas(rng, eps0, n, 3 * (seed // 2), epsilons)
    for epsilon, delta in zip(epsilons, truth, strict=True):
        assert swap_sequential.sequential_delta(eps0, n, epsilon, 2e-3) * TINY >= delta


@pytest.mark.parametrize(
    ("eps0", "n", "apart"),
    [(0.5, 10**5, 1.02), (1.0, 10**4, 1.01), (1.0, 10**6, 1.005), (2.0, 10**5, 1.01)],
)
def test_order_costs_little(eps0: float, n: int, apart: float) -> None:
    """Above what reports of one's own leak, near their bound, below the clones."""
    free, ordered = Shuffled(LDP(eps0), n), Shuffled(LDP(eps0, sequential=True), n)
    claimed = ordered.bound("swap-sequential", delta=1e-6).value
    assert free.bound("dataset-3rr", delta=1e-6).value <= claimed
    assert claimed <= apart * free.bound("swap-ldp", delta=1e-6).value
    found = ordered.epsilon(1e-6)
    assert found.theorem == "swap-sequential"
    assert found.upper == claimed
    assert claimed < 0.97 * ordered.bound("stronger-clones", delta=1e-6).value


@pytest.mark.parametrize("n", [10, 10**4, 10**12])
@pytest.mark.parametrize("eps0", [0.01, 0.7, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_never_below_what_is_leaked(n: int, eps0: float, delta: float) -> None:
    found = Shuffled(LDP(eps0, sequential=True), n).epsilon(delta)
    claimed = Shuffled(LDP(eps0), n).bound("swap-sequential", delta=delta).value
    assert found.lower <= found.upper <= claimed


@pytest.mark.parametrize("eps0", [0.05, 0.5, 0.69, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("steep", [0.001, 0.03, 0.5, 2.0])
def test_one_law_dominates_every_step(eps0: float, steep: float) -> None:
    """At places between and beyond those that were looked at, in plain floating point."""
    n = 10**4
    steps, _, _ = _step(eps0, n, 3.0)
    omega, lam = steep / float(np.abs(steps.value).max()), 1.0 / n
    made = swap_sequential._Smoothed(steps, lam, omega).dominating()
    assert made is not None
    assert made.mix.sum() == pytest.approx(1.0, rel=1e-12, abs=0.0)
    reach = float(np.abs(steps.value).max())
    for s in np.concatenate([np.linspace(-3.0, 3.0, 1501) * reach, [-40.0 / omega, 40.0 / omega]]):
        f = _smoothed(s + steps.value, omega)
        rows = (steps.mass * np.exp(-lam * steps.swap) * f).sum(axis=1)
        f = _smoothed(s + made.shift + steps.value, omega)
        wide = (1.0 + made.factor) * (steps.mass * np.exp(-lam * steps.swap) * f).sum(axis=1)
        assert float(rows[:6].max()) <= float(made.mix @ wide) * (1.0 + 1e-13)


def _smoothed(u, omega: float):
    """E(u + N)+, N Laplace noise of this rate."""
    return np.maximum(u, 0.0) + np.exp(-omega * np.abs(u)) / (2.0 * omega)


def test_the_bend_is_accurate() -> None:
    for y in (1e-7, 1e-3, 0.00999, 0.01001, 0.3, 5.0):
        exact = math.fsum((-y) ** k / math.factorial(k) for k in range(2, 60))
        found = float(swap_sequential._bend(np.array([y]), 1.0)[0])
        assert found == pytest.approx(0.5 * exact, rel=1e-12, abs=0.0)


def test_checked_in_or_not_order_is_not_forgotten() -> None:
    ordered = CheckIn(LDP(1.0, sequential=True), 0.5)
    with pytest.raises(RegimeError, match="swap-ldp"):
        Shuffled(ordered, 10**4).bound("swap-ldp", delta=1e-6)
    alone = Shuffled(LDP(1.0, sequential=True), 10**4).bound("swap-sequential", delta=1e-6)
    assert Shuffled(ordered, 10**4).bound("swap-sequential", delta=1e-6).value == alone.value


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [
        (LDP(31.0, sequential=True), 100),
        (LDP(1.0, sequential=True), 9),
        (LDP(1.0, 1e-9), 1000),
        (Subsampled(LDP(1.0, sequential=True), 50), 100),
    ],
)
def test_refuses_outside_its_regime(randomizer, n: int) -> None:
    with pytest.raises(RegimeError, match="swap-sequential"):
        Shuffled(randomizer, n).bound("swap-sequential", delta=1e-6)
