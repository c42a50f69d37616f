"""Amounts and what a store holds: rounded to the safe side, read as written or not at all."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import LedgerError
from shuffledp.ledger.amounts import decimal_above, decimal_below, float_above, float_below
from shuffledp.ledger.entries import read
from shuffledp.ledger.rules import restore

fractions = st.fractions(Fraction(1, 10**12), 10**12, max_denominator=10**15)


@given(fractions)
def test_floats_on_either_side(number: Fraction) -> None:
    low, high = float_below(number), float_above(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert high <= math.nextafter(low, math.inf)


@pytest.mark.parametrize("exact", [0.5, 3.0, 2.0**-40])
def test_floats_that_are_exact_stay(exact: float) -> None:
    assert float_below(Fraction(exact)) == float_above(Fraction(exact)) == exact


@given(fractions, st.integers(1, 30))
def test_decimals_on_either_side(number: Fraction, digits: int) -> None:
    low, high = decimal_below(number, digits), decimal_above(number, digits)
    assert Fraction(low) <= number <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= number * Fraction(10) ** (1 - digits)


def test_decimals_are_written_out() -> None:
    for number in (50, 1, 10**20):
        assert str(decimal_above(Fraction(number))) == str(number)
    assert str(decimal_below(Fraction(1, 8))) == "0.125"


def test_what_is_no_text_is_not_read() -> None:
    for text in (b'{"epsilon": "1", "delta": "0"}', 5, None, "[", '{"epsilon": "1", "more": "0"}'):
        with pytest.raises(LedgerError, match="cannot read"):
            read(text, 1)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(LedgerError, match="does not know: 'other'"):
        restore({"name": "other"}, Decimal(1), Decimal(0))
