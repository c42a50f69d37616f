"""Windows over a uniform floor, and rounding to levels: their accounts against all data sets."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    DiscretePiecewise,
    ParameterError,
    Piecewise,
    Plateau,
    RoundedResponse,
    Shuffled,
)
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.devices import device
from tests.oracles.device_laws import law

Law = dict[tuple[int, ...], Fraction]


def _shuffled(laws: list[Law]) -> dict[Any, Fraction]:
    """The law of the multiset of reports."""
    found: Counter[Any] = Counter()
    for reports in itertools.product(*(each.items() for each in laws)):
        key = tuple(sorted(report for report, _ in reports))
        found[key] += math.prod((mass for _, mass in reports), start=Fraction(1))
    return found


def _leaked(laws: list[Law], n: int, epsilon: float) -> float:
    """The largest delta over every victim's pair and every data set of n - 1 others."""
    e, worst = Fraction(math.exp(epsilon)), Fraction(0)
    for others in itertools.combinations_with_replacement(laws, n - 1):
        whole = [_shuffled([victim, *others]) for victim in laws]
        for p, q in itertools.permutations(whole, 2):
            worst = max(worst, sum((max(p[z] - e * q[z], Fraction(0)) for z in p), Fraction(0)))
    return float(worst)


CASES: list[tuple[Randomizer, list[float], int]] = [
    (DiscretePiecewise(4, 1, eps0=2.0), [0.0, 0.25, 0.5, 0.75, 1.0], 3),
    (DiscretePiecewise(4, 2, eps0=1.0), [0.0, 0.25, 0.5, 0.75, 1.0], 3),
    (DiscretePiecewise(4, 3, eps0=3.0), [0.0, 0.25, 0.5, 0.75, 1.0], 3),
    (DiscretePiecewise(3, 3, eps0=1.5), [0.0, 1 / 3, 2 / 3, 1.0], 3),
    (RoundedResponse(4, eps0=2.0), [0.0, 0.125, 0.5, 0.75, 1.0], 3),
    (RoundedResponse(3, eps0=0.5), [0.0, 0.25, 0.5, 1.0], 3),
    (RoundedResponse(2, eps0=1.0), [0.0, 0.3, 1.0], 3),
]


@pytest.mark.parametrize(("randomizer", "values", "most"), CASES, ids=str)
def test_above_every_data_set(randomizer: Randomizer, values: list[float], most: int) -> None:
    machine = device(randomizer)
    laws = [law(machine, x) for x in values]
    for n in range(1, most + 1):
        for epsilon in (0.0, 0.3, 0.9):
            found = Shuffled(machine.randomizer, n).delta(epsilon)
            leaked = _leaked(laws, n, epsilon)
            assert leaked <= found.upper * (1 + 1e-9) + 1e-15
            assert found.lower * (1 - 1e-9) <= leaked + 1e-15


@pytest.mark.parametrize(("width", "k"), [(0.5, 3), (0.25, 5), (0.125, 9)])
@pytest.mark.parametrize("eps0", [0.5, 4.0])
def test_disjoint_windows_are_a_randomized_response(width: float, k: int, eps0: float) -> None:
    """k' = (1 + width) / width, what is proven by the blanket and what data sets leak."""
    for n in (1, 50, 10_000):
        window, response = (
            Shuffled(each, n) for each in (Plateau(width, eps0=eps0), KRR(k, eps0=eps0))
        )
        for theorem in ("blanket", "dataset"):
            found, wanted = (each.bound(theorem, delta=1e-5).value for each in (window, response))
            assert found == pytest.approx(wanted, rel=1e-9, abs=0.0)


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 6),
    st.floats(0.1, 6.0),
    st.floats(0.0, 4.0),
    st.floats(-50.0, 50.0),
)
def test_less_overlap_is_a_spread(
    window: int, gap: int, overlap: int, eps0: float, epsilon: float, level: float
) -> None:
    """Mean of (V - level)+ on a line of the same length, never more with an overlap."""
    big, e, overlap = math.exp(eps0), math.exp(epsilon), min(overlap, window)
    line = 2 * window + gap

    def mean(shared: int) -> float:
        masses = {
            big - e: window - shared,
            1.0 - e * big: window - shared,
            big * (1.0 - e): shared,
            1.0 - e: line - 2 * window + shared,
        }
        assert math.isclose(
            sum(v * m for v, m in masses.items()),
            (1.0 - e) * (line + window * (big - 1.0)),
            rel_tol=1e-9,
            abs_tol=1e-9 * big * e,
        )
        return sum(max(value - level, 0.0) * mass for value, mass in masses.items())

    assert mean(overlap) <= mean(0) * (1 + 1e-12) + 1e-9 * big * e


def test_rounding_is_accounted_for_as_its_levels() -> None:
    for k, eps0 in ((2, 1.0), (10, 4.0)):
        rounded, plain = (Shuffled(kind(k, eps0=eps0), 1000) for kind in (RoundedResponse, KRR))
        assert rounded.epsilon(1e-6).upper == plain.epsilon(1e-6).upper
        assert rounded.epsilon(1e-6).lower == plain.epsilon(1e-6).lower


def test_the_piecewise_mechanism_is_one_of_these() -> None:
    for eps0 in (0.5, 2.0, 5.0):
        same = Plateau(math.exp(-0.5 * eps0), eps0=eps0)
        found, wanted = (Shuffled(each, 500).epsilon(1e-5) for each in (same, Piecewise(eps0)))
        assert found.upper == pytest.approx(wanted.upper, rel=1e-6, abs=0.0)
        assert found.lower == pytest.approx(wanted.lower, rel=1e-6, abs=0.0)


def test_floors_and_defaults() -> None:
    one = Plateau(0.25, eps0=2.0)
    inside = (1.0 - one.floor) / 0.25 + one.floor / 1.25
    assert inside / (one.floor / 1.25) == pytest.approx(math.exp(2.0), rel=1e-12, abs=0.0)
    assert Plateau(eps0=0.1).width == 1.0
    assert Plateau(eps0=6.0).width == pytest.approx(math.exp((math.log(2.0) - 6.0) / 3.0))
    assert [RoundedResponse(eps0=eps0).k for eps0 in (0.1, 3.0, 6.0)] == [2, 4, 9]
    assert RoundedResponse(eps0=299.0).k < 10**6


@pytest.mark.parametrize("width", [0.0, -0.1, 1.0001, math.inf, math.nan, "wide"])
def test_widths_out_of_range(width: Any) -> None:
    with pytest.raises(ParameterError, match=r"'width'.*\(0, 1\]"):
        Plateau(width, eps0=1.0)


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True])
def test_numbers_of_levels_out_of_range(k: Any) -> None:
    with pytest.raises(ParameterError, match="'k'"):
        RoundedResponse(k, eps0=1.0)
