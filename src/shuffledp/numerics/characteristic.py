"""Characteristic function of a discrete law at equally spaced frequencies."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.numerics.binomial import Array

_SMALL = 2**18
"""Multiplications per matrix product: BLAS uses one thread for this many, and more would only wait for each other."""


def characteristic(
    values: Array, weights: Array, step: float, start: int, count: int
) -> tuple[Array, Array]:
    """Re and Im of E e^(i omega V) - 1 at omega = step * (start, ..., start + count - 1).

    With omega = coarse + fine: e^(i omega v) - 1 = A B + A + B, A and B the same at coarse and fine,
    so a matrix product does most of the work and small arguments stay accurate.
    """
    fine = math.isqrt(count - 1) + 1
    coarse = -(-count // fine)
    far, near = (start + fine * np.arange(coarse)) * step, np.arange(fine) * step
    re, im = np.zeros((coarse, fine)), np.zeros((coarse, fine))
    block = max(_SMALL // (coarse * fine), 32)
    for i in range(0, values.size, block):
        v, w = values[i : i + block], weights[i : i + block]
        xa, xb = np.multiply.outer(far, v), np.multiply.outer(v, near)
        a_re, a_im = -2.0 * np.sin(0.5 * xa) ** 2 * w, np.sin(xa) * w
        b_re, b_im = -2.0 * np.sin(0.5 * xb) ** 2, np.sin(xb)
        re += a_re @ b_re - a_im @ b_im + a_re.sum(1)[:, None] + w @ b_re
        im += a_re @ b_im + a_im @ b_re + a_im.sum(1)[:, None] + w @ b_im
    return re.ravel()[:count], im.ravel()[:count]
