"""The refuter finds real violations and no others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    LDP,
    Channel,
    CheckIn,
    DiscreteLaplace,
    Laplace,
    ParameterError,
    Piecewise,
    Shuffled,
    optimised_unary,
    refute,
)


def test_laplace_violation_is_found() -> None:
    found = refute(Laplace(eps0=4.0), 10_000, epsilon=0.2, delta=1e-6)
    assert found.refuted
    assert 1.36e-5 <= found.delta <= 1.4e-5
    assert found.factor == pytest.approx(found.delta / 1e-6)
    assert "0 against 1" in found.dataset
    assert "all at 0" in found.dataset
    assert "both directions" in found.searched


def test_true_claim_stands() -> None:
    found = refute(Laplace(eps0=4.0), 10_000, epsilon=0.2, delta=1.1e-3)
    assert not found.refuted
    assert 1.36e-5 <= found.delta <= 1.4e-5


RANDOMIZERS = st.one_of(
    st.builds(lambda k, e: KRR(k, eps0=e), st.integers(2, 50), st.floats(0.1, 4.0)),
    st.builds(lambda e: Piecewise(eps0=e), st.floats(0.1, 4.0)),
    st.builds(lambda m, e: DiscreteLaplace(m, eps0=e), st.integers(1, 6), st.floats(0.1, 4.0)),
    st.builds(optimised_unary, st.integers(2, 9), st.floats(0.1, 4.0)),
    st.builds(lambda e, q: CheckIn(KRR(3, eps0=e), q), st.floats(0.1, 4.0), st.floats(0.05, 1.0)),
    st.builds(
        lambda a, b: Channel([[a, 1 - a], [b, 1 - b], [0.5, 0.5]]),
        st.floats(0.1, 0.45),
        st.floats(0.55, 0.9),
    ),
)


@settings(max_examples=15)
@given(RANDOMIZERS, st.integers(1, 2000), st.floats(0.0, 0.6))
def test_proven_claims_are_never_refuted(randomizer, n: int, share: float) -> None:
    epsilon = share * randomizer.eps0
    claim = Shuffled(randomizer, n).delta(epsilon).upper
    if 0.0 < claim < 1.0:
        found = refute(randomizer, n, epsilon=epsilon, delta=claim)
        assert not found.refuted
        assert found.delta <= claim


@pytest.mark.parametrize("randomizer", [KRR(10, eps0=3.0), LDP(2.0), Piecewise(eps0=2.0)], ids=str)
def test_half_of_what_is_leaked_is_refuted(randomizer) -> None:
    leaked = Shuffled(randomizer, 500).delta(0.1).lower
    found = refute(randomizer, 500, epsilon=0.1, delta=leaked / 2)
    assert found.refuted
    assert found.delta >= leaked * (1 - 2e-3)


def test_search_is_no_worse_than_the_lower_end() -> None:
    """On a real domain the refined grid holds the usual data sets."""
    for eps0, n, epsilon in ((6.0, 2000, 0.5),):
        found = refute(Laplace(eps0=eps0), n, epsilon=epsilon, delta=0.5)
        assert found.delta >= Shuffled(Laplace(eps0=eps0), n).delta(epsilon).lower * (1 - 2e-3)


def test_json_form() -> None:
    data = refute(KRR(3, eps0=1.0), 10, epsilon=0.1, delta=0.5).to_dict()
    assert data["refuted"] is False
    assert {"refuted", "delta", "dataset", "searched"} <= data.keys()
    assert math.isfinite(data["delta"])


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"n": 0}, "n"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"randomizer": "laplace"}, "randomizer"),
    ],
)
def test_bad_claims(arguments: dict, parameter: str) -> None:
    given_ = {"randomizer": KRR(3, eps0=1.0), "n": 10, "epsilon": 0.1, "delta": 1e-3, **arguments}
    with pytest.raises(ParameterError, match=f"'{parameter}'"):
        refute(given_.pop("randomizer"), given_.pop("n"), **given_)
