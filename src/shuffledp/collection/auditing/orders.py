"""Is every order as likely? Reports that say which row they come from tell.

Statistics of where the reports of a batch come out, each with a bound on its tail that holds for
every batch size and number of batches (docs/proofs/orders.md). Two batches compared, place by
place, must look as random as one: that finds fixed orders, whatever they are, and what keeps a
fixed order but for a random rotation or exchange of blocks.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FALSE_ALARM = 1e-6
"""Chance that any test of an audit finds fault with orders that are uniform."""
_PARTS = (2, 16, 1000)
"""Into how many parts a batch is cut, to see what comes out of which part in which."""

Places = NDArray[np.int64]
"""Where report i of batch r came out, in row r and column i."""


@dataclass(frozen=True)
class OrderTest:
    """A statistic of many batches."""

    orders: str
    """Of which orders: how they were released, alone or two compared."""
    statistic: str
    batches: int
    seen: float
    """Share seen, of what is counted."""
    expected: float
    detectable: float | None
    """A share that would have been told from chance; none if not even the whole would."""
    p: float
    """At most this likely if every order is; all tests of an audit together are accounted for."""

    @property
    def uniform(self) -> bool:
        return self.p >= FALSE_ALARM

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self) | {"uniform": self.uniform}


def order_tests(released: dict[str, Places]) -> tuple[OrderTest, ...]:
    """All tests of batches, by how they were released."""
    samples = []
    for name, places in released.items():
        if not np.array_equal(
            np.sort(places, axis=1), np.broadcast_to(_rows(places), places.shape)
        ):
            return (_incomplete(name, places),)
        samples.append((name, places))
        if len(places) > 1:
            samples.append((f"{name}, two compared", _compared(places)))
    samples = [(name, places) for name, places in samples if places.shape[1] > 1]
    tests = [(name, places, test) for name, places in samples for test in _TESTS]
    return tuple(test(name, places, FALSE_ALARM / len(tests)) for name, places, test in tests)


def _rows(places: Places) -> NDArray[np.int64]:
    return np.arange(places.shape[1])


def _incomplete(name: str, places: Places) -> OrderTest:
    """No order at all: a report is missing, or there twice."""
    return OrderTest(name, "batches with each report once", len(places), 0.0, 1.0, 1.0, 0.0)


def _compared(places: Places) -> Places:
    """Where what came out in a place in one batch came out in the next."""
    pairs = len(places) // 2
    first, second = np.argsort(places[0 : 2 * pairs : 2], axis=1), places[1 : 2 * pairs : 2]
    return np.take_along_axis(second, first, axis=1)


def _adjusted(log_p: float, tests: int, level: float) -> float:
    """On the scale of all tests of the audit."""
    return min(1.0, math.exp(max(log_p, -690.0)) * tests * FALSE_ALARM / level)


def _possible(share: float) -> float | None:
    return share if share <= 1.0 else None


def _followers(name: str, places: Places, level: float) -> OrderTest:
    """Reports released right after, or right before, the one they came after."""
    batches, n = places.shape
    steps = np.diff(places, axis=1)
    seen = max(int((steps == 1).sum()), int((steps == -1).sum()))
    limit = batches
    while _poisson(limit, batches) > math.log(level / 2.0):
        limit += 1 + limit // 64
    return OrderTest(
        name,
        "neighbours released one after the other",
        batches,
        seen / (batches * (n - 1)),
        1.0 / n,
        _possible(limit / (batches * (n - 1))),
        _adjusted(_poisson(seen, batches), 2, level),
    )


def _poisson(seen: float, mean: float) -> float:
    """Logarithm of a bound on a tail probability, if factorial moments are at most Poisson's."""
    return 0.0 if seen <= mean else seen - mean - seen * math.log(seen / mean)


def _neighbours(name: str, places: Places, level: float) -> OrderTest:
    """Pairs of neighbours released within a distance, around the batch."""
    batches, n = places.shape
    pairs = n // 2
    away = np.abs(places[:, 1 : 2 * pairs : 2] - places[:, 0 : 2 * pairs : 2])
    away = np.minimum(away, n - away)
    scales = [n >> shift for shift in range(2, n.bit_length()) if 2 * (n >> shift) < n]
    scales = scales or [1]
    tests = 2 * len(scales)
    spread = 2.0 * batches * (n - 1)
    worst, shown = 0.0, (0.0, 0.0)
    for scale in scales:
        expected = min(1.0, 2.0 * scale / (n - 1))
        near = float((away <= scale).sum())
        excess = abs(near - expected * batches * pairs)
        if excess >= worst:
            worst, shown = excess, (near / (batches * pairs), expected)
    limit = math.sqrt(-spread * math.log(level / tests)) / (batches * pairs)
    return OrderTest(
        name,
        "neighbours released near each other",
        batches,
        *shown,
        _possible(shown[1] + limit),
        _adjusted(-(worst**2) / spread, tests, level),
    )


