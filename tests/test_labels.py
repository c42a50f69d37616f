"""Printed numbers never look better than they are."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from shuffledp import LDP, Shuffled
from shuffledp.labels import outward


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
