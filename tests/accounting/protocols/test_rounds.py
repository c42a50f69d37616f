"""Rounds: guarantees above, leaks below, every route, repeated and different."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    CentralMinibatches,
    Channel,
    CheckIn,
    Gaussian,
    Laplace,
    ParameterError,
    RegimeError,
    Repeated,
    Rounds,
    Shuffled,
    Stated,
    Status,
    Subsampled,
    UnknownTheoremError,
    optimised_unary,
)
from shuffledp.accounting.bounds import composition
from shuffledp.accounting.curves import GDPCurve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.labels import Direction
from shuffledp.numerics.composed_losses import Losses, composed_delta
from tests.oracles import rounds as oracle


@pytest.fixture(autouse=True)
def _digits():
    """Oracles with fifty digits."""
    with mpmath.workdps(50):
        yield


GENERIC = Shuffled(LDP(1.0), 1000)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.1, 4.0), st.integers(1, 5), st.integers(2, 3), st.floats(0.0, 0.9), st.booleans()
)
def test_generic_rounds_contain_direct_convolution(eps0, n, rounds, share, other):
    """Upper end: the clone pair. Lower end: 2-RR and 3-RR are real randomizers."""
    epsilon = share * rounds * eps0
    parts = [Shuffled(LDP(eps0), n)] * (rounds - 1)
    parts.append(Shuffled(LDP(0.5 * eps0), n + 1) if other else parts[0])
    found = Rounds(parts).delta(epsilon)
    worst = [oracle.clones(p.randomizer.eps0, p.n) for p in parts]
    truth = oracle.delta(oracle.product(worst), epsilon)
    assert found.upper >= truth
    assert found.upper <= truth * 1.05 + 1e-12
    leaks = []
    for flipped in (False, True):
        for k, others in ((2, 0), (3, 2)):
            pairs = []
            for p in parts:
                rows = oracle.krr(k, p.randomizer.eps0)
                first, second = (rows[1], rows[0]) if flipped else (rows[0], rows[1])
                pairs.append(oracle.pair(first, second, rows[others], p.n))
            leaks.append(oracle.delta(oracle.product(pairs), epsilon))
    assert found.lower <= max(leaks) * (1 + 1e-9) + 1e-290 or other


@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 4), st.floats(0.2, 4.0), st.integers(1, 4), st.integers(2, 3), st.floats(0, 0.8)
)
def test_krr_rounds_contain_every_data_set(k, eps0, n, rounds, share):
    epsilon = share * rounds * eps0
    found = Rounds([(Shuffled(KRR(k=k, eps0=eps0), n), rounds)]).delta(epsilon)
    rows = oracle.krr(k, eps0)
    truths = []
    for others in range(k):
        one = oracle.pair(rows[0], rows[1], rows[others], n)
        truths.append(oracle.delta(oracle.product([one] * rounds), epsilon))
    assert found.upper >= max(truths)
    assert found.lower <= max(truths) * (1 + 1e-9) + 1e-290


_ANY_ROUNDS = given(
    st.floats(0.05, 6.0), st.integers(1, 10**7), st.integers(2, 10**5), st.floats(-12.0, -2.0)
)


@settings(max_examples=20, deadline=None)
@_ANY_ROUNDS
def test_losses_beat_renyi_and_exceed_the_leak(eps0, n, rounds, log_delta):
    check_routes(eps0, n, rounds, 10.0**log_delta)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@_ANY_ROUNDS
def test_losses_beat_renyi_in_a_thousand_cases(eps0, n, rounds, log_delta):
    check_routes(eps0, n, rounds, 10.0**log_delta)


def check_routes(eps0, n, rounds, delta):
    together = Rounds([(Shuffled(LDP(eps0), n), rounds)])
    found = together.epsilon(delta)
    assert found.lower <= found.upper <= rounds * eps0 * (1 + 1e-12)
    assert found.upper <= together.bound("composition-rdp", delta=delta).value * (1 + 1e-9)
    assert found.upper <= together.bound("composition-strong", delta=delta).value * (1 + 5e-3)


PROTOCOLS = [
    GENERIC,
    Shuffled(BinaryRR(eps0=1.0), 100),
    Shuffled(KRR(k=8, eps0=2.0), 1000),
    Shuffled(Laplace(eps0=1.0), 1000),
    Shuffled(CheckIn(LDP(1.0), 0.3), 100),
    Shuffled(Subsampled(KRR(k=3, eps0=1.0), 50), 500),
    Shuffled(LDP(1.0), 1000, colluders=10, minimum_batch=900),
    pytest.param(Shuffled(Gaussian(5.0, 2.0, scalar=True), 500), marks=pytest.mark.slow),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_at_once_equals_one_by_one(protocol):
    at_once, power = Rounds([(protocol, 12)]), protocol**12
    apart = Rounds([protocol] * 5 + [(protocol**3, 2), protocol])
    assert at_once.entries == apart.entries
    for value in at_once.bounds(delta=1e-5):
        assert power.bound(value.theorem, delta=1e-5).value == pytest.approx(
            value.value, rel=1e-12, abs=0.0
        )
    found = at_once.epsilon(1e-5)
    once = protocol.epsilon(1e-5)
    assert once.lower <= found.upper
    assert found.lower <= 12.5 * once.upper
    assert 0.0 < found.lower <= found.upper
    assert found.guarantee.status is Status.PROVEN


_STAY, _LEAVE = math.exp(2.0) / (2.0 + math.exp(2.0)), 1.0 / (2.0 + math.exp(2.0))
TWINS = [
    (GENERIC, Shuffled(LDP(math.nextafter(1.0, 2.0)), 1000)),
    (Shuffled(BinaryRR(eps0=1.0), 100), Shuffled(KRR(k=2, eps0=1.0), 100)),
    (
        Shuffled(KRR(k=3, eps0=2.0), 1000),
        Shuffled(Channel(np.where(np.eye(3) == 1.0, _STAY, _LEAVE)), 1000),
    ),
]
"""The same mechanism under two names, so that rounds of the two are not put together."""


@pytest.mark.parametrize(("protocol", "twin"), TWINS, ids=str)
def test_two_halves_are_the_whole(protocol, twin):
    """k at once, and k as two different protocols: losses added by two powers, and by one."""
    whole = Rounds([(protocol, 10)])
    halves = Rounds([(protocol, 4)]) + Rounds([(twin, 6)])
    assert (len(whole.entries), len(halves.entries)) == (1, 2)
    found, twice = whole.epsilon(1e-6), halves.epsilon(1e-6)
    assert twice.upper == pytest.approx(found.upper, rel=1e-9, abs=0.0)
    assert twice.lower == pytest.approx(found.lower, rel=1e-9, abs=0.0)
    assert found.lower <= twice.upper
    assert twice.lower <= found.upper


def test_every_question():
    together = GENERIC**50
    assert together.delta(together.epsilon(1e-6).upper).lower <= 1e-6
    assert together.renyi(4.0).upper == pytest.approx(
        50 * GENERIC.renyi(4.0).upper, rel=1e-9, abs=0.0
    )
    f = together.tradeoff(0.05)
    assert 0.0 <= f.lower <= f.upper <= 0.95
    assert (Rounds([GENERIC]) ** 50).epsilon(1e-6) == together.epsilon(1e-6)


def test_stated_releases_compose_optimally():
    """Ten pure releases: the exact value of ten randomized responses."""
    found = Rounds([(Stated(0.5), 10)]).epsilon(1e-3)
    high = mpmath.exp(0.5) / (1 + mpmath.exp(0.5))

    def truth(epsilon):
        return mpmath.fsum(
            mpmath.binomial(10, i)
            * high**i
            * (1 - high) ** (10 - i)
            * max(0, 1 - mpmath.exp(epsilon - 0.5 * (2 * i - 10)))
            for i in range(11)
        )

    assert truth(found.upper) <= 1e-3 <= truth(found.upper * (1 - 1e-3))
    assert found.lower == 0.0
    with_delta = Rounds([(Stated(0.5, 1e-5), 10)])
    assert found.upper < with_delta.epsilon(1e-3).upper < 5.0
    with pytest.raises(RegimeError):
        with_delta.bound("composition-gdp", delta=1e-3)


def test_drawing_users_helps_and_contains_the_exact_law():
    """2 of 4 users drawn: the victim's report is there half the time."""
    rows = oracle.krr(3, 1.0)
    for others in range(3):
        mixed = [[(a + r) / 2 for a, r in zip(row, rows[others], strict=True)] for row in rows]
        one = oracle.pair(mixed[0], mixed[1], rows[others], 2)
        for epsilon in (0.0, 0.2, 0.4):
            truth = oracle.delta(one, epsilon)
            found = Shuffled(Subsampled(KRR(k=3, eps0=1.0), 2), 4).delta(epsilon)
            assert found.upper >= truth
            assert Shuffled(KRR(k=3, eps0=1.0), 2).delta(epsilon).upper >= found.upper


