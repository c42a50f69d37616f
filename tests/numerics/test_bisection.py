"""Bisection: the good end holds for sure, whatever the condition."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.numerics.frequencies import product
from shuffledp.numerics.search import (
    Bracket,
    bisect,
    bisect_each,
    bisect_whole,
    fewest,
    grown,
    log_log_excess,
    steered,
)


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


@given(st.floats(0.01, 50.0), st.floats(0.2, 5.0), st.booleans())
def test_steered_ends_where_bisection_does(root: float, power: float, falling: bool) -> None:
    sign = -1.0 if falling else 1.0
    seen = []

    def excess(x: float) -> float:
        seen.append(x)
        return sign * (x**power - root**power)

    good, bad = (100.0, 0.001) if falling else (0.001, 100.0)
    found = steered(excess, good, bad, share=1e-9)
    assert excess(found.good) <= 0.0 < excess(found.bad)
    assert abs(found.good - found.bad) <= 1e-9 * max(found)
    assert len(seen) <= 100


@given(st.integers(1, 10**12), st.floats(0.2, 3.0))
def test_steered_finds_the_first_whole_number(root: int, power: float) -> None:
    found = steered(lambda n: -1.0 if n >= root else float(root - n) ** power, 10**13, 0)
    assert found == Bracket(root, root - 1)


def test_steered_never_moves_the_good_end_to_what_does_not_hold() -> None:
    """A condition that holds here and there: only places seen to hold are answers."""
    held = []

    def excess(x: float) -> float:
        value = math.sin(40.0 * x) + 0.3
        held.extend([x] if value <= 0.0 else [])
        return value

    assert steered(excess, 0.12, 1.0, share=1e-6).good in held


@given(st.floats(1e-300, 0.9), st.floats(0.0, 1.0))
def test_the_sign_of_an_excess_is_exact(target: float, value: float) -> None:
    assert (log_log_excess(value, target) > 0.0) == (value > target)
    for near in (target, math.nextafter(target, 0.0), math.nextafter(target, 1.0)):
        assert (log_log_excess(near, target) > 0.0) == (near > target)


@settings(max_examples=20)
@given(st.integers(1, 400), st.integers(1, 90), st.integers(1, 300), st.integers(0, 2**32))
def test_products_in_parts(rows: int, inner: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(rows, inner)), generator.normal(size=(inner, columns))
    bound = 4.0 * inner * 2.0**-53 * (np.abs(a) @ np.abs(b))
    assert np.all(np.abs(product(a, b) - np.einsum("ij,jk->ik", a, b)) <= bound)


@settings(max_examples=200)
@given(
    st.floats(0.0, 12.0),
    st.floats(0.3, 3.0),
    st.integers(1, 10**12),
    st.sampled_from([0.0, 1e-8, 1e-4]),
)
def test_fewest(log_root: float, slope: float, guess: int, share: float) -> None:
    """From any guess, the least number that holds, but for the share; few are asked."""
    root, asked = 10.0**log_root, []

    def excess(n: int) -> float:
        asked.append(n)
        return min(max(slope * math.log(root / n), -1.4), 0.7)

    found = fewest(excess, guess, 10**12, share=share)
    assert found is not None
    assert found.good in asked
    assert excess(found.good) <= 0.0
    assert found.good <= max(root * (1.0 + 2.0 * share / slope), root + 1.0)
    assert len(asked) < 100


def test_fewest_of_a_jump() -> None:
    found = fewest(lambda n: 1.0 if n < 777_777 else -1.0, 10, 10**9)
    assert found == Bracket(777_777, 777_776)
    assert fewest(lambda n: 1.0, 5, 1000) is None
    assert fewest(lambda n: -1.0, 5, 1000) == Bracket(1, 0)
