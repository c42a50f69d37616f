"""Few reports of one bit: every crowd, against slow and obvious sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from shuffledp import KRR, LDP, BinaryRR, OneBitMean, RegimeError, Shuffled, refute
from shuffledp.accounting.bounds.mixed_crowds import MOST_USERS, mixed_crowds
from tests.oracles.crowds import compositions


def _counts(chances: list[Fraction]) -> list[Fraction]:
    """The law of the number of ones, from every outcome."""
    found = [Fraction(0)] * (len(chances) + 1)
    for bits in itertools.product((0, 1), repeat=len(chances)):
        mass = math.prod(c if bit else 1 - c for c, bit in zip(chances, bits, strict=True))
        found[sum(bits)] += mass
    return found


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 5.0])
def test_laws_of_all_crowds(eps0: float, n: int) -> None:
    low = Fraction(1) / (1 + Fraction(math.exp(eps0)))
    crowds = mixed_crowds(eps0, n)
    assert [crowd.ones for crowd in crowds] == list(range((n - 1) // 2 + 1))
    for crowd in crowds:
        others = [1 - low] * crowd.ones + [low] * (n - 1 - crowd.ones)
        absent, present = _counts([low, *others]), _counts([1 - low, *others])
        for epsilon in (0.0, 0.3 * eps0, 0.9 * eps0):
            e = Fraction(math.exp(epsilon))
            for first, second, exchanged in ((absent, present, False), (present, absent, True)):
                truth = sum(max(p - e * q, Fraction(0)) for p, q in zip(first, second, strict=True))
                found = crowd.delta(epsilon, exchanged)
                assert found.lower <= truth <= found.upper
                assert found.upper - found.lower <= 1e-12
        for order in (1.5, 4.0):
            total = max(
                math.fsum(
                    float(p) ** order * float(q) ** (1.0 - order)
                    for p, q in zip(first, second, strict=True)
                )
                for first, second in ((absent, present), (present, absent))
            )
            truth = math.log(total) / (order - 1.0)
            assert crowd.renyi(order) <= truth + 1e-14
            assert crowd.renyi(order) >= truth - 1e-11


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [(BinaryRR(eps0=0.5), 10), (OneBitMean(eps0=1.0), 37), (KRR(2, eps0=2.0), 50), (LDP(0.5), 20)],
)
def test_the_leaked_end_is_that_of_the_worst_crowd(randomizer, n: int) -> None:
    eps0 = randomizer.eps0
    low, high = 1.0 / (1.0 + math.exp(eps0)), 1.0 / (1.0 + math.exp(-eps0))
    for epsilon in (0.0, 0.2 * eps0, 0.6 * eps0):
        worst = compositions(low, high, n, epsilon, range(n))
        found = Shuffled(randomizer, n).bound("dataset-mixed", epsilon=epsilon).value
        assert found == pytest.approx(worst, rel=1e-9, abs=1e-14)
        assert Shuffled(randomizer, n).delta(epsilon).lower >= found


def test_a_mixed_crowd_can_leak_more() -> None:
    """With few users: 3.5 % of epsilon for ten."""
    protocol = Shuffled(BinaryRR(eps0=0.5), 10)
    plain = protocol.bound("dataset", delta=1e-2).value
    assert protocol.epsilon(1e-2).lower > 1.03 * plain
    assert protocol.epsilon(1e-2).leaked.theorem == "dataset-mixed"
    epsilon = 1.02 * plain
    found = refute(BinaryRR(eps0=0.5), 10, epsilon=epsilon, delta=1e-2)
    assert found.refuted
    assert "others: 8 at the first, 1 at the second" in found.dataset
    assert "8 with others at both values" in found.searched
    assert found.delta <= compositions(*_chances(0.5), 10, epsilon, range(10)) * (1.0 + 1e-9)


def _chances(eps0: float) -> tuple[float, float]:
    return 1.0 / (1.0 + math.exp(eps0)), 1.0 / (1.0 + math.exp(-eps0))


def test_rounds_keep_their_crowd() -> None:
    """The crowd that varies most in one round is not the worst over few."""
    assert (Shuffled(OneBitMean(eps0=0.5), 3) ** 3).epsilon(1e-3).lower > 1.42


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [(BinaryRR(eps0=1.0), MOST_USERS + 1), (BinaryRR(eps0=1.0), 1), (KRR(3, eps0=1.0), 10)],
)
def test_outside_it_says_so(randomizer, n: int) -> None:
    with pytest.raises(RegimeError):
        Shuffled(randomizer, n).bound("dataset-mixed", delta=1e-3)
