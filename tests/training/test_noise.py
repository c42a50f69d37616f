"""Noise against its exact law. Each statistical test raises a false alarm with probability < 1e-6."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
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
    left = 1.0 * (1.0 - noise._MARGIN) - 1000 / 2.0**40
    step = 1e-3 / left / 2.0**40 * 2**0
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
    value = torch.ones(10, dtype=torch.float64)
    with pytest.raises(ParameterError, match="eps0"):
        Secure().laplace(value, 1.0, 1e-12)
    with pytest.raises(ParameterError, match="value"):
        Secure().laplace(value * float("nan"), 1.0, 1.0)
    with pytest.raises(ParameterError, match="value"):
        Secure().gaussian(value * 1e9, 1.0, 2.0)
