"""dp-accounting accepts our events and accountant, and gets our guarantees as its distributions."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import privacy_accountant_test
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    CheckIn,
    Laplace,
    ParameterError,
    RandomAllocation,
    Rounds,
    Shuffled,
    Stated,
    Subsampled,
)
from shuffledp.interop.dp_accounting import ShuffledAccountant, ShuffledDpEvent, to_pld

GENERIC = Shuffled(LDP(1.0), 1000)


class TestConformance(privacy_accountant_test.PrivacyAccountantTest):
    """Their own test of every accountant."""

    def _make_test_accountants(self):
        return [ShuffledAccountant()]


EVENTS = [
    ShuffledDpEvent(GENERIC),
    ShuffledDpEvent(GENERIC**3),
    ShuffledDpEvent(Rounds([(GENERIC, 2), Stated(0.1, 1e-8)])),
    ShuffledDpEvent(Shuffled(CheckIn(KRR(k=4, eps0=1.0), 0.5), 500)),
    dp_accounting.RandomizedResponseDpEvent(0.5, 4),
    dp_accounting.ComposedDpEvent([ShuffledDpEvent(GENERIC), dp_accounting.NoOpDpEvent()]),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_at_once_equals_one_by_one(event):
    """Counts are honoured, however they are said."""
    once = ShuffledAccountant().compose(event).get_epsilon(1e-5)
    at_once = ShuffledAccountant().compose(event, 6).get_epsilon(1e-5)
    apart, nested = ShuffledAccountant(), ShuffledAccountant()
    for _ in range(6):
        apart.compose(event)
    nested.compose(dp_accounting.SelfComposedDpEvent(event, 3), 2)
    assert at_once == apart.get_epsilon(1e-5) == nested.get_epsilon(1e-5)
    assert once < at_once <= 6.3 * once
    assert apart.get_delta(once) == nested.get_delta(once) > 1e-5


def test_answers_are_proven_upper_ends():
    rounds = Rounds([(GENERIC, 10), (Shuffled(KRR(k=8, eps0=2.0), 5000), 3)])
    accountant = ShuffledAccountant().compose(ShuffledDpEvent(rounds))
    assert accountant.get_epsilon(1e-6) == rounds.epsilon(1e-6).upper
    assert accountant.get_delta(0.5) == rounds.delta(0.5).upper
    assert accountant.get_epsilon(0.0) == rounds.pure == pytest.approx(16.0)
    assert accountant.get_epsilon(1.0) == 0.0
    assert accountant.get_delta(math.inf) == 0.0


def test_what_is_never_hidden_has_no_epsilon():
    accountant = ShuffledAccountant().compose(ShuffledDpEvent(Rounds([Stated(0.1, 1e-3)])))
    assert accountant.get_epsilon(1e-6) == math.inf
    assert accountant.get_epsilon(0.0) == math.inf
    assert accountant.get_delta(math.inf) >= 1e-3


def test_randomized_response_is_ten_times_as_much_ten_times():
    """Where dp-accounting's own accountant forgets the count."""
    event = dp_accounting.RandomizedResponseDpEvent(0.5, 2)
    assert ShuffledAccountant().compose(event, 10).get_epsilon(0.0) == pytest.approx(
        10 * math.log(3)
    )
    assert (
        ShuffledAccountant()
        .compose(dp_accounting.RandomizedResponseDpEvent(0.0, 2))
        .get_epsilon(0.1)
        == math.inf
    )
    assert (
        ShuffledAccountant()
        .compose(dp_accounting.RandomizedResponseDpEvent(0.0, 1))
        .get_epsilon(0.1)
        == 0.0
    )


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.GaussianDpEvent(1.0),
        dp_accounting.LaplaceDpEvent(1.0),
        dp_accounting.PoissonSampledDpEvent(0.1, ShuffledDpEvent(GENERIC)),
        dp_accounting.SelfComposedDpEvent(ShuffledDpEvent(GENERIC), -1),
        dp_accounting.SelfComposedDpEvent(ShuffledDpEvent(GENERIC), 1.5),
        dp_accounting.RandomizedResponseDpEvent(1.5, 2),
    ],
    ids=str,
)
def test_the_rest_is_refused(event):
    accountant = ShuffledAccountant()
    assert not accountant.supports(event)
    with pytest.raises(dp_accounting.UnsupportedEventError):
        accountant.compose(event)
    assert accountant.get_epsilon(1e-9) == 0.0


def test_events_say_what_they_are():
    event = ShuffledDpEvent(GENERIC)
    assert event == ShuffledDpEvent(Shuffled(LDP(1.0), 1000)) != ShuffledDpEvent(GENERIC**2)
    assert dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    with pytest.raises(ParameterError, match="protocol"):
        ShuffledDpEvent(LDP(1.0))
    with pytest.raises(ParameterError, match="target_delta"):
        ShuffledAccountant().get_epsilon(-1.0)


