"""Printed numbers never look better than they are."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import LDP, Shuffled
from shuffledp.labels import in_full, outward


@given(st.floats(1e-300, 1e300), st.booleans())
def test_rounding_goes_outward_and_not_far(value, up):
    shown = Fraction(outward(value, up))
    exact = Fraction(value)
    assert shown >= exact if up else shown <= exact
    assert abs(shown / exact - 1) < Fraction(1, 99_999)


def test_infinities_and_zero():
    assert outward(math.inf, up=True) == "inf"
    assert outward(0.0, up=False) == "0"


def test_an_interval_contains_its_ends_in_print():
    answer = Shuffled(LDP(2.0), 100_000).epsilon(1e-6)
    low, high = str(answer).split("[")[1].split("]")[0].split(", ")
    assert Fraction(low) <= Fraction(answer.lower) <= Fraction(answer.upper) <= Fraction(high)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-6, "1e-06"),
        (0.1, "0.1"),
        (2.0, "2"),
        (1.2345649e-6, "1.2345649e-06"),
        (0.1234564999, "0.1234564999"),
        (math.nextafter(0.1, 0.0), "0.1"),
        (math.nextafter(0.1, 1.0), "0.10000000000000002"),
        (math.inf, "inf"),
    ],
)
def test_what_was_asked_is_shown_in_full(value: float, shown: str) -> None:
    assert in_full(value) == shown
