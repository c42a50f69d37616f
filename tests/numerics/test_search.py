"""Inversion of decreasing functions."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp import LDP
from shuffledp.accounting.bounds import get_bound
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.search import Start, invert_decreasing


@settings(max_examples=300)
@given(
    st.floats(0.01, 60.0),
    st.floats(-40.0, -0.01),
    st.floats(1e-3, 40.0),
    st.sampled_from([1, 2]),
    st.floats(0.0, 0.04),
    st.sampled_from([0.0, 1.0, -1.0]),
)
def test_encloses_the_root(
    top: float, log_target: float, rate: float, power: int, slop: float, lean: float
) -> None:
    """f = (1 - x/top) exp(-rate x^power); the quick version is wide and leans to one side."""

    def value(x: float) -> float:
        return max(1.0 - x / top, 0.0) * math.exp(-min(rate * x**power, 600.0))

    def exact(x: float) -> Enclosure:
        return Enclosure(value(x) * (1 - 1e-12), value(x) * (1 + 1e-12))

    def quick(x: float) -> Enclosure:
        return Enclosure(
            value(x) * (1 - slop * (1 - lean)), min(value(x) * (1 + slop * (1 + lean)), 1.0)
        )

    target = math.exp(log_target)
    found = invert_decreasing(exact, quick, target, top)
    assert 0.0 <= found.lower <= found.upper <= top
    assert found.upper == top or value(found.upper) <= target * (1 + 1e-11)
    assert found.lower == 0.0 or value(found.lower) >= target * (1 - 1e-11)
    only = invert_decreasing(exact, quick, target, top, lower_only=True)
    assert only.upper == top
    assert only.lower == 0.0 or value(only.lower) >= target * (1 - 1e-11)


@pytest.mark.parametrize("bound", ["stronger-clones", "feldman-2021", "dataset-3rr"])
@pytest.mark.parametrize(("eps0", "n"), [(0.5, 300), (1.0, 300), (2.0, 1000), (3.0, 1000)])
@pytest.mark.parametrize("nudge", [-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2])
def test_root_near_half_of_the_range(bound: str, eps0: float, n: int, nudge: float) -> None:
    """The search changes its variable at top/2: a root just beside it must stay enclosed."""
    curve = get_bound(bound).curve(LDP(eps0), n)
    target = curve.enclose(eps0 / 2.0).upper * (1.0 + nudge)
    found = curve.enclose_epsilon(target)
    assert curve.enclose(found.lower).upper >= target
    assert curve.enclose(found.upper).lower <= target


@settings(max_examples=120)
@given(
    st.floats(-4.0, 1.3).map(lambda x: 10.0**x),
    st.floats(0.0, 12.0),
    st.floats(0.5, 30.0),
    st.sampled_from(["stronger-clones", "feldman-2021", "wang-2023"]),
)
def test_epsilon_is_tight(eps0: float, size: float, digits: float, bound: str) -> None:
    """delta at the epsilon found is the target again, but for the search's own tolerance."""
    n, target = round(10.0**size), 10.0**-digits
    curve = get_bound(bound).curve(LDP(eps0), n)
    found = curve.enclose_epsilon(target)
    assume(0.0 < found.upper < eps0 * (1.0 - 1e-12))  # closer to eps0 floats are too sparse
    at = curve.enclose(found.upper)
    assert at.lower <= target
    assert at.upper >= target * (1.0 - 0.02)
    below = curve.enclose(found.lower)
    assert below.upper >= target


@pytest.mark.parametrize("n", [1, 10, 1000, 10**6])
def test_the_smallest_delta_there_is(n: int) -> None:
    """A ratio to it overflows."""
    for bound in ("stronger-clones", "dataset-2rr", "dataset-3rr"):
        found = get_bound(bound).curve(LDP(1.0), n).enclose_epsilon(5e-324)
        assert 0.0 <= found.lower <= found.upper <= 1.0


@settings(max_examples=500)
@given(
    st.floats(0.01, 100.0),
    st.one_of(st.just(1.0), st.floats(0.05, 1.0), st.floats(1e-6, 0.1).map(lambda x: 1.0 - x)),
    st.sampled_from([0.2, 1.0, 2.0, 5.0, 20.0]),
    st.floats(0.0, 50.0),
    st.one_of(st.floats(-200.0, -0.05), st.floats(-8.0, -0.05)),
    st.sampled_from([0.0, 1e-4]),
    st.one_of(st.none(), st.floats(0.0, 0.5)),
    st.booleans(),
)
def test_finds_the_root_of_what_vanishes_before_the_top(
    top: float,
    share: float,
    power: float,
    rate: float,
    log_target: float,
    width: float,
    begin: float | None,
    lower_only: bool,
) -> None:
    end, target = share * top, 10.0**log_target

    def value(x: float) -> float:
        return (1.0 - x / end) ** power * math.exp(-rate * x / top) if x < end else 0.0

    def f(x: float) -> Enclosure:
        return Enclosure(value(x) * (1.0 - width), value(x))

    low, high = 0.0, end
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if value(middle) > target else (low, middle)
    start = None if begin is None else Start(begin * top, -1.0 / top)
    found = invert_decreasing(f, f, target, top, start, lower_only=lower_only)
    assert found.lower == 0.0 or f(found.lower).lower >= target
    assert abs(found.lower - low) <= 1e-3 * max(low, 1e-9)
    if not lower_only:
        assert found.upper == top or f(found.upper).upper <= target
        assert abs(found.upper - low) <= 1e-3 * max(low, 1e-9)
