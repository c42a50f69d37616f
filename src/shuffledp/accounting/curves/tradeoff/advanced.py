"""Advanced joint concavity (Wang et al. 2023, Lemmas 6.2 and 6.3, Proposition 6.4), two parts.

Symbols: mixtures P = (1-w) P_1 + w P_2 and Q = (1-w) Q_1 + w Q_2, slope e' = e.

Lemma 6.3 as printed takes T(P_i, Q_j) where its proof needs T(P_j, Q_i), and fails for pairs whose
crossed trade-off functions are not symmetric; here it is stated the right way round, for every
slope e > 0, for either order of gamma, w, eta, and then needs neither symmetric parts nor
symmetrisation (docs/proofs/tradeoff.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.conjugate import combine
from shuffledp.accounting.curves.tradeoff.function import (
    TradeoffFunction,
    joint_direction,
    upper_of,
)
from shuffledp.accounting.curves.tradeoff.mixture import Mixture, average, joint
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array

Crossed = Sequence[Sequence[TradeoffFunction]]
"""``crossed[i][j]`` = T(P_j, Q_i), i and j in {0, 1}."""

_SLACK = 1e-14
_GRID, _ZOOMS = 17, 6


def crossed(mixture: Mixture) -> list[list[TradeoffFunction]]:
    """The four functions Lemma 6.3 needs: [i][j] = T(P_j, Q_i)."""
    _need_two(mixture)
    return [
        [TradeoffFunction.from_pair(mixture.firsts[j], mixture.seconds[i]) for j in range(2)]
        for i in range(2)
    ]


def slopes_of(w: float, gamma: float, eta: float) -> tuple[float, float]:
    """(e0, e1) / e' that Lemma 6.2's two conditions force; gamma < w < eta or the reverse."""
    if not (min(gamma, eta) < w < max(gamma, eta)):
        raise ParameterError("gamma", "on the other side of w than eta", (gamma, w, eta))
    spread = eta - gamma
    return (eta - w) / ((1.0 - w) * spread), (w - gamma) / (w * spread)


def lemma_6_2(mixture: Mixture, slope: float, gamma: float, eta: float) -> float:
    """Lemma 6.2's bound on H_e(P||Q), e = ``slope`` > 0."""
    _need_two(mixture)
    e = checks.positive("slope", slope)
    g, h = checks.unit("gamma", gamma), checks.unit("eta", eta)
    w = float(mixture.weights[1])
    first, second = slopes_of(w, g, h)
    (p1, p2), (q1, q2) = mixture.firsts, mixture.seconds
    left = np.maximum(p1 - e * first * ((1.0 - g) * q1 + g * q2), 0.0)
    right = np.maximum(p2 - e * second * ((1.0 - h) * q1 + h * q2), 0.0)
    return float((1.0 - w) * left.sum() + w * right.sum())


@dataclass(frozen=True)
class Split:
    """The best found way to share e Q between the parts, and the bound on H_e(P||Q) it gives.

    ``gamma`` and ``eta`` are the shares of Q_2 in what P_1 and P_2 are compared with, ``first`` and
    ``second`` the slopes e0 and e1.
    """

    value: float
    gamma: float
    eta: float
    first: float
    second: float


