"""The normal law on arrays, without SciPy."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.rounding import Array

_ROOT = math.sqrt(2.0)
CELL_ERROR = 1e-11
"""Relative error of ``cell_masses`` within 38 deviations (docs/proofs/numerics.md,
"Normal cells")."""
_NARROW = 2e-4


def erfc(x: Array) -> Array:
    """The complementary error function."""
    flat = np.asarray(x, dtype=np.float64)
    values = np.fromiter(map(math.erfc, flat.ravel().tolist()), np.float64, flat.size)
    return values.reshape(flat.shape)


def cdf(x: Array) -> Array:
    """Pr[Z <= x], accurate in the lower tail."""
    return np.asarray(0.5 * erfc(x / -_ROOT))


def cell_masses(left: Array, right: Array, width: Array) -> Array:
    """Pr[left < Z / sqrt(2) < right]; ``width`` is right - left without cancellation.

    By the smaller tails, or where their difference loses digits by a series around the middle.
    """
    flip = left + right < 0.0
    near, far = np.where(flip, -right, left), np.where(flip, -left, right)
    z, w = 0.5 * _ROOT * (near + far), _ROOT * width
    z2, w2 = z * z, w * w
    series = ((z2 - 15.0) * z2 + 45.0) * z2 - 15.0
    series = ((z2 - 6.0) * z2 + 3.0) / 1920.0 + w2 * series / 322560.0
    series = 1.0 + w2 * ((z2 - 1.0) / 24.0 + w2 * series)
    narrow = w * np.exp(-0.5 * z2) / math.sqrt(2.0 * math.pi) * series
    return np.where(w < _NARROW * (1.0 + np.abs(z)), narrow, 0.5 * (erfc(near) - erfc(far)))
