"""Randomness that protects people, and seeded randomness that only simulates it.

Both kinds offer the same draws: who reports, in which order, and a vector with noise. The secure kind
works on whole multiples of a grid step, so that no floating-point digit of the result depends on
the data other than through the noisy value itself (docs/proofs/training.md).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from decimal import Decimal, localcontext
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shuffledp import checks
from shuffledp.errors import MissingExtraError, ParameterError

_FINE = 40
"""Bits of grid below the scale of the noise."""
_TAIL = 6
"""Bits above it that are drawn one by one; the rest, beyond 64 scales, block by block."""
_DROPPED = 16
"""Lowest bits dropped from Gaussian noise after sampling."""
_MARGIN = 2.0**-20
"""Relative growth of the noise: covers rounded sums, the rounded stream and the law of the bits."""
GAUSSIAN_FLAW = 2.0**-61
"""Total-variation distance per coordinate from rounded normal noise; Laplace noise has none."""

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]


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
        """What a checkpoint must keep so that a resumed run is the same run; None if it must not."""
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
    """AES-256 in counter mode, keyed by the operating system; exact integer noise on a grid."""

    simulation = False
    label = "cryptographic stream, noise sampled on a grid"

    def __init__(self) -> None:
        self._key()

    def _key(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError as error:
            raise MissingExtraError("train", "Cryptographic randomness") from error
        cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._stream, self._process = cipher.encryptor(), os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A cryptographic stream is never copied or stored.")

    def words(self, size: int) -> Words:
        """Uniform 64-bit words."""
        if self._process != os.getpid():  # a forked child must not repeat its parent's stream
            self._key()
        return np.frombuffer(self._stream.update(bytes(8 * size)), np.uint64)

    def permutation(self, size: int) -> Integers:
        while True:
            keys = self.words(size)
            if len(np.unique(keys)) == size:
                return np.argsort(keys).astype(np.int64)

    def coins(self, size: int, rate: float) -> NDArray[np.bool_]:
        return self._below(size, _digits(Decimal(checks.unit("rate", rate))))

    def _below(self, size: int, digits: tuple[int, ...]) -> NDArray[np.bool_]:
        """True with probability 0.digits: the first in base 2^16, the others in base 2^64."""
        first, rest = digits[0], digits[1:]
        if first >= 2**16 and len(digits) == _DIGITS:
            return np.ones(size, dtype=np.bool_)
        if len(digits) == _DIGITS:
            drawn: Any = self.words((size + 3) // 4).view(np.uint16)[:size]
            result, tied = drawn < np.uint16(first), np.flatnonzero(drawn == np.uint16(first))
        else:
            drawn = self.words(size)
            result, tied = drawn < np.uint64(first), np.flatnonzero(drawn == np.uint64(first))
        if rest and len(tied):
            result[tied] = self._below(len(tied), rest)
        return np.asarray(result)

    def discrete_laplace(self, size: int) -> Integers:
        """Integers k with probability proportional to exp(-|k + 1/2| / 2^40).

        The bits of a geometric variable are independent: bit i is 1 with probability
        1 / (1 + exp(2^i / 2^40)), and what is above bit i is geometric again.
        """
        magnitude = np.zeros(size, dtype=np.int64)
        for bit, digits in enumerate(_BITS):
            magnitude |= self._below(size, digits).astype(np.int64) << bit
        further = np.flatnonzero(self._below(size, _BLOCK))
        while len(further):
            magnitude[further] += 1 << len(_BITS)
            further = further[self._below(len(further), _BLOCK)]
        negative = self._below(size, _HALF)
        return np.where(negative, -1 - magnitude, magnitude)

    def discrete_gaussian(self, size: int) -> Integers:
        """Integers k with probability proportional to exp(-(k + 1/2)^2 / 2^81): deviation 2^40.

        Laplace proposals are kept with probability exp(-(|k + 1/2| / 2^40 - 1)^2 / 2), after Canonne,
        Kamath, Steinke 2020. Where double precision leaves a doubt, decimals decide.
        """
        kept: list[Integers] = []
        missing = size
        while missing > 0:
            proposed = self.discrete_laplace(int(missing * 1.35) + 16)
            distance = np.abs(proposed + 0.5) / 2.0**_FINE - 1.0
            chance = np.exp(-0.5 * distance**2) * 2.0**64
            coins = self.words(len(proposed))
            keep = coins < chance
            for index in np.flatnonzero(np.abs(coins - chance) < 2.0**18):
                keep[index] = int(coins[index]) < _kept_chance(int(proposed[index]))
            kept.append(proposed[keep][:missing])
            missing -= len(kept[-1])
        return np.concatenate(kept)

    def laplace(self, value: Tensor, sensitivity: float, eps0: float) -> Tensor:
        # rounding to the grid moves two neighbouring values at most one step apart per coordinate
        left = eps0 * (1.0 - _MARGIN) - value.numel() / 2.0**_FINE
        if left <= 0.0:
            raise ParameterError("eps0", f"above {value.numel()} / 2^{_FINE}", eps0)
        grid = sensitivity / left / 2.0**_FINE
        return _on_grid(value, grid, self.discrete_laplace(value.numel()), 0)

    def gaussian(self, value: Tensor, sigma: float, sensitivity: float) -> Tensor:
        spread = math.sqrt(value.numel()) * sigma / sensitivity / 2.0**_FINE
        grid = sigma * (1.0 + _MARGIN + 2.0 * spread) / 2.0**_FINE
        return _on_grid(value, grid, self.discrete_gaussian(value.numel()), _DROPPED)


def _on_grid(value: Tensor, grid: float, noise: Integers, dropped: int) -> Tensor:
    """(round(value / grid) + noise) * grid in whole numbers, the lowest bits dropped."""
    scaled = value.detach().to(torch.float64).flatten().numpy() / grid
    if not (np.abs(scaled) < 2.0**52).all():
        raise ParameterError("value", "finite and at most 4096 times the noise", "a larger one")
    total = np.rint(scaled).astype(np.int64) + noise
    total = (total >> dropped) << dropped
    return torch.from_numpy(total * grid).view_as(value)


_DIGITS = 3


def _digits(probability: Decimal) -> tuple[int, ...]:
    """The probability's digits in bases 2^16, 2^64, 2^64."""
    with localcontext() as context:
        context.prec = 90
        whole = int((probability * 2**144).to_integral_value())
    return whole >> 128, (whole >> 64) & (2**64 - 1), whole & (2**64 - 1)


def _exp(numerator: int, bits: int) -> Decimal:
    """exp(numerator / 2^bits)."""
    with localcontext() as context:
        context.prec = 90
        return (Decimal(numerator) / Decimal(2**bits)).exp()


def _bit(index: int) -> tuple[int, ...]:
    with localcontext() as context:
        context.prec = 90
        return _digits(1 / (1 + _exp(2**index, _FINE)))


def _kept_chance(proposed: int) -> int:
    """The chance of a Gaussian proposal, times 2^64."""
    distance = abs(2 * proposed + 1) - 2 ** (_FINE + 1)
    return int(_exp(-(distance**2), 2 * _FINE + 3) * 2**64)


_HALF = (2**15, 0, 0)
_BITS = [_bit(index) for index in range(_FINE + _TAIL)]
_BLOCK = _digits(_exp(-(2**_TAIL), 0))