def best_split(mixture: Mixture, slope: float) -> Split:
    """Lemma 6.2 optimised over gamma and eta, in either order.

    In a = (1-w) e0 (1-gamma) and b = (1-w) e0 gamma the bound is convex on a box, so a grid that
    zooms in on its best point finds the minimum; any point is a valid bound.
    """
    _need_two(mixture)
    e = checks.positive("slope", slope)
    w = float(mixture.weights[1])
    (p1, p2), (q1, q2) = mixture.firsts, mixture.seconds
    p1, p2 = (1.0 - w) * p1, w * p2
    whole_a, whole_b = e * (1.0 - w), e * w

    def bound(a: Array, b: Array) -> Array:
        a, b = a[:, None], b[:, None]
        left = np.maximum(p1 - a * q1 - b * q2, 0.0)
        right = np.maximum(p2 - (whole_a - a) * q1 - (whole_b - b) * q2, 0.0)
        return np.asarray(left.sum(axis=1) + right.sum(axis=1))

    # plain joint concavity, and all of the second law with the first part and none of it with the
    # other
    a, b = whole_a, 0.0
    best = float(bound(np.array([a]), np.array([b]))[0])
    for start_a, start_b in ((max(whole_a - w, 0.0), whole_b), (whole_a, whole_b), (0.0, 0.0)):
        value = float(bound(np.array([start_a]), np.array([start_b]))[0])
        if value < best:
            a, b, best = start_a, start_b, value
    low_a, high_a, low_b, high_b = 0.0, whole_a, 0.0, whole_b
    for _ in range(_ZOOMS):
        grid_a, grid_b = np.linspace(low_a, high_a, _GRID), np.linspace(low_b, high_b, _GRID)
        x, y = (g.ravel() for g in np.meshgrid(grid_a, grid_b, indexing="ij"))
        values = bound(x, y)
        at = int(np.argmin(values))
        if values[at] < best:
            a, b, best = float(x[at]), float(y[at]), float(values[at])
        reach_a, reach_b = 2.0 * (grid_a[1] - grid_a[0]), 2.0 * (grid_b[1] - grid_b[0])
        low_a, high_a = max(a - reach_a, 0.0), min(a + reach_a, whole_a)
        low_b, high_b = max(b - reach_b, 0.0), min(b + reach_b, whole_b)
    rest_a, rest_b = whole_a - a, whole_b - b
    return Split(
        best,
        b / (a + b) if a + b > 0.0 else w,
        rest_b / (rest_a + rest_b) if rest_a + rest_b > 0.0 else w,
        (a + b) / (1.0 - w),
        (rest_a + rest_b) / w,
    )


def advanced_of_laws(mixture: Mixture, slopes: Array | None = None) -> TradeoffFunction:
    """A lower bound on T(P, Q) from Lemma 6.2, optimised at every slope, both ways round.

    Never below Lemma 3.1's bound. ``slopes`` are looked at besides its own.
    """
    _need_two(mixture)
    plain = mixture.joint()
    e = _slopes(plain) if slopes is None else np.union1d(_slopes(plain), slopes)
    swapped = Mixture(mixture.seconds, mixture.firsts, mixture.weights)
    forward = np.array([best_split(swapped, float(s)).value for s in e])
    backward = np.array([best_split(mixture, float(s)).value for s in e])
    lines = TradeoffFunction.from_profile(
        e, np.minimum(forward + _SLACK, 1.0), np.minimum(backward + _SLACK, 1.0)
    )
    return stronger(lines, plain)


def lemma_6_3(functions: Crossed, w: float, gamma: float, eta: float) -> TradeoffFunction:
    """Lemma 6.3 for one gamma, eta: a lower bound on T(P, Q) from functions[i][j] = T(P_j, Q_i)."""
    weight = checks.probability("w", w)
    g, h = checks.unit("gamma", gamma), checks.unit("eta", eta)
    first, second = slopes_of(weight, g, h)
    parts = []
    for i, (share, factor) in enumerate(((g, first), (h, second))):
        part = (1.0 - weight, weight)[i]
        for j, piece in ((0, 1.0 - share), (1, share)):
            if part * piece > 0.0:
                # F(x) = f(x / factor), so that F* at -e is f* at -e factor
                conjugate = functions[i][j].conjugate().rescaled(1.0 / factor)
                parts.append((part * piece, conjugate))
    labels = joint_direction([f.direction for row in functions for f in row])
    return TradeoffFunction.from_conjugate(combine(parts), upper_of(labels)).lowered(_SLACK)


def advanced(functions: Crossed, w: float, slopes: Array | None = None) -> TradeoffFunction:
    """Lemma 6.3 with gamma and eta optimised at every slope, in either order.

    ``functions[i][j]`` = T(P_j, Q_i). gamma = 0, eta = 1 is Lemma 3.1, so never below it.
    """
    weight = checks.probability("w", w)
    plain = joint([functions[0][0], functions[1][1]], [1.0 - weight, weight])
    e = _slopes(plain) if slopes is None else np.union1d(_slopes(plain), slopes)
    best = np.array([_best_crossed(functions, weight, float(s)) for s in e])
    lines = TradeoffFunction.from_profile(e, np.minimum(best + _SLACK, 1.0), np.ones_like(e))
    labels = joint_direction([f.direction for row in functions for f in row])
    result = stronger(lines, plain)
    return TradeoffFunction(result.alphas, result.betas, upper_of(labels))


