"""A claim is proven, refuted or open, and never two of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    LDP,
    Aggregated,
    BinaryRR,
    ParameterError,
    PoissonNoise,
    Rounds,
    Shuffled,
    Stated,
    WithDummies,
    check,
    rappor,
)

PROTOCOLS = st.builds(
    Shuffled, st.builds(LDP, st.floats(0.1, 5.0)), st.integers(1, 60)
) | st.builds(Shuffled, st.builds(KRR, st.just(4), eps0=st.floats(0.1, 5.0)), st.integers(1, 60))


@settings(max_examples=30, deadline=None)
@given(PROTOCOLS, st.floats(0.01, 5.0), st.floats(1e-9, 0.5))
def test_the_verdict_is_what_both_ends_say(
    protocol: Shuffled, epsilon: float, delta: float
) -> None:
    found = check(protocol, epsilon=epsilon, delta=delta)
    known = protocol.delta(epsilon)
    if found.verdict == "PROVEN":
        assert known.lower <= delta
        assert found.needed <= epsilon
    elif found.verdict == "REFUTED":
        assert known.upper > delta
        assert found.dataset
    else:
        assert known.lower <= delta < known.upper


def test_rounds_can_be_checked() -> None:
    rounds = Rounds([(Shuffled(LDP(1.0), 10_000), 10), Stated(0.1, 1e-9)])
    known = rounds.epsilon(1e-6)
    assert check(rounds, epsilon=1.001 * known.upper, delta=1e-6).verdict == "PROVEN"
    assert check(rounds, epsilon=0.999 * known.lower, delta=1e-6).verdict == "REFUTED"


@pytest.mark.parametrize(
    "counted", [Aggregated(rappor(k=3, eps0=2.0), n=100), WithDummies(PoissonNoise(50.0), n=100)]
)
def test_what_is_counted_can_be_checked(counted: Aggregated | WithDummies) -> None:
    known = counted.epsilon(1e-6)
    assert check(counted, epsilon=1.001 * known.upper, delta=1e-6).verdict == "PROVEN"
    refuted = check(counted, epsilon=0.999 * known.lower, delta=1e-6)
    assert refuted.verdict == "REFUTED"
    assert "one data set" in refuted.dataset


def test_colluders_count() -> None:
    alone = Shuffled(BinaryRR(eps0=2.0), 1000)
    claim = {"epsilon": 1.001 * alone.epsilon(1e-6).upper, "delta": 1e-6}
    assert check(alone, **claim).verdict == "PROVEN"
    assert check(Shuffled(BinaryRR(eps0=2.0), 1000, colluders=990), **claim).verdict == "REFUTED"


@pytest.mark.parametrize("claim", [{"epsilon": -1.0, "delta": 0.1}, {"epsilon": 1.0, "delta": 2.0}])
def test_what_is_no_claim_is_refused(claim: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        check(Shuffled(LDP(1.0), 10), **claim)
