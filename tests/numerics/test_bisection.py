"""Bisection: the good end holds for sure, whatever the condition."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.numerics.search import bisect, bisect_each, bisect_whole, grown


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0), st.floats(0.0, 1.0), st.booleans())
def test_the_good_end_was_seen_to_hold(good: float, bad: float, share: float, flip: bool) -> None:
    """Also where the condition is not monotone."""
    seen = {good}

    def holds(x: float) -> bool:
        if (math.sin(40.0 * x) > 0.0) != flip:
            seen.add(x)
            return True
        return False

    found = bisect(holds, good, bad, halvings=30, share=share)
    assert found.good in seen
    assert found.bad not in seen or found.bad == bad
    assert min(good, bad) <= min(found) <= max(found) <= max(good, bad)


def test_until_nothing_lies_between() -> None:
    found = bisect(lambda x: x * x <= 2.0, 0.0, 2.0)
    assert found.bad == math.nextafter(found.good, math.inf)
    assert found.good**2 <= 2.0 < found.bad**2


def test_as_close_as_asked() -> None:
    for kind in ({"share": 1e-3}, {"within": 2e-3}, {"halvings": 10}):
        found = bisect(lambda x: x < 1.5, 0.0, 2.0, **kind)
        assert 5e-4 < found.bad - found.good <= 2.0 / 2**10


@given(st.integers(0, 10**12), st.integers(1, 10**12))
def test_whole_numbers(good: int, gap: int) -> None:
    edge = good + gap // 3
    assert bisect_whole(lambda k: k <= edge, good, good + gap) == (edge, edge + 1)
    assert bisect_whole(lambda k: k > edge, good + gap, good) == (edge + 1, edge)
    coarse = bisect_whole(lambda k: k <= edge, good, good + gap, parts=1000)
    assert coarse.good <= edge < coarse.bad
    assert coarse.bad - coarse.good <= max(1, coarse.bad // 1000)


def test_growing_brackets() -> None:
    assert grown(lambda x: x > 10.0, 1.0, 0.0) == (16.0, 8.0)
    assert grown(lambda x: x > 10, 20, 3) == (20, 3)
    assert grown(lambda _: False, 2, 1, most=100) == (128, 64)
    assert grown(lambda x: x > 2.0, 1.0, 0.0, factor=1.5) == (2.25, 1.5)


def test_many_roots_at_once() -> None:
    roots = np.array([0.1, 0.5, 0.77])
    low, high = bisect_each(lambda x: x < roots, np.zeros(3), np.ones(3), halvings=20)
    assert (low < roots).all()
    assert (roots <= high).all()
    assert np.allclose(high - low, 2.0**-20, rtol=1e-9, atol=0.0)