def _best_crossed(functions: Crossed, w: float, e: float) -> float:
    best = float(
        (1.0 - w) * functions[0][0].hockey_stick(np.array([e]))[0]
        + w * functions[1][1].hockey_stick(np.array([e]))[0]
    )
    for box in (((0.0, w), (w, 1.0)), ((w, 1.0), (0.0, w))):
        (low_g, high_g), (low_h, high_h) = box
        for _ in range(_ZOOMS):
            grid_g, grid_h = np.linspace(low_g, high_g, _GRID), np.linspace(low_h, high_h, _GRID)
            g, h = (x.ravel() for x in np.meshgrid(grid_g, grid_h, indexing="ij"))
            spread = h - g
            inside = np.abs(spread) > 1e-12
            g, h, spread = g[inside], h[inside], spread[inside]
            e0 = np.maximum(e * (h - w) / ((1.0 - w) * spread), 0.0)
            e1 = np.maximum(e * (w - g) / (w * spread), 0.0)
            values = (1.0 - w) * (
                (1.0 - g) * functions[0][0].hockey_stick(e0) + g * functions[0][1].hockey_stick(e0)
            ) + w * (
                (1.0 - h) * functions[1][0].hockey_stick(e1) + h * functions[1][1].hockey_stick(e1)
            )
            at = int(np.argmin(values))
            best = min(best, float(values[at]))
            reach_g, reach_h = 2.0 * (grid_g[1] - grid_g[0]), 2.0 * (grid_h[1] - grid_h[0])
            low_g, high_g = max(g[at] - reach_g, box[0][0]), min(g[at] + reach_g, box[0][1])
            low_h, high_h = max(h[at] - reach_h, box[1][0]), min(h[at] + reach_h, box[1][1])
    return best


def lemma_6_3_equal(mixture: Mixture) -> TradeoffFunction:
    """Lemma 6.3 at gamma = eta = w: (1-w) T(P, Q_1) + w T(P, Q_2), a lower bound on T(P, Q).

    (Printed as the symmetrised (1-w) T(P_1, Q) + w T(P_2, Q), which can exceed the truth.)
    """
    _need_two(mixture)
    first = mixture.weights @ mixture.firsts
    parts = [TradeoffFunction.from_pair(first, second) for second in mixture.seconds]
    result = average(parts, mixture.weights)
    return TradeoffFunction(result.alphas, result.betas, upper_of(result.direction))


def proposition_6_4(function: TradeoffFunction, w: float) -> TradeoffFunction:
    """C(2w Id + (1-2w) C(f)), f = T(P_0, Q_0), below T((1-w) P_0 + w Q_0, (1-w) Q_0 + w P_0).

    0 <= w <= 1/2. As printed f is not symmetrised first; that is the same where f is symmetric, and
    wrong where it is not.
    """
    weight = checks.unit("w", w)
    if weight > 0.5:
        raise ParameterError("w", "at most 1/2", w)
    result = function.symmetrised().subsampled(1.0 - 2.0 * weight).symmetrised()
    return TradeoffFunction(result.alphas, result.betas, upper_of(result.direction))


def stronger(f: TradeoffFunction, g: TradeoffFunction) -> TradeoffFunction:
    """The pointwise maximum of two bounds on the same trade-off function: convex, and a bound."""
    knots = np.union1d(f.alphas, g.alphas)
    gap = f(knots) - g(knots)
    cross = np.flatnonzero(gap[:-1] * gap[1:] < 0.0)
    share = gap[cross] / (gap[cross] - gap[cross + 1])
    knots = np.union1d(knots, knots[cross] + share * np.diff(knots)[cross])
    return TradeoffFunction(
        knots, np.maximum(f(knots), g(knots)), joint_direction([f.direction, g.direction])
    )


def _slopes(plain: TradeoffFunction) -> Array:
    """The plain bound's own slopes, thinned, and a geometric grid around 1."""
    p, q = plain.first, plain.second
    both = (p > 0.0) & (q > 0.0)
    own = np.unique(q[both] / p[both])
    own = own[(own > 1e-12) & (own < 1e12)]
    if len(own) > 128:
        own = own[np.linspace(0, len(own) - 1, 128).astype(np.int64)]
    reach = max(float(np.max(np.abs(np.log(own)))) if len(own) else 0.0, 1e-3)
    return np.union1d(own, np.exp(np.linspace(-reach, reach, 65)))


def _need_two(mixture: Mixture) -> None:
    if len(mixture.weights) != 2 or not 0.0 < float(mixture.weights[1]) < 1.0:
        raise ParameterError("pairs", "two, both of positive weight", mixture.weights.tolist())
