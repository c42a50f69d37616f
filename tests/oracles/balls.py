"""Arb balls at a fixed precision, and how they compare with floats."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from flint import arb, ctx

BITS = 400


def precise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run with BITS bits, whatever the caller's precision."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before = ctx.prec
        ctx.prec = BITS
        try:
            return function(*args, **kwargs)
        finally:
            ctx.prec = before

    return wrapped


@precise
def at_most(x: float, ball: arb) -> bool:
    """x <= every number in the ball."""
    return bool(arb(x) <= ball)


@precise
def at_least(x: float, ball: arb) -> bool:
    """x >= every number in the ball."""
    return bool(arb(x) >= ball)


def contains(lower: float, upper: float, ball: arb) -> bool:
    """The ball lies inside [lower, upper]."""
    return at_most(lower, ball) and at_least(upper, ball)


@precise
def off(x: float, ball: arb) -> float:
    """Relative difference of x from the ball, in floating point."""
    if ball == 0:
        return 0.0 if x == 0.0 else math.inf
    return float(abs((arb(x) - ball) / ball).upper())


@precise
def binomial_mass(k: int, n: int, p: arb, q: arb) -> arb:
    """Pr[Bin(n, p) = k]; p and q are balls with p + q = 1."""
    if k < 0 or k > n:
        return arb(0)
    if n <= 2000:
        return arb(math.comb(n, k)) * p**k * q ** (n - k)
    choose = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
    return (choose + k * p.log() + (n - k) * q.log()).exp()