def test_labels_and_directions():
    found = {value.theorem: value for value in (GENERIC**10).bounds(delta=1e-6)}
    assert found["composition"].status is Status.PROVEN
    assert found["composition-dataset"].direction is Direction.LOWER
    assert found["composition-gdp"].status is Status.ASYMPTOTIC
    assert found["composition"].value <= found["composition-rdp"].value
    assert found["composition-rdp"].value <= found["composition-strong"].value


@pytest.mark.slow
def test_rounds_of_gaussian_reports_leak_more_than_one():
    protocol = Shuffled(CheckIn(Gaussian(5.0, 1.0), 0.1), 6000)
    found = (protocol**500).epsilon(1e-5)
    assert protocol.epsilon(1e-5).lower < found.lower <= found.upper


def test_clear_refusals():
    with pytest.raises(ParameterError, match="neighbours"):
        Rounds([CentralMinibatches(1.0, 100, 60_000), GENERIC])
    with pytest.raises(ParameterError, match="at least one round"):
        Rounds([])
    with pytest.raises(ParameterError, match="rounds"):
        Rounds([(GENERIC, 0)])
    with pytest.raises(ParameterError, match="entries"):
        Rounds([LDP(1.0)])
    with pytest.raises(UnknownTheoremError, match="one of composition"):
        Rounds([(GENERIC, 2)]).bound("stronger-clones", delta=1e-6)
    with pytest.raises(ParameterError, match="rounds"):
        GENERIC**0.5
    with pytest.raises(ParameterError, match="colluders"):
        Shuffled(Subsampled(LDP(1.0), 10), 100, colluders=5)


