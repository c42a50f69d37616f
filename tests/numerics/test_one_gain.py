"""Sums whose large values hardly ever meet, against exact sums over lattices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.numerics import positive_part as engine
from shuffledp.numerics.frequencies import Measure
from shuffledp.numerics.one_gain import _Against, one_gain
from shuffledp.numerics.positive_part import Law, mean_positive_part
from tests.oracles.positive_part import lattice, rational

_UNIT = 2.0**-10


def heavy(rare: float, tail: float) -> tuple[list[int], list[float]]:
    """Gains of that chance, losses on many scales."""
    gains = np.array([1, 2, 3, 5, 9, 17, 33, 60, 100, 180, 250])
    losses = np.array([0, 1, 2, 4, 8, 15, 30, 70, 130, 256, 400])
    weights = np.concatenate([rare * gains ** -(1 + tail), np.maximum(losses, 0.5) ** -tail])
    return [*gains.tolist(), *(-losses).tolist()], (weights / math.fsum(weights)).tolist()


def truth(values: list[int], weights: list[float], n: int) -> arb:
    ctx.prec = 600
    return lattice(values, weights, n, _UNIT)


def asked(values: list[int], weights: list[float], n: int, width: float) -> engine.Enclosure | None:
    law = Law(np.array(values) * _UNIT, weights)
    part = Measure(law.values, law.weights, 0.0, law.weight_error)
    return one_gain(part, n, width, 0.0, math.inf, engine._excess)


@pytest.mark.parametrize("n", [2, 7, 32])
@pytest.mark.parametrize("rare", [1e-5, 1e-12, 1e-30])
@pytest.mark.parametrize("tail", [0.5, 2.0])
def test_one_gain_against_all(n: int, rare: float, tail: float) -> None:
    values, weights = heavy(rare, tail)
    exact = truth(values, weights, n)
    found = asked(values, weights, n, 2e-2)
    assert found is not None
    assert arb(found.lower) <= exact <= arb(found.upper)
    assert found.upper - found.lower <= 4e-2 * found.upper
    both = mean_positive_part(Law(np.array(values) * _UNIT, weights), n)
    assert arb(both.lower) <= exact <= arb(both.upper)


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("often", [1e-9, 1e-4, 0.1])
def test_small_gains_may_meet(n: int, often: float) -> None:
    """Gains of 1 are less rare: only those above may be such that hardly two of them meet."""
    values, weights = heavy(1e-18, 1.0)
    values, weights = [*values, 1], [*((1.0 - often) * np.array(weights)).tolist(), often]
    exact = truth(values, weights, n)
    found = asked(values, weights, n, 2e-2)
    assert found is None or arb(found.lower) <= exact <= arb(found.upper)


def test_large_is_what_hardly_meets() -> None:
    """Two gains of 1 meet much more often than one of 300 comes, but do not outweigh a loss."""
    values, weights = [300, 1, -20, -25, -40], [1e-19, 1e-9, 0.5, 0.3, 0.2 - 1e-9]
    exact = truth(values, weights, 10)
    found = asked(values, weights, 10, 1e-2)
    assert found is not None
    assert arb(found.lower) <= exact <= arb(found.upper)
    assert found.upper - found.lower <= 2e-2 * found.upper


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 600), min_size=1, max_size=8, unique=True),
    st.integers(0, 2**32),
    st.integers(2, 20),
    st.sampled_from([1e-3, 1e-2, 0.3]),
)
def test_whatever_the_law(
    gains: list[int], losses: list[int], seed: int, n: int, width: float
) -> None:
    generator = np.random.default_rng(seed)
    rare = 10.0 ** generator.uniform(-25.0, -2.0, len(gains))
    weights = np.concatenate([rare, 10.0 ** generator.uniform(-6.0, 0.0, len(losses))])
    weights = (weights / math.fsum(weights)).tolist()
    values = [*gains, *(-x for x in losses)]
    found = asked(values, weights, n, width)
    exact = truth(values, weights, n)
    assert found is None or arb(found.lower) <= exact <= arb(found.upper)
    both = mean_positive_part(Law(np.array(values) * _UNIT, weights), n, width=width)
    assert arb(both.lower) <= exact <= arb(both.upper)


def test_nothing_is_told_where_two_gains_meet() -> None:
    assert asked([3, -1], [0.2, 0.8], 50, 1e-2) is None


def test_a_mean_positive_part_is_at_most_that_of_one_value() -> None:
    """Whatever is lost: roundings of huge losses are none of it."""
    law = Law([-1e60, -1.0, 1e-5], [1e-20, 0.5, 0.5 - 1e-20])
    assert mean_positive_part(law, 3).upper <= 0.5e-5 * (1.0 + 1e-12)


@pytest.mark.parametrize("rare", [1e-9, 1e-4, 0.05])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_small_values_together_are_bounded(n: int, rare: float) -> None:
    """A sum of n of them, or of one or two less, where a large one counts as nothing."""
    values, weights = [-40.0, -30.0, -20.0, 1.0, 2.0, 9.0], [0.3, 0.4, 0.3, rare, rare, rare]
    part = Measure(np.array(values), np.array(weights) / sum(weights), 0.0, 1e-14)
    cut, small = _Against(part, n, engine._excess)._small(np.full(3, math.inf))
    assert 3 < cut < 6
    kept = [v if i < cut else 0.0 for i, v in enumerate(values)]
    for count in range(max(n - 2, 1), n + 1):
        assert float(count * rational(kept, weights, count)) / n <= small
