"""Piecewise-linear trade-off functions: values, transforms, and what they say in other units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.conjugate import Conjugate
from shuffledp.accounting.curves.tradeoff.hull import lower_hull, running_sum, upper_envelope
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.labels import Direction
from shuffledp.numerics.logs import log1p_exp, log_convex_gap
from shuffledp.numerics.rounding import Array

TOLERANCE = 1e-12
"""How far rounding may push given knots out of the set of trade-off functions."""

_NEXT_TO_ZERO = 1e-290

Laws = Sequence[float] | Array


@dataclass(frozen=True)
class Comparison:
    """Whether f >= g; ``margin`` is the least f - g, reached at ``alpha``."""

    holds: bool
    alpha: float
    margin: float

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True, eq=False)
class TradeoffFunction:
    """A convex, non-increasing, piecewise-linear f on [0, 1] with f(alpha) <= 1 - alpha.

    ``alphas`` increase strictly from 0 to 1; ``betas`` are the values there; a jump at alpha = 0
    (f(0) < 1) is allowed. f = T(P, Q) is the smallest type II error when P is tested against Q at
    type I error alpha.

    ``direction`` speaks of the privacy loss, as everywhere: EXACT when f is the trade-off function
    it stands for up to rounding, UPPER when it lies below it (the sound side), LOWER when above.

    Examples
    --------
    >>> from shuffledp.accounting.curves import TradeoffFunction
    >>> f = TradeoffFunction.from_pair([0.75, 0.25], [0.25, 0.75])
    >>> round(float(f(0.25)), 6), round(f.epsilon(0.0), 4)
    (0.25, 1.0986)
    """

    alphas: Array
    betas: Array
    direction: Direction = Direction.EXACT
    masses: tuple[Array, Array] | None = field(default=None, repr=False)
    """P- and Q-mass of the pieces, steepest first. Small pieces keep their own digits here, which
    differences of alphas and betas lose."""

    def __post_init__(self) -> None:
        a = np.asarray(self.alphas, dtype=np.float64)
        b = np.asarray(self.betas, dtype=np.float64)
        _check_knots(a, b)
        tiny = int(np.searchsorted(a, _NEXT_TO_ZERO))
        if tiny > 1:  # knots too close to 0 to divide by: take the lower value at 0, the sound side
            a, b = np.append(0.0, a[tiny:]), np.append(b[tiny - 1], b[tiny:])
        object.__setattr__(self, "alphas", a)
        object.__setattr__(self, "betas", np.clip(np.minimum(b, 1.0 - a), 0.0, 1.0))
        if self.masses is None:
            x, y = lower_hull(self.alphas, self.betas)  # rounding can leave knots out of line
            first = np.append(0.0, np.diff(x))
            second = np.append(1.0 - y[0], np.maximum(-np.diff(y), 0.0))
            object.__setattr__(self, "masses", (first, second))

    @property
    def first(self) -> Array:
        """P-mass of every piece, from the most to the least incriminating."""
        assert self.masses is not None
        return self.masses[0]

    @property
    def second(self) -> Array:
        """Q-mass of every piece, from the most to the least incriminating."""
        assert self.masses is not None
        return self.masses[1]

    # ------------------------------------------------------------------ construction

    @classmethod
    def from_pair(cls, first: Laws, second: Laws) -> TradeoffFunction:
        """Exact T(P, Q) of two discrete laws on the same outcomes, by Neyman and Pearson.

        Randomised tests included: they are the segments between the knots.
        """
        p, q = _law("first", first), _law("second", second)
        if p.shape != q.shape:
            raise ParameterError("second", f"as long as first ({len(p)})", len(q))
        return cls.from_masses(p, q)

    @classmethod
    def from_masses(
        cls, first: Array, second: Array, direction: Direction = Direction.EXACT
    ) -> TradeoffFunction:
        """From the P- and Q-masses of pieces in any order, each summing to 1 up to rounding."""
        keep = (first > 0.0) | (second > 0.0)
        p, q = (first, second) if keep.all() else (first[keep], second[keep])
        with np.errstate(divide="ignore", over="ignore"):
            rank = np.argsort(-(q / p))
        p, q = p[rank], q[rank]
        alphas = running_sum(p)
        betas = running_sum(q[::-1])[::-1].copy()
        alphas, betas = np.minimum(alphas / alphas[-1], 1.0), np.minimum(betas / betas[0], 1.0)
        return cls._from_points(alphas, np.minimum(betas, 1.0 - alphas), direction, (p, q))

    @classmethod
    def from_lines(cls, slopes: Array, deltas: Array) -> TradeoffFunction:
        """Symmetric f from (epsilon, delta) pairs, slopes = exp(epsilon): see ``from_profile``."""
        return cls.from_profile(slopes, deltas)

    @classmethod
    def from_profile(
        cls,
        slopes: Array,
        deltas: Array,
        reverse: Array | None = None,
        direction: Direction = Direction.UPPER,
    ) -> TradeoffFunction:
        """The largest f that privacy profiles at these slopes imply.

        Slope e = exp(epsilon) > 0 with H_e(Q||P) <= delta gives the line 1 - delta - e alpha below
        T(P, Q); H_e(P||Q) <= delta gives the line (1 - delta - alpha) / e. ``deltas`` bound
        H_e(Q||P); ``reverse`` bounds H_e(P||Q), or ``deltas`` bound both.
        """
        e = np.asarray(slopes, dtype=np.float64)
        forward = np.asarray(deltas, dtype=np.float64)
        backward = forward if reverse is None else np.asarray(reverse, dtype=np.float64)
        for name, values, bad in (
            ("slopes", e, ~(np.isfinite(e) & (e > 0.0))),
            ("deltas", forward, ~((forward >= 0.0) & (forward <= 1.0))),
            ("reverse", backward, ~((backward >= 0.0) & (backward <= 1.0))),
        ):
            if values.shape != e.shape or values.ndim != 1 or not len(values):
                raise ParameterError(name, f"one number per slope ({e.shape})", values.shape)
            if np.any(bad):
                raise ParameterError(
                    name,
                    "finite and > 0" if name == "slopes" else "in [0, 1]",
                    f"{float(values[np.argmax(bad)])} at position {int(np.argmax(bad))}",
                )
        knots, values = upper_envelope(
            np.concatenate([e, 1.0 / e, [0.0]]),
            np.concatenate([1.0 - forward, (1.0 - backward) / e, [0.0]]),
        )
        return cls._from_points(knots, np.clip(values, 0.0, 1.0 - knots), direction)

    @classmethod
    def _from_points(
        cls,
        alphas: Array,
        betas: Array,
        direction: Direction,
        masses: tuple[Array, Array] | None = None,
    ) -> TradeoffFunction:
        """From a falling convex chain that may step straight down at alpha = 0 or repeat points."""
        last = np.append(np.diff(alphas) > 0.0, True)
        return cls(alphas[last], betas[last], direction, masses)

    # ------------------------------------------------------------------ values

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: Array) -> Array: ...
    def __call__(self, alpha: float | Array) -> float | Array:
        x = np.asarray(alpha, dtype=np.float64)
        if not np.all((x >= 0.0) & (x <= 1.0)):
            raise ParameterError("alpha", "in [0, 1]", alpha)
        value = np.interp(x, self.alphas, self.betas)
        return float(value) if x.ndim == 0 else np.asarray(value)

    def compare(self, other: TradeoffFunction, tolerance: float = 0.0) -> Comparison:
        """Whether f >= other everywhere, and where it comes closest to failing or fails most."""
        slack = checks.non_negative("tolerance", tolerance)
        knots = np.union1d(self.alphas, other.alphas)  # between them both are linear
        difference = self(knots) - other(knots)
        at = int(np.argmin(difference))
        margin = float(difference[at])
        return Comparison(margin >= -slack, float(knots[at]), margin)

    def __ge__(self, other: TradeoffFunction) -> bool:
        return self.compare(other).holds

    def __le__(self, other: TradeoffFunction) -> bool:
        return other.compare(self).holds

    def is_symmetric(self, tolerance: float = TOLERANCE) -> bool:
        """Whether T(P, Q) = T(Q, P)."""
        other = self.inverse()
        knots = np.union1d(self.alphas, other.alphas)
        return bool(np.max(np.abs(self(knots) - other(knots))) <= tolerance)

    # ------------------------------------------------------------------ transforms

    def inverse(self) -> TradeoffFunction:
        """Left inverse: T(Q, P) where this is T(P, Q)."""
        zero = int(np.argmax(self.betas <= 0.0))
        jump: list[float] = [] if self.betas[0] >= 1.0 else [1.0]
        x = np.append(self.betas[: zero + 1][::-1], jump)
        y = np.append(self.alphas[: zero + 1][::-1], [0.0] * len(jump))
        return self._from_points(x, y, self.direction, (self.second[::-1], self.first[::-1]))

    def symmetrised(self) -> TradeoffFunction:
        """C(f) = (min(f, inverse of f))**: the largest symmetric convex function below both.

        Between two knots the minimum is concave, so the hull of its values at the knots is enough.
        """
        other = self.inverse()
        knots = np.union1d(self.alphas, other.alphas)
        x, y = lower_hull(knots, np.minimum(self(knots), other(knots)))
        return TradeoffFunction(x, y, self.direction)

    def conjugate(self) -> Conjugate:
        """f*(y) = max over alpha of alpha y - f(alpha); ``from_conjugate`` leads back."""
        x, y = lower_hull(self.alphas, self.betas)
        slopes = np.minimum(np.diff(y) / np.diff(x), 0.0)
        # Only the last bit of neighbouring slopes can still be out of order.
        return Conjugate(np.maximum.accumulate(slopes), x, -float(y[0]))

    @classmethod
    def from_conjugate(
        cls, conjugate: Conjugate, direction: Direction = Direction.EXACT
    ) -> TradeoffFunction:
        """The f whose conjugate this is; refused where no trade-off function has it."""
        x, y = conjugate.knots()
        if abs(x[-1] - 1.0) > TOLERANCE:
            raise ParameterError("conjugate", "of slope 1 at the far right", float(x[-1]))
        x = np.append(np.minimum(x[:-1], 1.0), 1.0)
        return cls._from_points(x, y, direction)

    def scaled(self, factor: float) -> TradeoffFunction:
        """alpha -> f(factor alpha), 0 beyond 1: a trade-off function for factor >= 1."""
        if not (math.isfinite(factor) and factor >= 1.0):
            raise ParameterError("factor", "a finite number >= 1", factor)
        if factor == 1.0:
            return self
        return self._from_points(
            np.append(self.alphas / factor, 1.0), np.append(self.betas, 0.0), self.direction
        )

    def subsampled(self, probability: float) -> TradeoffFunction:
        """p f + (1 - p) Id, the operator of subsampling and of Proposition 6.4."""
        p = checks.unit("probability", probability)
        return TradeoffFunction(
            self.alphas, p * self.betas + (1.0 - p) * (1.0 - self.alphas), self.direction
        )

    def lowered(self, slack: float) -> TradeoffFunction:
        """f shifted left and down by ``slack``: a certified UPPER bound if f is off by no more."""
        s = checks.non_negative("slack", slack)
        if s == 0.0:
            return TradeoffFunction(
                self.alphas, self.betas, upper_of(self.direction), (self.first, self.second)
            )
        inside = (self.alphas > s) & (self.betas > s)
        start = float(np.interp(s, self.alphas, self.betas)) - s
        if start <= 0.0:
            return TradeoffFunction(np.array([0.0, 1.0]), np.zeros(2), upper_of(self.direction))
        end = self.inverse()(s) - s  # where f = slack
        x = np.concatenate([[0.0], self.alphas[inside] - s, [min(max(end, 0.0), 1.0), 1.0]])
        y = np.concatenate([[start], self.betas[inside] - s, [0.0, 0.0]])
        rank = np.append(np.diff(x) > 0.0, True)
        return TradeoffFunction(*lower_hull(x[rank], y[rank]), upper_of(self.direction))

    # ------------------------------------------------------------------ other units

    def delta(self, epsilon: float) -> float:
        """delta(eps) = H_e(Q||P) = max over alpha of 1 - f(alpha) - exp(eps) alpha."""
        eps = checks.non_negative("epsilon", epsilon)
        free = float(np.sum(self.second[self.first <= 0.0]))
        if eps > 700.0:
            return min(free, 1.0)
        p, q = self.first, self.second
        return min(float(np.sum(np.maximum(q - math.exp(eps) * p, 0.0))), 1.0)

    def hockey_stick(self, slopes: Array) -> Array:
        """H_e(Q||P) = 1 + f*(-e) at many slopes e >= 0."""
        e = np.asarray(slopes, dtype=np.float64)
        p, q = self.first, self.second
        with np.errstate(divide="ignore"):
            ratio = np.maximum.accumulate((q / np.where(p > 0.0, p, 1.0))[::-1])[::-1]
        ratio = np.where(p > 0.0, ratio, np.inf)
        count = np.searchsorted(-ratio, -e, side="left")
        value = running_sum(q)[count] - e * running_sum(p)[count]
        return np.asarray(np.clip(value, 0.0, 1.0))

    def epsilon(self, delta: float) -> float:
        """Smallest eps >= 0 with delta(eps) <= delta; infinite where none is small enough."""
        d = checks.unit("delta", delta)
        p, q = self.first, self.second
        steep = q > p
        p, q = p[steep], q[steep]
        if float(np.sum(q - p)) <= d:
            return 0.0
        # On the piece where k atoms count, delta = sum q - e sum p: solve for e.
        total_q, total_p = running_sum(q)[1:], running_sum(p)[1:]
        if np.any((total_p <= 0.0) & (total_q > d)):
            return math.inf
        rise, run = (total[(total_p > 0.0) & (total_q > d)] for total in (total_q - d, total_p))
        if rise.size == 0:
            return 0.0
        # max over k of the lines is delta, so the root of delta is the largest root of a line
        with np.errstate(over="ignore"):
            e = float(np.max(rise / run))
        if math.isinf(e):
            return float(np.max(np.log(rise) - np.log(run)))
        return math.log(e) if e > 1.0 else 0.0

    def renyi(self, order: float) -> float:
        """``D_order(P||Q)``: ln of the integral of ``|f'|^(1 - order)``, divided by order - 1.

        For ``D_order(Q||P)`` ask ``inverse().renyi(order)``.
        """
        power = checks.order("order", order)
        p, q = self.first, self.second
        if np.any((q <= 0.0) & (p > 0.0)):
            return math.inf
        # sum of p^L q^(1-L) = 1 + sum of q (r^L - 1 - L (r - 1)), r = p/q: no cancellation, and
        # an upper bound still where the masses bound the hockey-stick divergences.
        both = (p > 0.0) & (q > 0.0)
        ratio = np.log(p[both]) - np.log(q[both])
        terms = np.log(q[both]) + log_convex_gap(ratio, power)
        free = (power - 1.0) * float(np.sum(q[~both]))
        log_excess = float(np.logaddexp.reduce(terms)) if len(terms) else -math.inf
        if free > 0.0:
            log_excess = float(np.logaddexp(log_excess, math.log(free)))
        return log1p_exp(log_excess) / (power - 1.0) if log_excess > -math.inf else 0.0

    def divergence(
        self, generator: Callable[[Array], Array], at_infinity: float = math.inf
    ) -> float:
        """D_F(P||Q) = sum of F(p/q) q for convex F = ``generator`` on [0, inf).

        ``at_infinity`` is the limit of F(t)/t as t grows, charged to P-mass where Q has none.
        """
        p, q = self.first, self.second
        both = q > 0.0
        values = np.asarray(generator(p[both] / q[both]), dtype=np.float64)
        if values.shape != p[both].shape or np.any(np.isnan(values)):
            raise ParameterError("generator", "a number for every ratio >= 0", "a NaN or a shape")
        alone = float(np.sum(p[~both]))
        total = float(np.sum(values * q[both]))
        # Masses of a composition are rounded outwards, piece by piece; a tangent of F at 1 makes up
        # for their totals not being 1. For all others this adds rounding errors only.
        around = np.asarray(generator(np.array([1.0 - 1e-6, 1.0, 1.0 + 1e-6])), dtype=np.float64)
        slope = float(around[2] - around[0]) / 2e-6
        total += float(around[1] - slope) * (1.0 - float(q.sum())) + slope * (1.0 - float(p.sum()))
        return total + (alone * at_infinity if alone > 0.0 else 0.0)

    # ------------------------------------------------------------------ picture

    def plot(self, axes: Any = None, label: str | None = None, **style: Any) -> Any:
        """Draw f, with perfect privacy for reference on new axes; returns the axes."""
        if axes is None:
            try:
                from matplotlib.backends.backend_agg import FigureCanvasAgg
                from matplotlib.figure import Figure
            except ImportError as error:
                raise MissingExtraError("plot", "Drawing a picture") from error
            figure = Figure(figsize=(5.0, 5.0), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.subplots()
            axes.plot([0.0, 1.0], [1.0, 0.0], "k:", lw=1.0)
            axes.set(xlabel="type I error", ylabel="type II error", aspect="equal")
        x = np.append(0.0, self.alphas) if self.betas[0] < 1.0 else self.alphas
        y = np.append(1.0, self.betas) if self.betas[0] < 1.0 else self.betas
        axes.plot(x, y, label=label, **style)
        return axes


def upper_of(direction: Direction) -> Direction:
    """The label after a step that can only add to the privacy loss."""
    if direction in (Direction.EXACT, Direction.UPPER):
        return Direction.UPPER
    return Direction.ESTIMATE


def joint_direction(directions: Sequence[Direction]) -> Direction:
    """The label of a monotone combination."""
    found = set(directions) - {Direction.EXACT}
    if len(found) > 1:
        return Direction.ESTIMATE
    return found.pop() if found else Direction.EXACT


def _law(name: str, given: Laws) -> Array:
    law = np.asarray(given, dtype=np.float64)
    if law.ndim != 1 or not len(law):
        raise ParameterError(name, "a non-empty list of probabilities", law.shape)
    bad = ~(np.isfinite(law) & (law >= 0.0))
    if np.any(bad):
        at = int(np.argmax(bad))
        raise ParameterError(name, "non-negative", f"{float(law[at])} at position {at}")
    total = float(np.sum(law))
    if abs(total - 1.0) > 1e-9:
        raise ParameterError(name, "summing to 1", total)
    return law / total


def check_weights(weights: Laws, count: int) -> Array:
    """Mixture weights: as many as parts, non-negative, summing to 1."""
    law = _law("weights", weights)
    if len(law) != count:
        raise ParameterError("weights", f"one per part ({count})", len(law))
    return law


def _check_knots(a: Array, b: Array) -> None:
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ParameterError("alphas", "at least two, as many as betas", (a.shape, b.shape))
    for name, values in (("alphas", a), ("betas", b)):
        if not np.all(np.isfinite(values)):
            at = int(np.argmax(~np.isfinite(values)))
            raise ParameterError(name, "finite", f"{float(values[at])} at position {at}")
    if a[0] != 0.0 or a[-1] != 1.0:
        raise ParameterError("alphas", "increasing from 0 to 1", (float(a[0]), float(a[-1])))
    if np.any(np.diff(a) <= 0.0):
        at = int(np.argmax(np.diff(a) <= 0.0)) + 1
        raise ParameterError("alphas", "strictly increasing", f"{float(a[at])} at position {at}")
    for name, bad in (
        ("non-negative", b < -TOLERANCE),
        ("at most 1 - alpha", b > 1.0 - a + TOLERANCE),
        ("non-increasing", np.append(False, np.diff(b) > TOLERANCE)),
    ):
        if np.any(bad):
            at = int(np.argmax(bad))
            raise ParameterError("betas", name, f"{float(b[at])} at alpha = {float(a[at])}")
    if len(a) > 2:
        # how far a knot rises above the chord of its neighbours
        weight = (a[1:-1] - a[:-2]) / (a[2:] - a[:-2])
        excess = b[1:-1] - ((1.0 - weight) * b[:-2] + weight * b[2:])
        if np.any(excess > TOLERANCE):
            at = int(np.argmax(excess > TOLERANCE)) + 1
            raise ParameterError("betas", "convex", f"{float(b[at])} at alpha = {float(a[at])}")