def test_their_calibration_finds_our_largest_budget():
    eps0 = dp_accounting.calibrate_dp_mechanism(
        ShuffledAccountant,
        lambda eps0: ShuffledDpEvent(Shuffled(LDP(eps0), 10_000)),
        target_epsilon=0.3,
        target_delta=1e-6,
        bracket_interval=dp_accounting.ExplicitBracketInterval(0.1, 8.0),
        tol=1e-3,
    )
    assert Shuffled(LDP(eps0), 10_000).epsilon(1e-6).upper <= 0.3
    assert Shuffled(LDP(eps0 + 2e-3), 10_000).epsilon(1e-6).upper > 0.3


PROTOCOLS = [
    GENERIC,
    GENERIC**300,
    Shuffled(LDP(2.0), 10**6) ** 1000,
    Shuffled(LDP(6.0), 30),
    Shuffled(BinaryRR(eps0=1.0), 2),
    Shuffled(Laplace(eps0=1.0), 1000),
    Shuffled(Subsampled(KRR(k=3, eps0=1.0), 50), 500),
    Shuffled(LDP(1.0, 1e-8), 1000),
    Rounds([(GENERIC, 20), Stated(0.1, 1e-7)]),
    Stated(1.0),
    Stated(0.0, 0.01),
    Stated(0.0),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_a_distribution_is_above_the_leak_and_close_to_the_guarantee(protocol):
    pld = to_pld(protocol)
    rounds = protocol if isinstance(protocol, Rounds) else Rounds([protocol])
    curve = rounds.curve("composition")
    for epsilon in np.linspace(0.0, min(rounds.pure, 3.0 * curve.delta(0.0) + 0.1), 8):
        given = float(pld.get_delta_for_epsilon(epsilon))
        found = curve.enclose(epsilon)
        assert given >= found.lower * (1 - 1e-12)
        assert given >= rounds.delta(epsilon).lower
        assert given <= found.upper * 1.1 + 1e-9
    for delta in (1e-2, 1e-4, 1e-6):
        given = pld.get_epsilon_for_delta(delta)
        upper = ShuffledAccountant().compose(ShuffledDpEvent(rounds)).get_epsilon(delta)
        if math.isinf(upper):
            assert given == upper
        else:
            assert rounds.epsilon(delta).lower <= given <= 1.02 * upper + 1e-9


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 5.0), st.integers(1, 10**6), st.integers(1, 50), st.floats(0.02, 3.0))
def test_every_lattice_is_sound(eps0, n, rounds, share):
    """The exact profile of connected dots lies above ours, at and between the dots."""
    together = Rounds([(Shuffled(LDP(eps0), n), rounds)])
    curve = together.curve("composition")
    step = share * 2.5 * curve.delta(0.0)
    pld = to_pld(together, step=step)
    for k in (0.0, 0.5, 1.0, 2.3, 7.0):
        assert pld.get_delta_for_epsilon(k * step) >= curve.enclose(k * step).lower * (1 - 1e-12)


def test_distributions_compose_there_as_here():
    """Ten rounds by dp-accounting's transform, beside our own sum of losses; with Gaussian noise."""
    step = 1e-3
    ten = to_pld(GENERIC, step=step).self_compose(10)
    rounds = Rounds([(GENERIC, 10)])
    for delta in (1e-3, 1e-6):
        found = rounds.epsilon(delta)
        assert found.lower <= ten.get_epsilon_for_delta(delta) <= 1.01 * found.upper
    gaussian = privacy_loss_distribution.from_gaussian_mechanism(
        5.0, value_discretization_interval=step
    )
    both = ten.compose(gaussian).get_epsilon_for_delta(1e-6)
    assert both > max(ten.get_epsilon_for_delta(1e-6), gaussian.get_epsilon_for_delta(1e-6))


def test_a_step_too_small_is_refused():
    with pytest.raises(ParameterError, match="step"):
        to_pld(GENERIC, step=0.0)


def test_random_allocation_as_an_event():
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    epoch = RandomAllocation(2.0, 100)
    event = ShuffledDpEvent(epoch)
    accountant = ShuffledAccountant(relation).compose(event, 3)
    assert accountant.get_epsilon(1e-6) == (epoch**3).epsilon(1e-6).upper
    assert accountant.neighboring_relation is relation
    assert not ShuffledAccountant().supports(event)
    assert not accountant.supports(ShuffledDpEvent(GENERIC))
    with pytest.raises(ParameterError, match="neighboring_relation"):
        ShuffledAccountant(dp_accounting.NeighboringRelation.REPLACE_SPECIAL)
    known = epoch.epsilon(1e-6)
    assert known.lower <= to_pld(epoch).get_epsilon_for_delta(1e-6) <= 1.02 * known.upper
