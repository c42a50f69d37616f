"""Exact integers against their laws; controls that must fail."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import ParameterError
from shuffledp.collection.devices import secure, simulation
from shuffledp.collection.devices.integers import (
    bernoulli,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform,
)
from tests.oracles.device_laws import misfit

N = 100_000


def _laplace(rate: float) -> dict[int, float]:
    shape = {
        y: math.exp(-rate * abs(y)) for y in range(-math.ceil(60 / rate), math.ceil(60 / rate))
    }
    total = math.fsum(shape.values())
    return {y: mass / total for y, mass in shape.items()}


def _gaussian(variance: float) -> dict[int, float]:
    reach = math.ceil(40 * math.sqrt(variance))
    shape = {y: math.exp(-0.5 * y * y / variance) for y in range(-reach, reach + 1)}
    total = math.fsum(shape.values())
    return {y: mass / total for y, mass in shape.items()}


def _counted(values: np.ndarray[Any, Any]) -> Counter[Any]:
    return Counter(values.tolist())


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 16, 100, 255, 4095, 4096, 5000])
def test_uniform(bound: int) -> None:
    drawn = uniform(secure(), bound, N)
    assert not misfit(_counted(drawn), dict.fromkeys(range(bound), 1 / bound), N)


@pytest.mark.parametrize("bound", [(1 << 32) - 5, (1 << 32) + 3, 3 << 50, (1 << 63) + 1])
def test_large_uniform(bound: int) -> None:
    drawn = uniform(secure(), bound, N)
    tenth = Counter(int(x) * 10 // bound for x in drawn.tolist())
    assert max(drawn.tolist()) < bound
    assert not misfit(tenth, dict.fromkeys(range(10), 0.1), N)
    odd = Counter((drawn & drawn.dtype.type(1)).tolist())
    assert not misfit(odd, {0: 0.5, 1: 0.5}, N)


def test_small_words_are_unbiased_where_it_is_hardest() -> None:
    """Bound 15 from bytes: plain multiplication without rejection would fail."""
    stream = secure()
    size = 4_000_000
    exact = dict.fromkeys(range(15), 1 / 15)
    assert not misfit(_counted(uniform(stream, 15, size)), exact, size)
    biased = (stream.words(size, np.uint8).astype(np.uint16) * 15) >> 8
    assert misfit(_counted(biased), exact, size)


@pytest.mark.parametrize(
    ("numerator", "bits"),
    [(0, 48), (1 << 48, 48), (1, 3), (5, 8), (77, 9), (3 << 44, 48), (12345678912345, 48)],
)
def test_bernoulli(numerator: int, bits: int) -> None:
    p = numerator / (1 << bits)
    drawn = bernoulli(secure(), numerator, bits, N)
    expected = {bit: q for bit, q in ((True, p), (False, 1 - p)) if q}
    assert not misfit(_counted(drawn), expected, N)


def test_bernoulli_looks_at_all_bits() -> None:
    """2^-10 + 2^-12: the first byte alone cannot tell it from 0."""
    size = 4_000_000
    drawn = bernoulli(secure(), (1 << 38) + (1 << 36), 48, size)
    p = 2.0**-10 + 2.0**-12
    assert not misfit(_counted(drawn), {True: p, False: 1 - p}, size)
    assert misfit(_counted(drawn), {True: 2.0**-10, False: 1 - 2.0**-10}, size)


@pytest.mark.parametrize(
    "rate", [Fraction(1), Fraction(3, 7), Fraction(1049, 1 << 20), Fraction(5)]
)
def test_geometric_and_laplace(rate: Fraction) -> None:
    stream, r = secure(), float(rate)
    expected = {y: -math.expm1(-r) * math.exp(-r * y) for y in range(math.ceil(60 / r))}
    assert not misfit(_counted(geometric(stream, rate, N)), expected, N)
    noise = discrete_laplace(stream, rate, N)
    assert not misfit(_counted(noise), _laplace(r), N)
    assert misfit(_counted(noise), _laplace(1.3 * r), N)
    assert misfit(_counted(noise), _laplace(0.7 * r), N)


@pytest.mark.parametrize(
    "variance", [Fraction(1, 4), Fraction(1), Fraction(25, 2), Fraction(10_000)]
)
def test_gaussian(variance: Fraction) -> None:
    noise = discrete_gaussian(secure(), variance, N)
    assert not misfit(_counted(noise), _gaussian(float(variance)), N)
    assert misfit(_counted(noise), _gaussian(1.3 * float(variance)), N)
    assert misfit(_counted(noise), _gaussian(0.7 * float(variance)), N)


def test_gaussian_far_out_is_computed_in_long_integers() -> None:
    """Large intermediate numbers do not wrap around: the largest variance allowed."""
    noise = discrete_gaussian(secure(), Fraction(1 << 24), 20_000)
    assert abs(noise.var() / (1 << 24) - 1.0) < 6 * math.sqrt(2 / 20_000)


def _shared_support(sampler: Callable[[float], np.ndarray[Any, Any]]) -> float:
    """Share of the reports about 0 that a user with another value has sent, too."""
    return float(np.isin(sampler(0.0), sampler(1.0)).mean())


def test_support_tells_nothing_and_float_noise_does() -> None:
    """Goodness of fit passes float noise; its support gives it away."""
    stream, generator = secure(), np.random.default_rng(1)
    exact = _shared_support(lambda x: round(10 * x) + discrete_laplace(stream, Fraction(1, 10), N))
    floats = _shared_support(lambda x: x + generator.laplace(scale=1.0, size=N))
    assert exact > 0.99
    assert floats < 0.5


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 1 << 53)])
def test_bad_rates(rate: Fraction) -> None:
    with pytest.raises(ParameterError, match="rate"):
        discrete_laplace(secure(), rate, 3)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-2), Fraction(1, 10**20)])
def test_bad_variances(variance: Fraction) -> None:
    with pytest.raises(ParameterError, match="variance"):
        discrete_gaussian(secure(), variance, 3)


def test_a_simulation_repeats_itself() -> None:
    first, second = (discrete_laplace(simulation(7), Fraction(1, 3), 1000) for _ in range(2))
    assert np.array_equal(first, second)