def test_repeating_is_a_power():
    assert Shuffled(Repeated(LDP(1.0), 3), 1000) == GENERIC**3
    assert (GENERIC**3) ** 4 == GENERIC**12
    assert math.isclose((GENERIC**3).epsilon(1e-6).upper, Rounds([GENERIC] * 3).epsilon(1e-6).upper)


def test_a_local_delta_is_never_forgotten():
    """A report that reveals all with probability delta0: no epsilon is large enough to hide it."""
    approximate = LDP(1.0, 1e-6)
    assert Rounds([(Shuffled(approximate, 1000), 10)]).delta(20.0).upper >= 9.9e-6
    drawn = Shuffled(Subsampled(approximate, 100), 1000)
    assert drawn.delta(2.0).upper >= 0.99e-7
    assert (drawn**10).delta(20.0).upper >= 0.99e-6
    assert math.isinf(Rounds([drawn]).pure)
    assert Rounds([(GENERIC, 3), Stated(0.5)]).pure == pytest.approx(3.5)


def test_many_stated_guarantees() -> None:
    """Far beyond epsilon = 200, where delta never vanishes."""
    pure = Rounds([(Stated(1.0), 1000)]).epsilon(1e-6).upper
    found = Rounds([(Stated(1.0, 1e-12), 1000)]).epsilon(1e-6).upper
    assert pure < found < pure * 1.001


@pytest.mark.parametrize("eps0", [150.0, 210.0, 271.0])
def test_huge_budgets_lose_no_less_in_many_rounds_than_in_one(eps0):
    """Grids of losses end before such a budget: what is beyond must not be forgotten."""
    for once in (Shuffled(optimised_unary(k=280, eps0=eps0), n=8), Shuffled(LDP(eps0), n=10)):
        for theorem in ("composition", "composition-rdp"):
            many = (once**342).bound(theorem, epsilon=29.25).value
            assert once.delta(29.25).lower <= many


def test_what_is_revealed_counts_times_the_masses_rounded_up() -> None:
    kept, revealing, rounds = 1.0 + 1e-3, 1e-3, 10
    exact = (kept + revealing) ** rounds - kept**rounds
    profile = composition._profile([(Losses(np.zeros(1), np.array([kept]), revealing), rounds)])
    assert 1.0 - (1.0 - revealing) ** rounds < exact <= profile(1.0, 1e-4).upper


def test_rounds_that_reveal_more_than_delta_are_answered_by_their_renyi_divergences() -> None:
    """Five users, hardly any noise: no sum of losses reaches delta, an error once."""
    telling = Rounds([(Shuffled(Gaussian(0.1, 2.0, ball=True), 5), 20)])
    found = telling.guaranteed(delta=1e-5)
    assert found.theorem == "composition-rdp"
    assert found.status is Status.PROVEN
    alone = GDPCurve(20.0 * math.sqrt(20.0)).epsilon(1e-5)
    assert 0.9 * alone < found.value < 1.2 * alone
    assert telling.epsilon(1e-5).lower < alone


def test_nothing_leaks_far_beyond_all_losses() -> None:
    """40 deviations out: the leaked end must not hold mass that rounding made of nothing."""
    found = (Shuffled(BinaryRR(eps0=0.1), n=10**8) ** 2).delta(epsilon=5.8e-4)
    assert found.lower < 1e-100


def test_little_noise_leaks_more_in_two_rounds_than_in_one():
    one = Shuffled(Gaussian(0.5, 2.0), 100).epsilon(1e-6).lower
    two = (Shuffled(Gaussian(0.5, 2.0), 100) ** 2).epsilon(1e-6).lower
    assert 0.0 < one < two


@pytest.mark.parametrize("rounds", [16, 100, 5000])
@pytest.mark.parametrize(
    "randomizer", [KRR(4, eps0=2.0), optimised_unary(16, eps0=3.0), CheckIn(KRR(4, eps0=3.0), 0.01)]
)
def test_many_rounds_need_fewer_losses_of_each(randomizer: Randomizer, rounds: int) -> None:
    several = composition.Round(randomizer, 10_000, rounds)
    fine, coarse = (
        composition._upper_losses(each)[0]
        for each in (replace(several, count=1), composition._about_as_often(several))
    )
    together = Rounds([(Shuffled(randomizer, 10_000), rounds)])
    epsilon = together.guaranteed(delta=1e-6).value
    dense, found = (composed_delta([(each, rounds)], epsilon, 2e-4) for each in (fine, coarse))
    assert coarse.values.size <= fine.values.size
    assert found.upper >= together.bound("composition-dataset", epsilon=epsilon).value
    assert found.upper <= 1.002 * dense.upper  # epsilon is off by less than a ten-thousandth
