"""Check-in at any rate, and masses of any size, against every data set of a few users."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from flint import arb

from shuffledp import (
    KRR,
    LDP,
    Channel,
    CheckIn,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    Piecewise,
    Shuffled,
    SubsetSelection,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.discrete_gaussian import DiscreteGaussian
from shuffledp.accounting.randomizers.piecewise import DiscretePiecewise
from tests.oracles import all_data_sets as oracle

Case = tuple[Randomizer, oracle.Rows]


def between(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


@oracle.precisely
def mechanism(kind: str, eps0: float) -> Case:
    if kind == "rappor":
        unary = rappor(2, eps0)
        return unary, oracle.unary(2, unary.lose, unary.flip)
    if kind == "optimised unary":
        unary = optimised_unary(2, eps0)
        return unary, oracle.unary(2, unary.lose, unary.flip)
    if kind == "discrete Laplace":
        eps0 = min(eps0, 99.0)
        return DiscreteLaplace(2, eps0=eps0), oracle.discrete_laplace(2, eps0)
    if kind == "subsets":
        return SubsetSelection(4, 2, eps0=eps0), oracle.subsets(4, 2, eps0)
    if kind == "any":
        return LDP(eps0), oracle.response(3, eps0)
    return KRR(int(kind), eps0=eps0), oracle.response(int(kind), eps0)


KINDS = ["2", "3", "4", "rappor", "optimised unary", "discrete Laplace", "subsets", "any"]


def holds(case: Case, rate: float, n: int, epsilon: float) -> None:
    """Both ends of the answer and of the band around what the worst data set leaks."""
    randomizer, rows = case
    truth = oracle.worst_delta(rows, rate, n, epsilon)
    protocol = Shuffled(CheckIn(randomizer, rate), n)
    found = protocol.delta(epsilon)
    lows, highs = protocol.band(epsilon=[epsilon])
    what = (str(randomizer), randomizer.eps0.hex(), rate, n, epsilon, found, truth)
    assert arb(min(found.upper, highs[0])) >= truth.lower(), what
    assert found.upper > 0.0 or truth == 0, what
    assert lows[0] <= highs[0], what
    if not isinstance(randomizer, LDP):  # whose worst member may be another one
        assert arb(max(found.lower, lows[0])) <= truth.upper(), what


def attack(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        eps0 = between(rng, *rng.choice([(1e-9, 1e-3), (1e-3, 5.0), (5.0, 60.0), (20.0, 299.0)]))
        tiny = between(rng, *rng.choice([(1e-300, 1e-200), (1e-30, 1e-10), (1e-20, 1e-5)]))
        rate = rng.choice([tiny, tiny, between(rng, 1e-6, 1.0), 1.0 - between(rng, 1e-16, 1e-3)])
        share = rng.choice([0.0, rng.random(), rng.random(), 1.0 - between(rng, 1e-16, 1e-2), 1.01])
        kind = rng.choice(KINDS)
        n = rng.choice([1, 2, 3]) if kind in "23" else rng.choice([1, 2])
        case = mechanism(kind, eps0)
        epsilon = rng.choice([share * case[0].eps0, share * case[0].eps0, tiny])
        holds(case, rate, n, epsilon)


@pytest.mark.parametrize("seed", range(4))
def test_every_data_set_at_any_rate(seed: int) -> None:
    attack(seed, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_every_data_set_at_any_rate_at_length(seed: int) -> None:
    attack(seed, 250)


def test_absent_users_keep_what_the_blanket_lacks() -> None:
    """The mass 3e-17 at V = 0 was lost in 1 - 1: the bound said 1.6e-38."""
    value = Shuffled(CheckIn(KRR(3, eps0=8.0), 1e-17), 2).bound("blanket", epsilon=7.327).value
    assert value == pytest.approx(4.8917e-35, rel=1e-3, abs=0.0)


def test_a_base_too_rare_to_count_still_hides_the_victim() -> None:
    """Others report the victim's symbol with 1e-302, as often as the victim's other value does."""
    holds(mechanism("4", 117.3480), 2.912e-251, 2, 108.2849)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [5e-324, 1e-310, 3.6e-6])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_any_rate_is_answered(kind: str, rate: float, n: int) -> None:
    protocol = Shuffled(CheckIn(mechanism(kind, 2.0)[0], rate), n)
    for epsilon in (0.0, 1e-17, 0.5, 1.9):
        found = protocol.delta(epsilon)
        assert 0.0 <= found.lower <= found.upper <= rate * (1.0 + 1e-9) + 1e-299
        assert found.upper > 0.0
    assert 0.0 <= protocol.epsilon(1e-9).upper <= 2.0 + 1e-12


@pytest.mark.parametrize(
    "randomizer",
    [
        LDP(1e-9),
        LDP(1.0),
        KRR(2, eps0=1e-9),
        KRR(10**6, eps0=2.0),
        OneBitMean(eps0=1e-5),
        LocalHashing(eps0=3.0),
        LocalHashing(g=2, eps0=1e-7),
        HadamardResponse(eps0=1e-8),
        SubsetSelection(40, eps0=1e-6),
        Piecewise(eps0=1e-8),
        Piecewise(eps0=2.0 * math.log(2.0)),
        Piecewise(eps0=5.0),
        DiscretePiecewise(9, 4, eps0=1e-6),
        rappor(3, 1e-9),
        optimised_unary(2, 1e-6),
        optimised_unary(30, 4.0),
        Laplace(eps0=1e-7),
        DiscreteLaplace(5, eps0=1e-7),
        Gaussian(1e5, 1.0, scalar=True),
        DiscreteGaussian(2, 1e4),
        Channel([[0.5, 0.5], [0.5 + 2.0**-53, 0.5 - 2.0**-53]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("rate", [1.0, 1e-3, 1e-17])
def test_every_law_is_whole_and_knows_what_it_lacks(randomizer: Randomizer, rate: float) -> None:
    """base, rest and silence sum to 1; rest to its own digits: what x has above the blanket."""
    outcomes = randomizer.blankets()[0].outcomes.thinned(rate)
    whole = math.fsum([*outcomes.base, outcomes.rest, outcomes.silent])
    assert whole == pytest.approx(1.0, abs=2.0 * outcomes.precision)
    ratio = np.abs(outcomes.first / outcomes.base)
    above = math.fsum((outcomes.base * (ratio - 1.0))[ratio > 1.0])
    # the differences themselves lose digits where all laws are nearly alike
    assert outcomes.rest == pytest.approx(above, rel=1e-6, abs=1e-13 * rate)
    for scene in randomizer.datasets():
        away = scene.outcomes.thinned(rate)
        assert away.rest <= 1e-280
        whole = math.fsum([*away.base, away.silent])
        assert whole == pytest.approx(1.0, abs=2.0 * away.precision)
