"""The normal law on arrays, without SciPy."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.rounding import Array

_ROOT = math.sqrt(2.0)


def cdf(x: Array) -> Array:
    """Pr[Z <= x], accurate in the lower tail."""
    flat = np.asarray(x, dtype=np.float64)
    values = np.fromiter(map(math.erfc, (flat.ravel() / -_ROOT).tolist()), np.float64, flat.size)
    return np.asarray(0.5 * values.reshape(flat.shape))
