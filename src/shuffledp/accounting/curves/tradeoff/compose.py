"""Tensor products: the trade-off function of many releases, never above the truth.

A piecewise-linear f is a pair of discrete laws. Its privacy losses ln(p/q) are put on a lattice,
each atom split between its two neighbours so that both its P- and its Q-mass are preserved. That
only adds information, and so does every later step (coarsening, cutting tails), hence the product
of the results lies below the product of the originals: direction UPPER, in both orders of P and Q
at once. Sums of losses come from direct convolutions of non-negative numbers, whose rounding is
relative: tiny deltas keep their digits. The argument is written out in docs/proofs/tradeoff.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.function import TradeoffFunction, upper_of
from shuffledp.accounting.curves.tradeoff.hull import lower_hull, running_sum
from shuffledp.errors import ParameterError
from shuffledp.labels import Direction
from shuffledp.numerics.logs import log
from shuffledp.numerics.rounding import Array, down, roundings, up

_TINY = 1e-306
"""Products below this may be lost to underflow; what they could weigh is charged as revealing."""


def tensor(
    parts: Sequence[tuple[TradeoffFunction, int]], points: int = 8192, tail: float = 1e-24
) -> TradeoffFunction:
    """A lower bound on the product of f_i to the power n_i: T of all releases together.

    ``points`` is the lattice size (the error falls with its square, the cost grows with it);
    ``tail`` is the probability that may be declared revealing in all.
    """
    size = checks.count("points", points)
    if size < 16:
        raise ParameterError("points", "at least 16", points)
    budget = checks.probability("tail", tail)
    if not parts:
        raise ParameterError("parts", "at least one function", parts)
    total = sum(checks.count("copies", copies) for _, copies in parts)
    atoms = [_Atoms.of(f, budget / (8.0 * total)) for f, _ in parts]
    step = _exact_step(atoms) or max(a.top - a.bottom for a in atoms) / (size - 1)
    result: _Lattice | None = None
    for one, (_, copies) in zip(atoms, parts, strict=True):
        power = _power(one.on_lattice(step or 1.0), int(copies), total, size, budget)
        result = power if result is None else _convolve(result, power, total, size, budget)
    assert result is not None
    label = Direction.UPPER
    for f, _ in parts:
        if upper_of(f.direction) is not Direction.UPPER:
            label = Direction.ESTIMATE
    return result.function(label)


def compose(f: TradeoffFunction, copies: int, points: int = 8192) -> TradeoffFunction:
    """A lower bound on the ``copies``-fold tensor power of f.

    Parameters
    ----------
    f
        The trade-off function of one release.
    copies
        How many releases there are.
    points
        Size of the lattice of losses: the error falls with its square, the cost grows with it.

    Examples
    --------
    >>> from shuffledp.accounting.curves.tradeoff import approximate, compose
    >>> compose(approximate(0.1), 10).epsilon(1e-6) < 1.0
    True
    """
    return tensor([(f, copies)], points)


def _exact_step(atoms: Sequence[_Atoms]) -> float:
    """A step that puts every loss on the lattice, as for randomized response;
    0 if none is found."""
    gaps = np.concatenate([a.losses - a.bottom for a in atoms])
    if not 0 < len(gaps) <= 256 or not gaps.max() > 0.0:
        return 0.0
    for parts in range(1, 65):
        places = gaps / (gaps.max() / parts)
        if np.max(np.abs(places - np.rint(places))) < 1e-12:
            return float(gaps.max()) / parts
    return 0.0


@dataclass(frozen=True)
class _Atoms:
    """Atoms of one pair within [bottom, top], the rest split towards the ends and infinity."""

    p: Array
    q: Array
    bottom: float
    top: float
    only_p: float
    only_q: float

    @classmethod
    def of(cls, f: TradeoffFunction, tail: float) -> _Atoms:
        p, q = f.first, f.second
        both = (p > 0.0) & (q > 0.0)
        only_p, only_q = float(p[~both].sum()), float(q[~both].sum())
        p, q = p[both], q[both]  # still sorted: the loss ln(p/q) increases
        if not len(p):
            return cls(p, q, 0.0, 0.0, only_p, only_q)
        loss = np.maximum.accumulate(np.log(p) - np.log(q))
        last = len(p) - 1 - int(np.searchsorted(running_sum(p[::-1])[1:], tail, side="right"))
        first = int(np.searchsorted(running_sum(q)[1:], tail, side="right"))
        first = min(first, max(last, 0))
        top, bottom = float(loss[max(last, first)]), float(loss[first])
        low, high = loss < bottom, loss > top
        kept_p = np.where(high, np.exp(np.minimum(np.log(q) + top, 0.0)), p)
        kept_q = np.where(low, np.exp(np.minimum(np.log(p) - bottom, 0.0)), q)
        only_q += float(np.sum(np.maximum(q - kept_q, 0.0)))
        only_p += float(np.sum(np.maximum(p - kept_p, 0.0)))
        p, q = kept_p, kept_q
        return cls(p, q, bottom, top, only_p, only_q)

    @property
    def losses(self) -> Array:
        return np.asarray(np.clip(np.log(self.p) - np.log(self.q), self.bottom, self.top))

    def on_lattice(self, step: float) -> _Lattice:
        """Each atom on its two neighbours: weights sinh((h-u)/2) and sinh(u/2) over sinh(h/2)."""
        if not len(self.p):
            return _Lattice(step, 0.0, np.zeros(1), 0.0, self.only_p, self.only_q, 0.0)
        log_mass = 0.5 * (np.log(self.p) + np.log(self.q))
        scale = float(np.max(log_mass))
        mass = np.exp(log_mass - scale)
        loss = self.losses - self.bottom
        at = np.floor(loss / step)
        rest = np.clip(loss - at * step, 0.0, step)
        size = int(at.max()) + 2
        index = at.astype(np.int64)
        whole = -math.expm1(-step)
        array = np.zeros(size)
        np.add.at(array, index, mass * np.exp(-0.5 * rest) * -np.expm1(rest - step) / whole)
        np.add.at(array, index + 1, mass * np.exp(0.5 * (rest - step)) * -np.expm1(-rest) / whole)
        array = array[: int(np.flatnonzero(array)[-1]) + 1]
        reach = max(abs(self.bottom), abs(self.top), 1.0)
        error = roundings(32.0 + 8.0 * reach + len(self.p))
        return _Lattice(step, self.bottom, array, scale, self.only_p, self.only_q, error)


@dataclass(frozen=True)
class _Lattice:
    """Geometric masses sqrt(p q) = mass * exp(scale) at losses start + k step.

    ``error`` bounds the relative error of every mass; ``only_p`` and ``only_q`` bound what is
    revealing.
    """

    step: float
    start: float
    mass: Array
    scale: float
    only_p: float
    only_q: float
    error: float

    @property
    def losses(self) -> Array:
        return np.asarray(self.start + self.step * np.arange(len(self.mass), dtype=np.float64))

    def laws(self) -> tuple[Array, Array]:
        """P- and Q-masses."""
        log_mass, half = log(self.mass) + self.scale, 0.5 * self.losses
        return np.exp(log_mass + half), np.exp(log_mass - half)

    def trimmed(self, tail: float) -> _Lattice:
        """Far ends folded onto the last kept point, the excess declared revealing."""
        p, q = self.laws()
        last = len(p) - 1 - int(np.searchsorted(running_sum(p[::-1])[1:], tail, side="right"))
        first = int(np.searchsorted(running_sum(q)[1:], tail, side="right"))
        if last <= first:
            return self
        loss = self.losses
        mass = self.mass[first : last + 1].copy()
        grow = up(1.0, 4.0 * self.error)
        # Q-mass beyond the top stays at the top with its P-share, and conversely below.
        above = self.mass[last + 1 :] * np.exp(-0.5 * (loss[last + 1 :] - loss[last]))
        below = self.mass[:first] * np.exp(-0.5 * (loss[first] - loss[:first]))
        mass[-1] += float(np.sum(above))
        mass[0] += float(np.sum(below))
        cut = np.append(self.mass[last + 1 :], self.mass[:first])
        lost = self._lost(np.append(above, below), cut)
        over = np.sum(p[last + 1 :] * -np.expm1(loss[last] - loss[last + 1 :]))
        under = np.sum(q[:first] * -np.expm1(loss[:first] - loss[first]))
        return _Lattice(
            self.step,
            float(loss[first]),
            mass,
            self.scale,
            min(self.only_p + grow * float(over) + lost, 1.0),
            min(self.only_q + grow * float(under) + lost, 1.0),
            self.error + roundings(16.0 + len(self.mass)),
        )

    def coarser(self) -> _Lattice:
        """Twice the step: odd points split evenly (in sqrt(p q)) between their neighbours."""
        mass = self.mass if len(self.mass) % 2 else np.append(self.mass, 0.0)
        half = math.exp(-0.5 * self.step) / (1.0 + math.exp(-self.step))
        even, odd = mass[::2].copy(), mass[1::2] * half
        lost = self._lost(odd, mass[1::2])
        even[:-1] += odd
        even[1:] += odd
        return _Lattice(
            2.0 * self.step,
            self.start,
            even,
            self.scale,
            min(self.only_p + lost, 1.0),
            min(self.only_q + lost, 1.0),
            self.error + roundings(16.0 + 4.0 * self.step),
        )

    def _lost(self, result: Array, source: Array) -> float:
        """A bound on the mass of results that underflowed although their source had some."""
        if not np.any((source > 0.0) & (result < _TINY)):
            return 0.0
        far = float(np.max(np.abs(self.losses))) + self.step
        return _charge(0.5 * far + self.scale, 2 * len(self.mass))

    def function(self, direction: Direction) -> TradeoffFunction:
        """The trade-off function, lowered by all rounding.

        A knot's type I error is a sum over rejected atoms, or 1 less a sum over accepted ones: the
        larger of the two lower bounds is kept, and likewise for the type II error.
        """
        p, q = self.laws()
        reach = float(np.max(np.abs(self.losses))) + abs(self.scale)
        slack = 2.0 * (self.error + roundings(64.0 + 64.0 * reach + len(p)))
        if slack >= 0.5:
            raise ParameterError("copies", "few enough for double precision", "rounding took over")
        more, less = up(1.0, slack), down(1.0, slack)
        # Every step conserves both totals; what is missing all the same counts as revealing.
        only_p = min(self.only_p + max(1.0 - self.only_p - float(p.sum()) * more, 0.0), 1.0)
        only_q = min(self.only_q + max(1.0 - self.only_q - float(q.sum()) * more, 0.0), 1.0)
        head_p, head_q = running_sum(p), running_sum(q)
        tail_p, tail_q = running_sum(p[::-1])[::-1], running_sum(q[::-1])[::-1]
        alphas = np.maximum(head_p * less, 1.0 - only_p * more - tail_p * more - roundings(1))
        betas = np.maximum(tail_q * less, 1.0 - only_q * more - head_q * more - roundings(1))
        x = np.clip(np.concatenate([alphas, [1.0]]), 0.0, 1.0)
        y = np.clip(np.concatenate([betas, [0.0]]), 0.0, 1.0)
        x, y = np.maximum.accumulate(x), np.minimum.accumulate(y)
        x[0] = 0.0  # nothing rejected but what only Q can produce
        keep = np.append(np.diff(x) > 0.0, True)
        x, y = lower_hull(x[keep], np.minimum(y, 1.0 - x)[keep])
        steep = q > p
        first = np.concatenate([[0.0], np.where(steep, p * less, p * more), [only_p * more]])
        second = np.concatenate([[only_q * more], np.where(steep, q * more, q * less), [0.0]])
        return TradeoffFunction(x, y, direction, (first, second))


def _convolve(a: _Lattice, b: _Lattice, total: int, size: int, budget: float) -> _Lattice:
    while a.step < b.step * 0.75:
        a = a.coarser()
    while b.step < a.step * 0.75:
        b = b.coarser()
    mass = np.convolve(a.mass, b.mass)
    top = float(np.max(mass))
    if top <= 0.0:  # every outcome reveals
        mass, top = np.zeros(1), 1.0
    start, scale = a.start + b.start, a.scale + b.scale + math.log(top)
    far = max(abs(start), abs(start + a.step * len(mass)))
    lost = 0.0
    if _least(a.mass) * _least(b.mass) < _TINY:
        lost = _charge(0.5 * far + a.scale + b.scale, len(mass) ** 2)
    result = _Lattice(
        a.step,
        start,
        mass / top,
        scale,
        min(a.only_p + b.only_p - a.only_p * b.only_p + lost, 1.0),
        min(a.only_q + b.only_q - a.only_q * b.only_q + lost, 1.0),
        a.error + b.error + a.error * b.error + roundings(min(len(a.mass), len(b.mass)) + 16.0),
    )
    if len(result.mass) > size:
        result = result.trimmed(budget / (64.0 * total))
    while len(result.mass) > size:
        result = result.coarser()
    return result


def _least(mass: Array) -> float:
    return float(np.min(mass, initial=1.0, where=mass > 0.0))


def _charge(log_unit: float, count: int) -> float:
    """What ``count`` lost products can weigh, in P or in Q."""
    return math.exp(min(log_unit + math.log(_TINY) + math.log(count), 0.0))


def _power(base: _Lattice, copies: int, total: int, size: int, budget: float) -> _Lattice:
    result: _Lattice | None = None
    while True:
        if copies % 2:
            result = base if result is None else _convolve(result, base, total, size, budget)
        copies //= 2
        if not copies:
            assert result is not None
            return result
        base = _convolve(base, base, total, size, budget)
