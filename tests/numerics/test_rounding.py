"""Contracts of directed rounding, in exact fractions; and nothing rounds without a name."""

import ast
from fractions import Fraction
from functools import reduce
from operator import add, mul
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp
from shuffledp.numerics.rounding import (
    BELOW_ONE,
    FORMULA,
    SUMS,
    all_orders,
    down,
    roundings,
    up,
)

ROOT = Path(shuffledp.__file__).parent
NUMBERS = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=40)


@given(NUMBERS, st.sampled_from([add, mul]))
def test_so_many_roundings(numbers, operation):
    """A sum or product of k positive numbers has k - 1 roundings; one more is the helper's own."""
    truth, found = reduce(operation, map(Fraction, numbers)), reduce(operation, numbers)
    error = roundings(len(numbers) + 1)
    assert Fraction(down(found, error)) <= truth <= Fraction(up(found, error))


@given(NUMBERS)
def test_arrays_are_alike(numbers):
    array = np.array(numbers)
    for helper in (up, down):
        assert helper(array, FORMULA).tolist() == [helper(x, FORMULA) for x in numbers]
        assert helper(2.0, array * 1e-9).tolist() == [helper(2.0, x * 1e-9) for x in numbers]
    assert roundings(array).tolist() == [roundings(x) for x in numbers]


@given(st.floats(1e-300, 1e-2), st.integers(2, 50))
def test_all_orders(error, count):
    """(1 + e / k)^k - 1 exceeds e by less than a hundredth of it."""
    whole = (1 + Fraction(error) / count) ** count - 1
    assert whole <= Fraction(all_orders(error))


def test_what_the_names_stand_for():
    assert roundings(1) == 2.0**-53
    assert np.nextafter(BELOW_ONE, 2.0) == 1.0
    assert roundings(9_000) < FORMULA < roundings(9_010)
    assert roundings(9_000_000) < SUMS < roundings(9_010_000)


def _small(node):
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1e-5
    )


def _unnamed(tree):
    """Factors 1 + or - a small number, and multiples of the unit roundoff."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            continue
        for side in (node.left, node.right):
            unit = isinstance(side, ast.Name) and side.id == "U"
            factor = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add | ast.Sub)
            one = factor and isinstance(side.left, ast.Constant) and side.left.value == 1
            if unit or (one and _small(side.right)):
                yield node.lineno


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(ROOT.rglob("*.py")) if path.name != "rounding.py"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_rounding_has_a_name(path):
    lines = list(_unnamed(ast.parse(path.read_text(encoding="utf-8"))))
    assert not lines, f"use numerics.rounding in lines {lines}"


def test_the_search_for_unnamed_rounding_sees_it():
    """A negative control."""
    for code in ("x * (1.0 + 1e-12)", "8.0 * U", "(1 - 1e-9) * x", "4 * U * y"):
        assert list(_unnamed(ast.parse(code)))
    assert not list(_unnamed(ast.parse("x * (1.0 + y)\n(1.0 + 1e-12) + x")))
