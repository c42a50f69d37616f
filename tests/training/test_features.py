"""Fixed features: a picture's own, whoever else there is, and of bounded norm."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.training import Dataset
from shuffledp.training.features import scattering

RNG = np.random.default_rng(5)
PICTURES = RNG.random((6, 1, 28, 28)).astype(np.float32)


def test_shape_and_norm() -> None:
    found = scattering(PICTURES, 4)
    assert found.shape == (6, (1 + 2 * 4 + 4**2) * 7 * 7)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    assert scattering(PICTURES[:, :, :12, :16], 3).shape == (6, (1 + 2 * 3 + 3**2) * 3 * 4)


def test_a_picture_is_transformed_by_itself() -> None:
    assert np.allclose(scattering(PICTURES, 2)[3], scattering(PICTURES[3:4], 2)[0], atol=1e-6)


def test_flat_and_broken_pictures() -> None:
    """Nothing is refused for what a picture shows: that would tell."""
    flat = np.zeros((1, 1, 28, 28), dtype=np.float32)
    assert np.all(scattering(flat, 2) == 0.0)
    broken = PICTURES[:2].copy()
    broken[0, 0, 3, 3] = np.nan
    assert np.isfinite(scattering(broken, 2)[1]).all()


def test_directions_are_told_apart() -> None:
    stripes = np.tile(np.sin(np.arange(28) * 0.75 * np.pi).astype(np.float32), (28, 1))
    both = np.stack([stripes, stripes.T])[:, None]
    one, other = scattering(both, 2).reshape(2, -1, 49)
    assert np.abs(one - other).max() > 0.02


def test_refused() -> None:
    with pytest.raises(ParameterError, match="orientations"):
        scattering(PICTURES, 0)
    with pytest.raises(ParameterError, match="pictures"):
        scattering(PICTURES[:, 0], 2)
    with pytest.raises(ParameterError, match="pictures"):
        scattering(PICTURES[:, :, :5], 2)


def test_a_validation_split_leaves_the_test_data_out() -> None:
    labels = np.arange(6)
    data = Dataset(PICTURES, labels, PICTURES[:1] + 9.0, labels[:1])
    split = data.validation(2)
    assert list(split.train_labels) == [0, 1, 2, 3]
    assert list(split.test_labels) == [4, 5]
    assert split.test_inputs.max() <= 1.0
    assert split.scattering(2).test_inputs.shape == (2, 9 * 49)
    for count in (0, 6):
        with pytest.raises(ParameterError, match="count"):
            data.validation(count)
