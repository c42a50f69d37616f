"""The engine that adds losses, against every combination of them."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.numerics import composed_losses
from shuffledp.numerics.composed_losses import Losses, composed_delta
from tests.oracles import rounds as oracle


@pytest.fixture(autouse=True)
def _digits():
    """Oracles with fifty digits."""
    with mpmath.workdps(50):
        yield


@st.composite
def a_round(draw):
    """Any second masses and losses whose first masses stay below 1."""
    size = draw(st.integers(1, 4))
    scale = draw(st.sampled_from([0.01, 0.3, 2.0]))
    values = np.sort(
        scale * np.array(draw(st.lists(st.integers(-200, 200), min_size=size, max_size=size)))
    )
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)))
    masses = weights / weights.sum()
    masses /= max(1.0, float(masses @ np.exp(values)) * 1.001)
    only = draw(st.sampled_from([0.0, 1e-9, 0.01]))
    return Losses(values, masses, only)


@pytest.mark.parametrize("enumerated", [True, False])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(a_round(), st.integers(1, 3)), min_size=1, max_size=2),
    st.floats(0.0, 1.0),
)
def test_the_enclosure_holds_every_combination(enumerated, parts, share):
    epsilon = share * max(sum(c * float(r.values[-1]) for r, c in parts), 0.0)
    truth = oracle.composed(parts, epsilon)
    limit = composed_losses._MAX_ENUMERATED
    composed_losses._MAX_ENUMERATED = limit if enumerated else 0
    try:
        found = composed_delta(parts, epsilon)
    finally:
        composed_losses._MAX_ENUMERATED = limit
    assert found.lower <= truth <= found.upper
    if enumerated and truth > 1e-12:
        assert found.width < 1e-6


@pytest.mark.parametrize("rounds", [10, 1000, 10**6])
def test_many_small_losses_are_gaussian(rounds):
    """Randomized response with eps0 = 1/sqrt(rounds) tends to 1-GDP."""
    eps0 = 1.0 / math.sqrt(rounds)
    p = 1.0 / (1.0 + math.exp(-eps0))
    found = composed_delta(
        [(Losses(np.array([-eps0, eps0]), np.array([p, 1 - p]), 0.0), rounds)], 1.0
    )
    assert found.width < 1e-3
    assert found.middle == pytest.approx(0.12693673750664397, rel=0.5 / math.sqrt(rounds), abs=0.0)


def test_one_by_one_is_all_at_once():
    part = Losses(np.array([-0.3, 0.1, 0.4]), np.array([0.5, 0.3, 0.15]), 1e-7)
    at_once = composed_delta([(part, 12)], 0.7)
    apart = composed_delta([(part, 5), (part, 7)], 0.7)
    assert max(at_once.lower, apart.lower) <= min(at_once.upper, apart.upper)
