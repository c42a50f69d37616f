"""delta of outcomes: (1/n) E[(V_1 + ... + V_n)+] plus what the base misses, from both sides.

V = (first - e second) / base has the base's law, e = exp(epsilon). Exact for a data set
(docs/proofs/identity.md), an upper bound for a blanket (docs/proofs/blanket.md).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import ConversionError
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.numerics.rounding import Array, down, roundings, up

_HUGE = 50.0
_ROUNDS = 4
_MANY, _TOGETHER, _ALIKE, _COARSE = 100, 4, 1.1, 1e-2
"""More cells than this are taken by fours, if their ratios are alike,
where such a width will do."""
_NEGLIGIBLE = 1e-260
"""What base masses that count as none may hold together, n times."""
_UNDERFLOW = 1e-320
"""More than the roundings of a subnormal number."""
_STEEPEST = 600.0
"""Largest epsilon whose exponential is formed."""
_ENOUGH = 1e300
_TOO_MUCH = 1e280
"""A report of a larger ratio decides alone: its mass is added."""


def delta_upper(
    outcomes: Outcomes, n: int, epsilon: float, width: float, about: float = 1.0
) -> float:
    """Upper bound of delta, which is ``about`` that or more, if known.

    Where first / base is huge, one such report decides alone: the rarest cells are taken out of
    the base and their first mass is added, as long as that is below ``width`` of the result.
    """
    epsilon = min(epsilon, _STEEPEST)  # a smaller e can only raise the result
    missed = _missed(outcomes, math.exp(epsilon))
    cells, best = coarsened(outcomes, width), 1.0
    budget = min(1e-9, 0.1 * width * about) if about > 0.0 else 1e-9
    for _ in range(_ROUNDS):
        inside, extra = _without_rare(cells, budget)
        law = _upper_law(inside, epsilon).simpler(width, above=True)
        value = mean_positive_part(law, n, width=width).upper
        best = min(best, value + missed + extra)
        if extra <= 0.2 * width * (value + missed):
            break
        budget = 0.1 * width * (value + missed)
    return best


def delta_lower(outcomes: Outcomes, n: int, epsilon: float, width: float) -> float:
    """Lower bound of delta: cells at their means, rare ones merged."""
    if epsilon > _STEEPEST:
        alone = tuple(masses for masses in outcomes.unseen if masses[1:] == (0.0, 0.0))
        return _surely_missed(replace(outcomes, unseen=alone), 1.0, n)
    missed = _surely_missed(outcomes, math.exp(epsilon), n)
    cells, budget, best = coarsened(outcomes, width), 1e-9, 0.0
    for _ in range(_ROUNDS):
        inside, extra = _merging_rare(cells, budget)
        law = _lower_law(inside, epsilon).simpler(width, above=False)
        value = mean_positive_part(law, n, width=width).lower
        best = max(best, value + missed)
        if extra <= 0.2 * width * best:
            break
        budget = 0.1 * width * best
    return min(best, 1.0)


def coarsened(cells: Outcomes, width: float) -> Outcomes:
    """Neighbouring cells together, if there are many and this width allows it."""
    if cells.low is None or cells.high is None or len(cells.base) <= _MANY or width < _COARSE:
        return cells
    begins = np.arange(len(cells.base)) % _TOGETHER == 0
    for low, high in zip(cells.low, cells.high, strict=True):
        begins[1:] |= np.maximum(high[1:], high[:-1]) > _ALIKE * np.minimum(low[1:], low[:-1])
    starts = np.flatnonzero(begins)
    first, second, base = (
        np.add.reduceat(x, starts) for x in (cells.first, cells.second, cells.base)
    )
    return replace(
        cells,
        first=first,
        second=second,
        base=base,
        low=(np.minimum.reduceat(cells.low[0], starts), np.minimum.reduceat(cells.low[1], starts)),
        high=(
            np.maximum.reduceat(cells.high[0], starts),
            np.maximum.reduceat(cells.high[1], starts),
        ),
        precision=cells.precision + roundings(_TOGETHER),
    )


def _rare(cells: Outcomes, budget: float) -> NDArray[np.bool_]:
    """The cells of largest first / base that together hold at most ``budget`` of first."""
    rank = np.argsort(-cells.first / cells.base)
    rare = np.zeros(len(rank), dtype=np.bool_)
    rare[rank] = np.cumsum(cells.first[rank]) <= budget
    return rare & (cells.first > _HUGE * cells.base)


def _without_rare(cells: Outcomes, budget: float) -> tuple[Outcomes, float]:
    """Without the rare cells, and what they add at most."""
    out = _rare(cells, budget)
    if cells.high is not None:
        out |= (cells.high[0] > _TOO_MUCH) | np.isinf(cells.high[1])
    if not np.any(out):
        return cells, 0.0
    extra = up(float(cells.first[out].sum()), 0.01) + _UNDERFLOW * np.count_nonzero(out)
    return cells.kept(~out), extra


def _merging_rare(cells: Outcomes, budget: float) -> tuple[Outcomes, float]:
    """The rare cells as one, and their first mass."""
    out = _rare(cells, budget)
    if np.count_nonzero(out) < 2:
        return cells, 0.0
    kept = cells.kept(~out)
    merged = replace(
        kept,
        first=np.append(kept.first, cells.first[out].sum()),
        second=np.append(kept.second, cells.second[out].sum()),
        base=np.append(kept.base, cells.base[out].sum()),
        low=None,
        high=None,
        rest=cells.rest,
        precision=cells.precision + roundings(len(out)),
    )
    return merged, float(cells.first[out].sum())


def _gains(first: Array, second: Array, e: float, precision: float) -> tuple[Array, Array]:
    """first - e second of masses of that precision, from below and from above."""
    error = 2.0 * precision
    least, most = down(first, error) - _UNDERFLOW, up(first, error) + _UNDERFLOW
    little, much = down(second, error) - _UNDERFLOW, up(second, error) + _UNDERFLOW
    low = np.where(first > 0.0, np.maximum(least, 0.0), 0.0) - e * np.where(second > 0.0, much, 0.0)
    high = np.where(first > 0.0, most, 0.0) - e * np.maximum(little, 0.0)
    return low, high


def _missed(outcomes: Outcomes, e: float) -> float:
    """What the outcomes outside the base add at most."""
    first, second, _ = np.array(outcomes.unseen).reshape(-1, 3).T
    gains = _gains(first, second, e, outcomes.precision)[1]
    return up(math.fsum(np.maximum(gains, 0.0)), roundings(1))


def _surely_missed(outcomes: Outcomes, e: float, n: int) -> float:
    """What they add at least, though any of the others may report them too (blanket.md)."""
    if not outcomes.unseen:
        return 0.0
    first, second, base = np.array(outcomes.unseen).T
    gains = _gains(first, second + n * base, e, outcomes.precision)[0]
    return down(math.fsum(np.maximum(gains, 0.0)), roundings(1)) - _NEGLIGIBLE


def _means(cells: Outcomes, e: float) -> tuple[Array, Array]:
    """V averaged over each cell, from below and from above; may overflow to -inf."""
    with np.errstate(over="ignore"):
        least, most = _gains(cells.first, cells.second, e, cells.precision)
        low, high = least / cells.base, most / cells.base
    if np.any(high > _ENOUGH):
        raise ConversionError(
            f"Reports with so little noise have likelihood ratios beyond {_ENOUGH:g}."
        )
    return low, high


def _law(cells: Outcomes, values: Array, weights: Array, silence: float) -> Law:
    return Law(
        np.concatenate([values, [0.0, silence]]),
        np.concatenate([weights, [cells.rest, cells.silent]]),
        cells.precision,
    )


def _lower_law(cells: Outcomes, epsilon: float) -> Law:
    """Each cell at its mean: less in convex order; moved down by the rounding error.

    Values are cut so that n <= 1e12 of the largest cannot outweigh one of the smallest.
    """
    values = np.clip(_means(cells, math.exp(epsilon))[0], -_ENOUGH, 1e-13 * _ENOUGH)
    return _law(cells, values, cells.base, -up(math.expm1(epsilon), roundings(8)))


def _upper_law(cells: Outcomes, epsilon: float) -> Law:
    """Each cell spread to its extremes, mean kept: more in convex order; moved up alike."""
    e, silence = math.exp(epsilon), -down(math.expm1(epsilon), roundings(8))
    least, value = _means(cells, e)
    if cells.low is None or cells.high is None:
        return _law(cells, np.maximum(value, -_ENOUGH), cells.base, silence)
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.maximum(0.5 * (value - least), 0.0)
        bottom = np.minimum(cells.low[0] - e * cells.high[1], value) - error
        top = np.maximum(cells.high[0] - e * cells.low[1], value) + error
        span = np.maximum(top - bottom, 1e-300)
        share = np.clip(up((value - bottom) / span, roundings(8)), 0.0, 1.0)
    share = np.where(np.isfinite(bottom) & np.isfinite(share), share, 1.0)
    # where nothing is left of the arithmetic: at most first / base, for sure
    top = np.maximum(np.where(np.isfinite(top), top, cells.high[0]), -_ENOUGH)
    bottom = np.where(np.isfinite(bottom), np.maximum(bottom, -_ENOUGH), -_ENOUGH)
    return _law(
        cells,
        np.concatenate([bottom, top]),
        np.concatenate([cells.base * (1.0 - share), cells.base * share]),
        silence,
    )
