"""What all laws of an eps0-LDP randomizer have in common, cell by cell."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.accounting.randomizers.staircases import _BITS, _corners, _edges, staircases


@pytest.mark.parametrize("tau", [Fraction(0), Fraction(1, 5), Fraction(2, 5), Fraction(3, 5), 1])
def test_corners_have_bits_of_one_chance(tau: Fraction) -> None:
    for corner in _corners(Fraction(tau)):
        assert sum(corner) == 1
        assert min(corner) >= 0
        for bit in range(3):
            assert sum(c for bits, c in zip(_BITS, corner, strict=True) if bits[bit]) == tau


@settings(max_examples=30)
@given(st.fractions(0, 1), st.lists(st.floats(-1.0, 1.0), min_size=8, max_size=8))
def test_no_law_of_three_bits_lies_outside_of_the_corners(tau: Fraction, direction) -> None:
    """Of any direction, the farthest law is a corner (by linear programming)."""
    from scipy.optimize import linprog

    equations = np.array([[1.0, *bits] for bits in _BITS]).T
    sides = [1.0, *[float(tau)] * 3]
    farthest = -linprog(-np.array(direction), A_eq=equations, b_eq=sides).fun
    corners = np.array([[float(c) for c in corner] for corner in _corners(tau)])
    assert (corners @ direction).max() == pytest.approx(farthest, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("eps0", [0.3, 1.5, 2.5, 3.5])
def test_cells_cover_every_share_and_their_laws_are_laws(eps0: float) -> None:
    edges = _edges(eps0)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert {Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)} <= set(edges)
    for (low, high), cell in zip(itertools.pairwise(edges), staircases(eps0), strict=True):
        most, least = (1.0 / (1.0 + float(tau) * math.expm1(eps0)) for tau in (low, high))
        for law in cell.laws:
            assert law.mass.sum() == pytest.approx(1.0, rel=1e-13, abs=0.0)
            assert law.mass @ law.first == pytest.approx(1.0, rel=1e-13, abs=0.0)
            assert law.mass @ law.second == pytest.approx(1.0, rel=1e-13, abs=0.0)
            assert law.mass @ law.swap == pytest.approx(law.weight, rel=1e-13, abs=0.0)
            assert least / most * (1.0 - 1e-13) <= law.weight <= 1.0
        for kinds in cell.arrivals:
            assert sum(float(kind.mass.sum()) for kind in kinds) >= 1.0 - 1e-13
            for kind in kinds:
                assert kind.weight == pytest.approx(least / most, rel=1e-13, abs=0.0)
                assert {g for _, g, _ in kind.partners} == {
                    float(g) for law in cell.laws for g in law.swap
                }


def test_the_third_law_of_three_ary_response_is_a_corner() -> None:
    chances = {(1, 0, 0): Fraction(1, 3), (0, 1, 0): Fraction(1, 3), (0, 0, 1): Fraction(1, 3)}
    assert tuple(chances.get(bits, Fraction(0)) for bits in _BITS) in _corners(Fraction(1, 3))
