"""Directed rounding: each helper has one contract (docs/proofs/numerics.md, "Rounding by name").

An error is counted in roundings, turned into a share of the result, and moved into it on the side
that is asked for. Nothing else in the library multiplies by 1 + or - something small.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

U = 2.0**-53
"""Unit roundoff. Elementary functions are assumed correct to 4 ulp (8 U)."""

BELOW_ONE = 1.0 - U
"""The largest double below 1."""
FORMULA = 1e-12
"""Granted to a closed formula, and to a short sum: 9,000 roundings."""
SUMS = 1e-9
"""Granted to a sum or product of up to a million terms: 9 million roundings."""


@overload
def roundings(count: float) -> float: ...
@overload
def roundings(count: Array) -> Array: ...
def roundings(count: float | Array) -> float | Array:
    """Relative error that this many roundings may add up to; an elementary function counts as 8."""
    return count * U


@overload
def up(x: float, error: float) -> float: ...
@overload
def up(x: Array, error: float | Array) -> Array: ...
@overload
def up(x: float, error: Array) -> Array: ...
def up(x: float | Array, error: float | Array) -> float | Array:
    """At least the number >= 0 that was computed as ``x``, off by this share of it at most."""
    return x * (1.0 + error)


@overload
def down(x: float, error: float) -> float: ...
@overload
def down(x: Array, error: float | Array) -> Array: ...
@overload
def down(x: float, error: Array) -> Array: ...
def down(x: float | Array, error: float | Array) -> float | Array:
    """At most the number >= 0 that was computed as ``x``, off by this share of it at most."""
    return x * (1.0 - error)


@overload
def all_orders(error: float) -> float: ...
@overload
def all_orders(error: Array) -> Array: ...
def all_orders(error: float | Array) -> float | Array:
    """A bound on the whole error from one of first order:
    products of errors are below a hundredth."""
    return 1.01 * error