def _parts(name: str, places: Places, level: float) -> OrderTest:
    """Reports of a part of the batch released in a part."""
    batches, n = places.shape
    cuts = sorted({min(n, parts) for parts in _PARTS})
    tests = 2 * sum(parts**2 for parts in cuts)
    worst, shown, told = 0.0, (0.0, 0.0), 2.0
    for parts in cuts:
        part_of = np.arange(n) * parts // n
        size = np.bincount(part_of, minlength=parts)
        cells = (part_of[None, :] * parts + part_of[places]).ravel()
        seen = np.bincount(cells, minlength=parts**2).reshape(parts, parts)
        drawn = batches * size[:, None]
        loss = drawn * _divergence(seen / drawn, size[None, :] / n)
        at = np.unravel_index(np.argmax(loss), loss.shape)
        if loss[at] >= worst:
            worst = float(loss[at])
            number, chance = int(drawn[at[0], 0]), size[at[1]] / n
            shown = (float(seen[at] / number), float(chance))
            shares = np.linspace(chance, 1.0, 1001)
            enough = number * _divergence(shares, chance) > -math.log(level / tests)
            told = float(shares[np.argmax(enough)]) if enough.any() else 2.0
    return OrderTest(
        name,
        "reports of one part released in one part",
        batches,
        *shown,
        _possible(told),
        _adjusted(-worst, tests, level),
    )


def _together(name: str, places: Places, level: float) -> OrderTest:
    """Reports of a part released in one part, another one in every batch perhaps."""
    batches, n = places.shape
    cuts = sorted({min(n, parts) for parts in _PARTS[:2]})
    tests = sum(parts**2 for parts in cuts)
    worst, shown, told = -1.0, (0.0, 0.0), 2.0
    for parts in cuts:
        part_of = np.arange(n) * parts // n
        size = np.bincount(part_of, minlength=parts)
        cells = (np.arange(batches)[:, None] * parts + part_of) * parts + part_of[places]
        seen = np.bincount(cells.ravel(), minlength=batches * parts**2)
        shares = seen.reshape(batches, parts, parts) / size[:, None]
        loss = (size[:, None] * _divergence(shares, size / n)).sum(axis=0)
        at = np.unravel_index(np.argmax(loss), loss.shape)
        if loss[at] > worst:
            worst = float(loss[at])
            number, chance = int(size[at[0]]), size[at[1]] / n
            variance = chance * (1.0 - chance) / number * (n - number) / max(n - 1, 1)
            typical = math.sqrt(float((shares[:, at[0], at[1]] ** 2).mean()))
            shown = (typical, math.sqrt(chance**2 + variance))
            grid = np.linspace(chance, 1.0, 1001)
            losses = batches * number * _divergence(grid, chance)
            enough = _summed(losses, batches) < math.log(level / tests)
            told = max(float(grid[np.argmax(enough)]) if enough.any() else 2.0, shown[1])
    return OrderTest(
        name,
        "reports of one part released together (root mean square)",
        batches,
        *shown,
        _possible(told),
        _adjusted(float(_summed(worst, batches)), tests, level),
    )


def _summed(loss: float | NDArray[Any], batches: int) -> NDArray[np.float64]:
    """Logarithm of a bound on the chance of that sum, if each exceeds x with chance 2 exp(-x)."""
    bounds = batches * _GROWTH - np.multiply.outer(loss, _RATES)
    return np.asarray(np.minimum(0.0, bounds.min(axis=-1)))


_RATES = np.linspace(0.01, 0.99, 99)
_GROWTH = np.log1p(2.0 * _RATES / (1.0 - _RATES))


def _divergence(share: NDArray[Any], chance: NDArray[Any]) -> NDArray[np.float64]:
    """Of two coins; the chance is neither 0 nor 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(share > 0.0, share * np.log(share / chance), 0.0)
        tails = np.where(share < 1.0, (1.0 - share) * np.log((1.0 - share) / (1.0 - chance)), 0.0)
    return np.asarray(np.maximum(heads + tails, 0.0))


_TESTS = (_followers, _neighbours, _parts, _together)
