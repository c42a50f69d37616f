"""Randomness that protects people, and seeded randomness that only simulates it.

Both kinds offer the same draws: who reports, in which order, and a vector with noise. The secure
kind works on whole multiples of a grid step, so that no floating-point digit of the result depends
on the data other than through the noisy value itself (docs/proofs/training.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shuffledp import checks
from shuffledp.collection.devices import secure
from shuffledp.collection.devices.fine import FINE, FINE_NOISE, Integers
from shuffledp.collection.devices.integers import bernoulli
from shuffledp.collection.shuffling import permutation
from shuffledp.errors import ParameterError

_MARGIN = 2.0**-20
"""Relative growth of the noise: covers rounded sums, and what a grid lacks of a continuous law."""
_COIN_BITS = 64
"""Exact for all rates above 2^-11; smaller ones are rounded down."""
_LARGEST = 2.0**52
"""Where a value is held, in steps: 4096 noise scales from 0, beyond which doubles skip steps."""
_APART = 2.0
"""Steps per coordinate by which dividing and rounding can bring two values further apart."""


class Randomness(ABC):
    """What a training run draws."""

    simulation: bool
    label: str

    @abstractmethod
    def permutation(self, size: int) -> Integers:
        """A uniform order of range(size)."""

    @abstractmethod
    def coins(self, size: int, rate: float) -> NDArray[np.bool_]:
        """Independent coins that show True with probability ``rate``."""

    @abstractmethod
    def laplace(self, value: Tensor, sensitivity: float, eps0: float) -> Tensor:
        """value + Laplace noise on every coordinate: eps0-private for this l1 sensitivity."""

    @abstractmethod
    def gaussian(self, value: Tensor, sigma: float, sensitivity: float) -> Tensor:
        """value + normal noise of deviation sigma on every coordinate; sensitivity is in l2."""

    def state(self) -> Tensor | None:
        """What a checkpoint must keep so that a resumed run is the same run;
        None if it must not."""
        return None

    def restore(self, state: Tensor | None) -> None:
        """Go on from ``state``."""
        del state


class Simulated(Randomness):
    """A seeded generator and floating-point noise: repeatable and quick, protects nobody."""

    simulation = True
    label = "SIMULATION: seeded generator, floating-point noise; protects nobody"

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def permutation(self, size: int) -> Integers:
        return torch.randperm(size, generator=self._generator).numpy()

    def coins(self, size: int, rate: float) -> NDArray[np.bool_]:
        return np.asarray((torch.rand(size, generator=self._generator) < rate).numpy())

    def laplace(self, value: Tensor, sensitivity: float, eps0: float) -> Tensor:
        draws = torch.rand(2, *value.shape, generator=self._generator, dtype=value.dtype)
        first, second = draws.clamp(min=torch.finfo(value.dtype).tiny).log()
        noise: Tensor = sensitivity / eps0 * (first - second)
        return value + noise

    def gaussian(self, value: Tensor, sigma: float, sensitivity: float) -> Tensor:
        noise = torch.randn(value.shape, generator=self._generator, dtype=value.dtype)
        return value + sigma * noise

    def state(self) -> Tensor | None:
        return self._generator.get_state()

    def restore(self, state: Tensor | None) -> None:
        if state is not None:
            self._generator.set_state(state)


class Secure(Randomness):
    """A cryptographic stream keyed by the operating system; exact integer noise on a grid."""

    simulation = False
    label = "cryptographic stream, noise sampled on a grid"

    def __init__(self) -> None:
        self._stream = secure()

    def permutation(self, size: int) -> Integers:
        return permutation(size, self._stream)

    def coins(self, size: int, rate: float) -> NDArray[np.bool_]:
        numerator = math.floor(Fraction(checks.unit("rate", rate)) * 2**_COIN_BITS)
        return bernoulli(self._stream, numerator, _COIN_BITS, size)

    def laplace(self, value: Tensor, sensitivity: float, eps0: float) -> Tensor:
        grid = laplace_grid(value.numel(), sensitivity, eps0)
        return _on_grid(value, grid, FINE_NOISE.laplace(value.numel(), self._stream))

    def gaussian(self, value: Tensor, sigma: float, sensitivity: float) -> Tensor:
        grid = gaussian_grid(value.numel(), sigma, sensitivity)
        return _on_grid(value, grid, FINE_NOISE.gaussian(value.numel(), self._stream))


def laplace_grid(size: int, sensitivity: float, eps0: float) -> float:
    """The step for ``size`` coordinates, the noise scale being 2^40 steps;
    from public numbers only."""
    left = eps0 * (1.0 - _MARGIN) - _APART * size / 2.0**FINE
    if left <= 0.0:
        raise ParameterError("eps0", f"above {_APART * size:.0f} / 2^{FINE}", eps0)
    return _representable("sensitivity", sensitivity, sensitivity / left / 2.0**FINE)


def gaussian_grid(size: int, sigma: float, sensitivity: float) -> float:
    """The step for ``size`` coordinates, the deviation being 2^40 steps;
    from public numbers only."""
    left = 1.0 / (1.0 + _MARGIN) - _APART * math.sqrt(size) * sigma / sensitivity / 2.0**FINE
    if left <= 0.0:
        most = 2.0**FINE / _APART / math.sqrt(size)
        raise ParameterError("sigma", f"below {most:.3g} times the sensitivity", sigma)
    return _representable("sigma", sigma, sigma / left / 2.0**FINE)


def _representable(name: str, value: float, grid: float) -> float:
    if not 1e-290 < grid < 1e290:
        raise ParameterError(name, "such that noise and its grid fit a double", value)
    return grid


def _on_grid(value: Tensor, grid: float, noise: Integers) -> Tensor:
    """(round(value / grid), held within the range, + noise) * grid, in whole numbers."""
    return torch.from_numpy((whole_steps(value, grid) + noise) * grid).view_as(value)


def whole_steps(value: Tensor, grid: float) -> Integers:
    """value / grid in whole steps; a coordinate beyond the range stays at its end, NaN is 0.

    It never refuses or warns: that would tell what the noise is there to hide.
    """
    with np.errstate(over="ignore"):
        scaled = value.detach().to(torch.float64).flatten().numpy() / grid
    held = np.clip(np.nan_to_num(scaled, nan=0.0), -_LARGEST, _LARGEST)
    return np.rint(held).astype(np.int64)
