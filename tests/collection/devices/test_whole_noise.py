"""Exact draws of whole noise: their laws by a chi-square test, negative controls, refusals."""

import numpy as np
import pytest

from shuffledp import (
    BinomialNoise,
    DiscreteGaussianNoise,
    NegativeBinomialNoise,
    ParameterError,
    PoissonNoise,
    PolyaNoise,
    SkellamNoise,
    TruncatedLaplaceNoise,
)
from shuffledp.accounting.randomizers.noise import Noise
from shuffledp.collection.devices import secure, simulation
from shuffledp.collection.devices.whole_noise import draw

SIZE = 40_000
NOISES = [
    PoissonNoise(0.3),
    PoissonNoise(7.25),
    SkellamNoise(2.0),
    BinomialNoise(7, 0.3),
    DiscreteGaussianNoise(2.0, 3),
    TruncatedLaplaceNoise(4, 2.0),
    TruncatedLaplaceNoise(2, 4.0, 3),
    PolyaNoise(0.05, 3.0),
    PolyaNoise(1.0, 2.0),
    PolyaNoise(1.5, 2.0),
    PolyaNoise(0.4, 0.2),
    NegativeBinomialNoise(0.3, 0.7),
    NegativeBinomialNoise(4.0, 0.5),
]


def _far(noise: Noise, drawn: np.ndarray) -> float:
    """Chi-square in its own deviations: rare outcomes pooled."""
    law = noise.law()
    expected = law.low * drawn.size
    places = law.start + np.arange(law.low.size)
    seen = np.array([np.count_nonzero(drawn == place) for place in places[expected > 10.0]])
    likely = expected[expected > 10.0]
    rest, left = drawn.size - seen.sum(), max(drawn.size - likely.sum(), 1e-9)
    value = float((((seen - likely) ** 2) / likely).sum())
    value += (rest - left) ** 2 / left if left > 10.0 else 0.0
    assert left > 10.0 or rest <= 60
    return float((value - likely.size) / np.sqrt(2.0 * likely.size))


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_law_is_the_one_that_is_accounted_for(noise: Noise) -> None:
    """Seeds are fixed: beyond 6 deviations once in a million."""
    assert _far(noise, draw(noise, SIZE, simulation(20))) < 6.0


@pytest.mark.parametrize(
    ("drawn", "claimed"),
    [
        (PoissonNoise(7.0), PoissonNoise(7.25)),
        (PolyaNoise(0.05, 3.0), PolyaNoise(0.07, 3.0)),
        (TruncatedLaplaceNoise(4, 2.0), TruncatedLaplaceNoise(5, 2.0)),
        (NegativeBinomialNoise(4.0, 0.5), NegativeBinomialNoise(4.0, 0.51)),
    ],
    ids=str,
)
def test_a_wrong_law_is_seen(drawn: Noise, claimed: Noise) -> None:
    assert _far(claimed, draw(drawn, SIZE, simulation(20))) > 6.0


def test_shares_of_many_users_cost_little_and_add_up() -> None:
    shares = draw(PolyaNoise(1e-5, 500.0), 100_000, simulation(3))
    assert 0 < np.count_nonzero(shares) < 40
    one_sided = draw(PoissonNoise(1e-5), 100_000, secure())
    assert one_sided.min() == 0
    assert draw(PoissonNoise(3.0), 0, secure()).size == 0


def test_what_no_device_draws_exactly_is_refused() -> None:
    with pytest.raises(ParameterError, match="scale"):
        draw(TruncatedLaplaceNoise(4, 3.1), 5, simulation(1))
    with pytest.raises(ParameterError, match="chance"):
        draw(BinomialNoise(4, 1e-30), 5, simulation(1))
    with pytest.raises(ParameterError, match="draws"):
        draw(PoissonNoise(1e9), 100, simulation(1))
    with pytest.raises(ParameterError, match="scale"):
        draw(PolyaNoise(0.5, 1e11), 5, simulation(1))
