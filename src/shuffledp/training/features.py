"""Pictures as fixed features: wavelet scattering of two scales, the same for every data set.

Each channel is a picture filtered by an oriented wavelet, its modulus taken (once or twice in a
row), blurred and sampled (Bruna, Mallat 2013); a linear model on such features is what does best
under strong noise (Tramèr, Boneh 2021). Nothing is learned from data: a device computes the
features of its own picture, and no epsilon is spent on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shuffledp import checks
from shuffledp.errors import ParameterError

_SCALES, _STEP, _AT_ONCE = 2, 4, 1000
"""Scales of wavelets, pixels between samples, pictures transformed at a time."""
_WIDTH, _SLANT, _FREQUENCY = 0.8, 0.5, 0.75 * math.pi
"""Of the finest wavelet: deviation along the wave in pixels, across it relative to that, angle per
pixel."""
_ALIASES = tuple(2.0 * math.pi * k for k in range(-2, 3))
"""Frequencies that pixels cannot tell apart."""
_LEAST_DEVIATION = 1e-3
"""Below it a channel counts as flat."""


def scattering(pictures: NDArray[np.float32], orientations: int) -> NDArray[np.float32]:
    """Features of pictures in [0, 1], one row each, of norm 1 at most.

    Parameters
    ----------
    pictures
        Samples x 1 x height x width.
    orientations
        Of the wavelets, k: 1 + 2 k + k^2 channels.

    Returns
    -------
    ndarray
        Samples x features; of each channel mean 0 and equal deviation over the picture.
    """
    orientations = checks.count("orientations", orientations)
    if pictures.ndim != 4 or pictures.shape[1] != 1 or min(pictures.shape[2:]) < 2 * _STEP:
        shape = "x".join(map(str, pictures.shape[1:]))
        raise ParameterError("scattering", "of pictures 1 x height x width, from 8 pixels", shape)
    transform = _Scattering(pictures.shape[2], pictures.shape[3], orientations)
    parts = [
        transform(torch.as_tensor(pictures[at : at + _AT_ONCE, 0]))
        for at in range(0, len(pictures), _AT_ONCE)
    ]
    return torch.cat(parts).numpy()


class _Scattering:
    """Filters for pictures of one size, as factors of their Fourier transforms."""

    def __init__(self, height: int, width: int, orientations: int) -> None:
        self.shape = (height + _STEP, width + _STEP)
        angles = [math.pi * k / orientations for k in range(orientations)]
        self.waves = [[self._wave(scale, angle) for angle in angles] for scale in range(_SCALES)]
        self.blur = self._gaussian(_WIDTH * 2 ** (_SCALES - 1), 0.0, 0.0, 1.0).float()

    def __call__(self, pictures: Tensor) -> Tensor:
        edge = _STEP // 2
        pictures = torch.nn.functional.pad(pictures, (edge, edge, edge, edge))
        channels = torch.stack(list(self._channels(pictures)), dim=1)
        channels = channels - channels.mean(dim=(2, 3), keepdim=True)
        spread = channels.square().mean(dim=(2, 3), keepdim=True).sqrt()
        flat = (channels / spread.clamp(min=_LEAST_DEVIATION)).flatten(1)
        return flat / math.sqrt(flat.shape[1])

    def _channels(self, pictures: Tensor) -> Iterator[Tensor]:
        yield self._sampled(pictures)
        transformed = torch.fft.fft2(pictures)
        for scale, waves in enumerate(self.waves):
            for wave in waves:
                modulus = torch.fft.ifft2(transformed * wave).abs()
                yield self._sampled(modulus)
                again = torch.fft.fft2(modulus)
                for coarser in self.waves[scale + 1 :]:
                    for other in coarser:
                        yield self._sampled(torch.fft.ifft2(again * other).abs())

    def _sampled(self, pictures: Tensor) -> Tensor:
        blurred: Tensor = torch.fft.ifft2(torch.fft.fft2(pictures) * self.blur).real
        return blurred[:, _STEP::_STEP, _STEP::_STEP]

    def _wave(self, scale: int, angle: float) -> Tensor:
        """A Morlet wavelet: a Gaussian around its frequency, less what passes a constant."""
        width, frequency = _WIDTH * 2**scale, _FREQUENCY / 2**scale
        around = self._gaussian(width, frequency, angle, _SLANT)
        still = self._gaussian(width, 0.0, angle, _SLANT)
        return (around - still * (around[0, 0] / still[0, 0])).float()

    def _gaussian(self, width: float, frequency: float, angle: float, slant: float) -> Tensor:
        """Of the given width in pixels; frequencies are summed over their aliases."""
        rows, columns = (
            2.0 * math.pi * torch.fft.fftfreq(size, dtype=torch.float64) for size in self.shape
        )
        rows = rows[:, None]
        along, across = math.cos(angle), math.sin(angle)
        total = torch.zeros(self.shape, dtype=torch.float64)
        for up, right in product(_ALIASES, _ALIASES):
            x = along * (rows + up) + across * (columns + right) - frequency
            y = along * (columns + right) - across * (rows + up)
            total += torch.exp(-0.5 * width**2 * (x**2 + (y / slant) ** 2))
        return total
