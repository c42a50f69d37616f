"""Noise against its exact law. Each statistical test raises a false alarm with probability < 1e-6."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shuffledp.errors import ParameterError
from shuffledp.training import noise
from shuffledp.training.noise import Randomness, Secure, Simulated

ALARM = 1e-6
SIZE = 100_000
KINDS = {"secure": Secure, "simulated": lambda: Simulated(7)}


def _distance(draws: np.ndarray, law: object) -> float:
    return float(stats.kstest(draws, law.cdf).pvalue)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("factor", "fits"), [(1.0, True), (0.9, False), (1.1, False)], ids=["right", "less", "more"]
)
def test_calibration(kind: str, factor: float, fits: bool) -> None:
    """Laplace scale sensitivity / eps0, Gaussian deviation sigma; 10 % off is seen."""
    source: Randomness = KINDS[kind]()
    value = torch.full((SIZE,), 3.0, dtype=torch.float64)
    laplace = source.laplace(value, 2.0, 0.5 / factor).numpy() - 3.0
    gaussian = source.gaussian(value, 1.5 * factor, 2.0).numpy() - 3.0
    assert (_distance(laplace, stats.laplace(scale=4.0)) > ALARM) == fits
    assert (_distance(gaussian, stats.norm(scale=1.5)) > ALARM) == fits


def test_the_sum_of_local_gaussians_is_one_draw() -> None:
    """50 reports of deviation 1 against one draw of deviation sqrt(50)."""
    source = Secure()
    summed = source.gaussian(torch.zeros(50, 4000, dtype=torch.float64), 1.0, 2.0).sum(dim=0)
    single = Simulated(3).gaussian(torch.zeros(4000, dtype=torch.float64), math.sqrt(50.0), 2.0)
    assert stats.ks_2samp(summed.numpy(), single.numpy()).pvalue > ALARM
    wrong = Simulated(3).gaussian(torch.zeros(4000, dtype=torch.float64), 50.0, 2.0)
    assert stats.ks_2samp(summed.numpy(), wrong.numpy()).pvalue < ALARM


def test_results_lie_on_the_grid() -> None:
    """What a floating-point sampler fails: every result is a whole number of steps from 0."""

    def on_grid(result: torch.Tensor, step: float) -> bool:
        multiples = result.numpy() / step
        return bool((np.abs(multiples - np.rint(multiples)) < 1e-3).all())

    value = torch.full((1000,), 0.1, dtype=torch.float64)
    step = noise.laplace_grid(1000, 1e-3, 1.0)
    assert on_grid(Secure().laplace(value, 1e-3, 1.0), step)
    assert not on_grid(Simulated(1).laplace(value, 1e-3, 1.0), step)


@pytest.mark.parametrize("kind", KINDS)
def test_orders_and_coins(kind: str) -> None:
    source: Randomness = KINDS[kind]()
    orders = [tuple(source.permutation(4)) for _ in range(6000)]
    counts = np.unique(np.array([hash(o) for o in orders]), return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > ALARM
    heads = int(source.coins(SIZE, 0.1).sum())
    assert stats.binomtest(heads, SIZE, 0.1).pvalue > ALARM
    assert stats.binomtest(heads, SIZE, 0.11).pvalue < ALARM
    assert source.coins(10, 1.0).all()


def test_simulations_repeat_and_streams_do_not() -> None:
    zeros = torch.zeros(5, dtype=torch.float64)
    assert torch.equal(Simulated(1).laplace(zeros, 1, 1), Simulated(1).laplace(zeros, 1, 1))
    assert not torch.equal(Secure().laplace(zeros, 1, 1), Secure().laplace(zeros, 1, 1))
    with pytest.raises(TypeError, match="never leaves"):
        pickle.dumps(Secure())


def test_refusals() -> None:
    """From sizes and settings only, never from a value."""
    value = torch.ones(10, dtype=torch.float64)
    with pytest.raises(ParameterError, match="eps0"):
        Secure().laplace(value, 1.0, 1e-12)
    with pytest.raises(ParameterError, match="sigma"):
        Secure().gaussian(value, 1e12, 1.0)
    with pytest.raises(ParameterError, match="sensitivity"):
        Secure().laplace(value, 1e-300, 1.0)


@pytest.mark.parametrize("bad", [1e9, -1e300, math.inf, -math.inf, math.nan])
def test_no_value_is_refused(bad: float) -> None:
    """Held at 4096 noise scales: a refusal before the noise would tell which data set it was."""
    value = torch.tensor([bad, 1.0], dtype=torch.float64)
    for noisy, scale in (
        (Secure().laplace(value, 1.0, 1.0), 1.0),
        (Secure().gaussian(value, 1.0, 2.0), 1.0),
    ):
        centre = 0.0 if math.isnan(bad) else math.copysign(4096.0, bad)
        assert abs(float(noisy[0]) - centre) < 60.0 * scale
        assert abs(float(noisy[1]) - 1.0) < 60.0 * scale


@given(
    st.floats(-(2.0**53), 2.0**53),
    st.floats(-8.0, 8.0),
    st.floats(1e-30, 1e30),
)
def test_on_the_grid_values_stay_as_close_as_accounted(
    steps: float, apart: float, grid: float
) -> None:
    """Against exact fractions: holding and rounding add at most the two steps the noise makes up for."""
    first, second = steps * grid, (steps + apart) * grid
    here, there = (
        int(noise.whole_steps(torch.tensor([x], dtype=torch.float64), grid)[0])
        for x in (first, second)
    )
    exact = abs(Fraction(first) - Fraction(second)) / Fraction(grid)
    assert abs(here - there) <= exact + Fraction(noise._APART)
    assert max(abs(here), abs(there)) <= 2**52


@pytest.mark.parametrize(("size", "eps0", "sensitivity"), [(1, 0.1, 3.0), (10**6, 1.0, 1e-4)])
def test_the_step_covers_rounding(size: int, eps0: float, sensitivity: float) -> None:
    """sensitivity / step + two steps per coordinate is at most eps0 noise scales of 2^40 steps."""
    step = Fraction(noise.laplace_grid(size, sensitivity, eps0))
    assert Fraction(sensitivity) / step + 2 * size <= Fraction(eps0) * 2**40
    sigma = sensitivity / eps0
    step = Fraction(noise.gaussian_grid(size, sigma, sensitivity))
    moved = float(Fraction(sensitivity) / step) + 2.0 * math.sqrt(size)
    assert moved <= sensitivity / sigma * 2.0**40 * (1.0 - 2.0**-22)
