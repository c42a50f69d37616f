"""(1/n) E[(V_1 + ... + V_n)+] where large values are so rare that hardly two of them meet.

Values up to a cut c are small: (1/n) E S'+ <= ``small`` for a sum S' of n or a little fewer of
them. Then only one large value v against n - 1 others that are small matters,

    h(v) = E[(v + S')+; no other is large],

which is convex, rises, and is hardly more than v times the chance that none of the others loses v
(docs/proofs/engine.md, section 4). So it is found at some places, each on its own scale, and lies
between chords: the sum itself spreads over so many scales that no one tilt suits it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import MAX_EXPONENT, Measure
from shuffledp.numerics.rounding import Array, down, roundings, up

Excess = Callable[[Measure, int, float], Enclosure]
"""Of a measure, n and a width: (1/n) E[(V_1 + ... + V_n)+]."""
_MARGIN = 1e-6  # granted to exponentials and sums
_MOVED = 1e-14  # more than the roundings of a value shared by n - 1 others
_TILTS = np.array([10.0, 30.0, 100.0])  # times 1 / c
_FEW, _MEETING = 1e-2, 0.1  # of the width: what rare values, and what meetings may cost
_RATIO, _MOST_PLACES = 2.0, 48  # of the first places; all of them
_GOAL, _FINEST = 0.3, 5e-3  # of the width: how far apart the chords may be; at least of this one
_SURE, _NEGLIGIBLE = 2e-3, 1e-5  # width at one place, and what none is worth


def one_gain(
    part: Measure, n: int, width: float, known: float, useless: float, excess: Excess
) -> Enclosure | None:
    """An enclosure to be added to ``known``; None where two large values may meet, or where it
    could not be below ``useless``."""
    if n == 1 or not part.v[0] < 0.0 < part.v[-1]:
        return None
    against = _Against(part, n, excess)
    if float(against.alone.sum()) + known > useless:
        return None
    return against.enclosure(width, known)


class _Against:
    def __init__(self, part: Measure, n: int, excess: Excess) -> None:
        self.part, self.n, self.excess = part, n, excess
        self.error = part.rho + roundings(part.v.size + 16)
        self.zero = int(np.searchsorted(part.v, 0.0, "right"))

    @cached_property
    def lost(self) -> Array:
        """Of each positive value v, about: the chance that another loses at least v."""
        v, below = self.part.v, np.append(0.0, np.cumsum(self.part.w))
        found: Array = below[np.searchsorted(v, -v[self.zero :], "right")]
        return found

    @cached_property
    def alone(self) -> Array:
        """Of each positive value v, at least: its chance times v, while none loses v."""
        lost = np.minimum(down(self.lost, self.error), 0.5)
        none = np.exp((self.n - 1) * np.log1p(-lost))
        gains = self.part.v[self.zero :] * self.part.w[self.zero :]
        found: Array = up(gains * none, self.error + _MARGIN)
        return found

    def enclosure(self, width: float, known: float) -> Enclosure | None:
        totals = np.cumsum(self.alone[::-1])[::-1]
        few = _FEW * max(width, _FINEST) * (totals + known)
        cut, small = self._small(few)
        first = cut - self.zero
        gain, chance, alone = self.part.v[cut:], self.part.w[cut:], self.alone[first:]
        large = up(self.n * float(chance.sum()), self.error + _MARGIN)
        rest = small * (1.0 + large * (1.0 + self.n * up(float(self.lost[first]), self.error)))
        rest += large * up(float(chance @ gain), self.error + _MARGIN)
        if rest > _MEETING * width * (float(totals[first]) + known):
            return None
        some = (np.cumsum(alone) > few[first]) & (totals[first:] > few[first])
        rest = up(rest + float(alone[~some].sum()), _MARGIN)
        if not some.any():
            return Enclosure(0.0, rest)
        inside = self._between(gain[some], chance[some], cut, small, width, known)
        return Enclosure(inside.lower, inside.upper + rest)

    def _small(self, few: Array) -> tuple[int, float]:
        """How many values are small, and a bound for sums of them, a large one counting as 0:
        about the most for which that is below ``few``."""
        v, w, n = self.part.v, self.part.w, self.n
        cut, small, size = self.zero, 0.0, float(v[self.zero])
        while size < v[-1]:
            first = int(np.searchsorted(v, size, "right"))
            large = math.fsum(w[first:].tolist())
            values, weights = np.append(v[:first], 0.0), np.append(w[:first], large)
            tilts = _TILTS / size
            logs, errors = Measure(values, weights, self.part.lost, self.error).log_mgfs(tilts)
            # of n variables, n - 1 or n - 2: x+ <= e^(tilt x) / tilt
            bounds = n * (logs + errors) + 2.0 * np.abs(logs) - np.log(n * tilts)
            bound = up(math.exp(min(float(bounds.min()), MAX_EXPONENT)), _MARGIN)
            if bound > few[first - self.zero]:
                break
            cut, small, size = first, bound, 2.0 * size
        return cut, small

    def _at(self, place: float, cut: int, small: float, width: float) -> tuple[float, float]:
        """h at a place from below and from above: on its scale, where nobody loses that much."""
        v, w, others = self.part.v, self.part.w, self.n - 1
        first = int(np.searchsorted(v, -place, "right"))
        beyond = others * math.fsum(w[:first].tolist()) * self.n * small
        beyond = up(beyond, self.error + _MARGIN)
        values = v[first:cut] / place + (1.0 + _MOVED) / others
        if values.size == 0 or values[-1] <= 0.0:
            return 0.0, beyond
        gone = math.fsum([*w[:first].tolist(), *w[cut:].tolist(), self.part.lost])
        measure = Measure(values, w[first:cut], gone, self.error)
        found = self.excess(measure, others, max(width, _SURE))
        low = max(others * found.lower - 4.0 * _MOVED, 0.0) * place
        return down(low, roundings(8)), up(others * found.upper * place + beyond, roundings(8))

    def _between(
        self, gain: Array, chance: Array, cut: int, small: float, width: float, known: float
    ) -> Enclosure:
        """E h of the large values, between chords of h."""

        def at(place: float) -> tuple[float, float]:
            return self._at(place, cut, small, width)

        places, values = _first(gain, chance, at, known)
        goal = _GOAL * max(width, _FINEST)
        while True:
            x, (low, high) = np.array(places), np.array(values).T
            cell = np.clip(np.searchsorted(x, gain, "right") - 1, 1, x.size - 3)
            least, most = _chords(gain, cell, x, low, high)
            lower, upper = float(chance @ least), float(chance @ most)
            if upper - lower <= goal * (lower + known) or x.size >= _MOST_PLACES:
                break
            worst = int(np.argmax(np.bincount(cell, chance * (most - least))))
            places.insert(worst + 1, math.sqrt(places[worst] * places[worst + 1]))
            values.insert(worst + 1, at(places[worst + 1]))
        margin = self.error + _MARGIN
        return Enclosure(down(lower, margin), up(upper, margin))


def _first(
    gain: Array, chance: Array, at: Callable[[float], tuple[float, float]], known: float
) -> tuple[list[float], list[tuple[float, float]]]:
    """Places around all values and h there, the largest first: where what is left brings hardly
    anything, h is at most what it is at the place above."""
    count = 2 + math.ceil(math.log(float(gain[-1] / gain[0])) / math.log(_RATIO))
    places = [float(gain[0]) * _RATIO**i for i in range(-1, count + 1)]
    values: list[tuple[float, float]] = []
    below = np.append(0.0, np.cumsum(chance))[np.searchsorted(gain, places)].tolist()
    sure, left = known, float(below[-1])
    for place, less in zip(reversed(places), reversed(below), strict=True):
        if values and left * values[-1][1] <= _NEGLIGIBLE * sure:
            values.append((0.0, values[-1][1]))
            continue
        values.append(at(place))
        sure, left = sure + (left - less) * values[-1][0], less
    return places, values[::-1]


def _chords(
    gain: Array, cell: NDArray[np.intp], x: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Ends of a convex function that rises, known at places x, at values in cells of them."""
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    size = np.diff(x)
    left = np.maximum(gain - x[cell], 0.0)
    share = np.minimum(left / size[cell], 1.0)
    most = high[cell] * (1.0 - share) + high[cell + 1] * (share + roundings(16))
    before = np.maximum(low[cell] - high[cell - 1], 0.0) / size[cell - 1]
    after = (high[cell + 2] - low[cell + 1]) / size[cell + 1]
    right = up(np.maximum(x[cell + 1] - gain, 0.0) * after, roundings(16))
    least = np.maximum(low[cell] + left * down(before, roundings(16)), low[cell + 1] - right)
    return np.minimum(least, most), most
