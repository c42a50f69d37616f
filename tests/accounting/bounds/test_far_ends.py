"""The ends of the range: an upper end is 0 only where the truth is, and every question is answered."""

from __future__ import annotations

import math
import random

import mpmath
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    CheckIn,
    Gaussian,
    ParameterError,
    Repeated,
    Shuffled,
    ShuffleDPError,
)
from shuffledp.accounting.bounds.gaussian_proven import RevealedRounds
from shuffledp.accounting.curves.gdp import GDPCurve, gaussian_delta, gaussian_log_delta
from shuffledp.accounting.randomizers.families import ChannelFamily
from shuffledp.accounting.randomizers.finite import LocalHashing, SubsetSelection
from shuffledp.accounting.randomizers.piecewise import DiscretePiecewise


def normal_delta(mu: float, epsilon: float) -> mpmath.mpf:
    def tail(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.erfc(x / mpmath.sqrt(2)) / 2

    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return tail(e / m - m / 2) - mpmath.exp(e) * tail(e / m + m / 2)


def test_gaussian_delta_is_never_below_the_truth() -> None:
    chance = random.Random(1)
    with mpmath.workdps(80):
        for _ in range(80):
            mu = 10.0 ** chance.uniform(-4.0, 1.5)
            epsilon = max(mu * (chance.uniform(-3.0, 60.0) + 0.5 * mu), 0.0)
            truth, found = normal_delta(mu, epsilon), gaussian_delta(mu, epsilon)
            assert found >= truth
            assert found > 0.0
            assert mpmath.mpf(gaussian_log_delta(mu, epsilon)) >= mpmath.log(truth)
            if truth > mpmath.mpf("1e-300"):
                assert found <= truth * (1 + mpmath.mpf("1e-5"))


@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-291, 1e-30])
def test_gaussian_epsilon_at_any_delta(delta: float) -> None:
    with mpmath.workdps(80):
        epsilon = GDPCurve(1.0).epsilon(delta)
        assert normal_delta(1.0, epsilon) <= delta
        assert normal_delta(1.0, epsilon * (1.0 - 1e-6)) > delta


@pytest.mark.parametrize("epsilon", [40.0, 800.0, 1e308])
def test_gaussian_noise_always_leaks_something(epsilon: float) -> None:
    found = Shuffled(Gaussian(1.0, 1.0), 3).delta(epsilon)
    assert 0.0 == found.lower < found.upper < 1e-200


def test_gaussian_reports_at_the_least_delta() -> None:
    found = Shuffled(Gaussian(5.0, 1.0), 1).epsilon(5e-324)
    assert 0.0 < found.lower < found.upper < 8.0


@pytest.mark.parametrize("order", [30.0, 60.0])
def test_revealed_rounds_where_the_victim_hardly_takes_part(order: float) -> None:
    for rate in (1e-300, 1e-3):
        gain = 0.5 * order * (order - 1.0) * 4.0
        with mpmath.workdps(400):
            exact = mpmath.log(1 - mpmath.mpf(rate) + rate * mpmath.exp(gain)) / (order - 1.0)
        found = RevealedRounds(2.0, 1, rate).renyi(order)
        assert exact <= found <= exact * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize("n", [1, 3, 10**12])
@pytest.mark.parametrize("eps0", [1e-300, 1e-160, 1e-151, 1e-149])
def test_renyi_of_budgets_whose_square_underflows(eps0: float, n: int) -> None:
    found = Shuffled(LDP(eps0), n).renyi(2.0)
    assert 0.0 < found.upper <= eps0
    assert found.lower <= found.upper


@pytest.mark.parametrize(
    "theorem",
    ["feldman-2021-closed", "feldman-2023-closed", "erlingsson-2019", "balle-2019-hoeffding"],
)
def test_closed_forms_at_the_least_delta(theorem: str) -> None:
    for protocol in (Shuffled(LDP(0.4), 1), Shuffled(LDP(0.4), 10**9)):
        try:
            value = protocol.bound(theorem, delta=5e-324).value
        except ShuffleDPError:
            continue
        assert math.isfinite(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda k: KRR(k, eps0=1.0),
        lambda k: SubsetSelection(k, eps0=1.0),
        lambda k: LocalHashing(g=k, eps0=1.0),
        lambda k: DiscretePiecewise(k, 2, eps0=1.0),
    ],
)
def test_domains_of_any_size(make) -> None:  # type: ignore[no-untyped-def]
    for k in (10**5000, 10**400, 10**101):
        with pytest.raises(ParameterError, match="up to 1e100"):
            make(k)
    found = Shuffled(make(10**100), 3).delta(0.5)
    assert 0.0 <= found.lower <= found.upper <= 1.0


@pytest.mark.parametrize("rate", [5e-324, 1e-17])
def test_gaussian_check_in_at_any_rate(rate: float) -> None:
    for scalar in (False, True):
        found = Shuffled(CheckIn(Gaussian(1.0, 1.0, scalar=scalar), rate), 2).delta(0.5)
        assert 0.0 <= found.lower <= found.upper < 1e-16
        assert found.upper > 0.0


def test_a_middle_value_between_two_steps_is_not_in_the_middle() -> None:
    """Over rounds the two directions add up only where they are really alike."""
    found = Shuffled(Repeated(DiscretePiecewise(1, 1, eps0=1.655), 3), 2).delta(0.4215777630208619)
    assert found.lower <= 0.7146 <= found.upper


@pytest.mark.parametrize("rate", [5e-324, 4e-291, 1e-270, 1e-30])
def test_rounds_of_users_who_hardly_ever_report(rate: float) -> None:
    protocol = Shuffled(Repeated(CheckIn(BinaryRR(eps0=0.5), rate), 2), 2)
    assert protocol.bound("composition-dataset", epsilon=0.1).value <= 2.0 * rate
    assert protocol.ask(delta=7e-6).lower == 0.0


def test_a_family_of_channels_ends_where_its_members_do() -> None:
    def matrix(epsilon: float) -> list[list[float]]:
        keep = 1.0 / (1.0 + math.exp(-epsilon * (1.0 + 9e-10)))
        lose = 1.0 / (1.0 + math.exp(epsilon * (1.0 + 9e-10)))
        return [[keep, lose], [lose, keep]]

    family = ChannelFamily(matrix)
    assert family.pure_epsilon(30.0) >= family.member(30.0).eps0 > 30.0


def test_binary_response_of_every_budget_leaks_below_it() -> None:
    for eps0 in (1e-9, 1e-3, 1.0, 60.0, 299.0):
        protocol = Shuffled(BinaryRR(eps0=eps0), 1000)
        for share in (0.5, 1.0 - 1e-9):
            assert protocol.delta(share * eps0).upper > 0.0
