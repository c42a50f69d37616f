"""The account of a run: proven numbers, the papers' claims beside them, budgets."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import LDP, Shuffled
from shuffledp.labels import Status, get_theorem
from shuffledp.training.accounting import CheckInRounds, Epochs, laplace_divergence


def _numerical(eps0: float, order: float, shifts: list[float]) -> float:
    """Rényi divergence of product Laplace noise by quadrature, one coordinate at a time."""
    total = 0.0
    z = np.linspace(-60.0, 60.0, 400_001)
    for shift in shifts:
        p, q = np.exp(-np.abs(z)) / 2, np.exp(-np.abs(z - shift * eps0)) / 2
        total += math.log(np.trapezoid(p**order * q ** (1 - order), z)) / (order - 1)
    return total


@pytest.mark.parametrize("order", [1.5, 2.0, 5.0])
@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_laplace_divergence(eps0: float, order: float) -> None:
    assert _numerical(eps0, order, [1.0]) == pytest.approx(
        laplace_divergence(eps0, order), rel=1e-6, abs=0.0
    )


@pytest.mark.parametrize("order", [1.0 + 1e-9, 1.01, 1.5, 2.0, 30.0, 1e6])
@pytest.mark.parametrize("eps0", [1e-12, 1e-8, 1e-3, 0.3, 2.0, 60.0, 800.0])
def test_laplace_divergence_keeps_its_digits(eps0: float, order: float) -> None:
    with mpmath.workdps(80):
        big, s = mpmath.mpf(order), mpmath.mpf(eps0)
        rest = (big / (2 * big - 1), (big - 1) / (2 * big - 1))
        moment = rest[0] * mpmath.exp((big - 1) * s) + rest[1] * mpmath.exp(-big * s)
        exact = float(mpmath.log(moment) / (big - 1))
    assert laplace_divergence(eps0, order) == pytest.approx(exact, rel=2e-13, abs=0.0)


@given(
    st.floats(0.05, 4.0),
    st.floats(1.05, 30.0),
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6),
)
def test_one_coordinate_is_the_worst(eps0: float, order: float, parts: list[float]) -> None:
    """A vector that moves by the same l1 distance along several coordinates leaks less."""
    shares = [part / sum(parts) for part in parts]
    split = sum(laplace_divergence(eps0 * share, order) for share in shares)
    assert split <= laplace_divergence(eps0, order) + 1e-12


def test_the_published_accounting_is_below_what_the_printed_algorithm_leaks() -> None:
    """One epoch, 100 blocks, eps0 = 2, order 2: exactly 1.596 for a pair of data sets, claimed 0.2985."""
    case = get_theorem("chen-2024-theorem-3").refutation
    assert case is not None
    assert laplace_divergence(2.0, 2.0) == pytest.approx(case.leaked, rel=1e-3, abs=0.0)
    claimed = 2.0 * math.exp(case.parameters["eps0"]) * case.parameters["order"] / 99.0
    assert claimed == pytest.approx(case.claimed, rel=1e-3, abs=0.0)
    assert Shuffled(LDP(2.0), 100).bound("chen-2024-gdp", order=2.0).value < 0.3
    printed = Epochs(eps0=2.0, blocks=100, unit="sample", delta=1e-5).after(50)
    assert printed.guarantee.status is Status.PROVEN
    assert printed.claims[0].status is Status.REFUTED
    assert printed.claims[0].value < printed.epsilon
    assert "not eps0-LDP" in printed.claims[0].note
    clients = Epochs(eps0=2.0, blocks=100, unit="client", delta=1e-5).after(50)
    assert clients.claims[-1].status is Status.ASYMPTOTIC, "there its premise is true"


def test_clients_are_amplified_and_samples_are_not() -> None:
    one = Epochs(eps0=1.0, blocks=300, unit="sample", delta=1e-5)
    whole = Epochs(eps0=1.0, blocks=300, unit="client", delta=1e-5)
    assert whole.after(10).epsilon < 0.1 * one.after(10).epsilon
    assert one.after(1).epsilon <= 1.0
    assert one.protects != whole.protects
    single = Shuffled(LDP(1.0), 300).epsilon(1e-5)
    assert single.lower <= whole.after(1).epsilon <= 1.5 * single.upper


@pytest.mark.parametrize(
    "account",
    [
        Epochs(eps0=0.5, blocks=50, unit="sample", delta=1e-5),
        Epochs(eps0=0.5, blocks=50, unit="client", delta=1e-5),
        CheckInRounds(sigma=20.0, clients=500, rate=0.5, delta=1e-4),
    ],
    ids=["sample", "client", "check-in"],
)
def test_budgets(account: Epochs | CheckInRounds) -> None:
    values = [account.after(k).epsilon for k in (0, 1, 2, 5, 20)]
    assert values[0] == 0.0
    assert all(a < b for a, b in itertools.pairwise(values))
    budget = account.after(7).epsilon
    assert account.most(budget, 20) == 7
    assert account.most(budget * 0.999, 20) == 6
    assert account.most(1e9, 20) == 20
    assert account.most(1e-9, 20) == 0
    assert account.after(5).to_dict()["epsilon"]["status"] == "PROVEN"


def test_check_in_claims_are_labelled() -> None:
    spent = CheckInRounds(sigma=5.0, clients=60_000, rate=0.1, delta=1 / 60_000).after(5540)
    assert spent.guarantee.status is Status.PROVEN
    by_status = {claim.status: claim.value for claim in spent.claims}
    assert by_status[Status.HEURISTIC] == pytest.approx(9.62, abs=0.01)
    assert min(claim.value for claim in spent.claims) == pytest.approx(0.0608, abs=1e-4)
    assert all(claim.status is not Status.PROVEN for claim in spent.claims)


def test_check_in_guarantee_and_leak() -> None:
    account = CheckInRounds(sigma=5.0, clients=60_000, rate=0.1, delta=1 / 60_000)
    spent, leaked = account.after(5540), account.leaked(5540)
    assert spent.guarantee.status is Status.PROVEN
    assert leaked.status is Status.FIXED_PAIR
    assert 0.11 < leaked.value < spent.epsilon < 1.26
