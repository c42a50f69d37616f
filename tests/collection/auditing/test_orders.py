"""Orders: bounds hold exactly at small sizes, uniform ones pass, planted faults do not."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shuffledp.collection.auditing.orders import (
    FALSE_ALARM,
    _divergence,
    _poisson,
    _summed,
    order_tests,
)
from shuffledp.collection.devices import secure
from shuffledp.collection.shuffling import permutation

STREAM = secure()
CHOICE = np.random.default_rng(16)


@pytest.mark.parametrize(("n", "batches"), [(2, 1), (3, 1), (5, 1), (6, 1), (3, 3), (4, 2)])
def test_bounds_on_tails_hold_for_all_orders(n: int, batches: int) -> None:
    """Over all batches of all orders: no p is as small more often than it says."""
    orders = np.array(list(itertools.permutations(range(n))))
    found: dict[tuple[str, str], list[float]] = {}
    for chosen in itertools.product(range(len(orders)), repeat=batches):
        tests = order_tests({"all": orders[list(chosen)]})
        for test in tests:
            # the chance of one test alone: its share of the false alarms
            found.setdefault((test.orders, test.statistic), []).append(test.p / len(tests))
    for name, bounds in found.items():
        values = np.sort(bounds)
        for p in np.unique(values[values * len(tests) < 1.0]):
            assert np.searchsorted(values, p, side="right") / len(values) <= p * (1 + 1e-9), name


def _tails(counts: Any, batches: int) -> Any:
    """Pr[at least s] of the sum over independent batches, from the counts of all orders of one."""
    law = np.bincount(counts) / len(counts)
    total = np.ones(1)
    for _ in range(batches):
        total = np.convolve(total, law)
    return np.cumsum(total[::-1])[::-1]


@pytest.mark.parametrize("batches", [1, 5, 40])
def test_bounds_on_tails_hold_for_many_batches(batches: int) -> None:
    """Each statistic of all orders of 7, summed exactly; and none of the bounds is idle."""
    n = 7
    places = np.array(list(itertools.permutations(range(n))))
    followers = _tails((np.diff(places, axis=1) == 1).sum(axis=1), batches)
    bound = [np.exp(_poisson(seen, batches)) for seen in range(followers.size)]
    assert np.all(followers <= np.array(bound) * (1 + 1e-9))
    assert min(bound) < 0.01
    away = np.abs(places[:, 1:6:2] - places[:, 0:6:2])
    near = _tails((np.minimum(away, n - away) <= 1).sum(axis=1), batches)
    excess = np.maximum(np.arange(near.size) - 2 / 6 * 3 * batches, 0.0)
    bound = np.exp(-(excess**2) / (2.0 * batches * (n - 1)))
    assert np.all(near <= bound * (1 + 1e-9))
    assert min(bound) < (0.8 if batches == 1 else 0.2)
    kept = _tails((places[:, :3] < 3).sum(axis=1), batches)
    share = np.arange(kept.size) / (3 * batches)
    bound = np.exp(-3 * batches * _divergence(share, np.array(3 / 7)))
    assert np.all((kept <= bound * (1 + 1e-9)) | (share <= 3 / 7))
    assert min(bound) < 0.2


@pytest.mark.parametrize("batches", [1, 3, 8])
def test_bounds_on_sums_of_losses_hold(batches: int) -> None:
    """The divergences of all batches of 6 by halves, summed exactly."""
    places = np.array(list(itertools.permutations(range(6))))
    kept = np.bincount((places[:, :3] < 3).sum(axis=1)) / len(places)
    losses = 3.0 * _divergence(np.arange(4) / 3, np.array(0.5))
    law = {0.0: 1.0}
    for _ in range(batches):
        sums: dict[float, float] = {}
        for (loss, p), (more, q) in itertools.product(
            law.items(), zip(losses.tolist(), kept, strict=True)
        ):
            sums[round(loss + more, 9)] = sums.get(round(loss + more, 9), 0.0) + p * q
        law = sums
    for loss in law:
        tail = sum(p for other, p in law.items() if other >= loss - 1e-6)
        assert tail <= np.exp(_summed(loss - 1e-6, batches)) * (1 + 1e-9)
    assert _summed(40.0 * batches, batches) < -20.0 * batches


def _uniform(n: int) -> Any:
    return permutation(n, STREAM)


def _rotated(n: int) -> Any:
    return (np.arange(n) + CHOICE.integers(n)) % n


def _blocks_exchanged(n: int) -> Any:
    """Of ten, whole."""
    places = np.empty(n, np.int64)
    blocks = np.array_split(np.arange(n), max(2, n // 10))
    places[np.concatenate([blocks[i] for i in CHOICE.permutation(len(blocks))])] = np.arange(n)
    return places


def _within_blocks(n: int) -> Any:
    parts = np.array_split(np.arange(n), max(2, n // 10))
    return np.concatenate([CHOICE.permutation(part) for part in parts])


def _halves(n: int) -> Any:
    """Shuffled within, and exchanged or not: every report may come out anywhere."""
    parts = [CHOICE.permutation(part) for part in np.array_split(np.arange(n), 2)]
    if CHOICE.integers(2):
        parts = [(part + n // 2) % n for part in parts]
    return np.concatenate(parts)


def _half(n: int) -> Any:
    return np.concatenate([CHOICE.permutation(n // 2), np.arange(n // 2, n)])


def _riffle(n: int) -> Any:
    """Two halves, each in its order, mixed at random."""
    first = np.sort(CHOICE.permutation(n)[: n // 2])
    return np.concatenate([first, np.setdiff1d(np.arange(n), first)])


def _piles(n: int) -> Any:
    """Random piles, each in the order of arrival."""
    places = np.empty(n, np.int64)
    places[np.argsort(CHOICE.integers(8, size=n), kind="stable")] = np.arange(n)
    return places


def _first_stays(n: int) -> Any:
    return np.concatenate([[0], 1 + CHOICE.permutation(n - 1)])


def _secret(n: int) -> Any:
    """Always the same order, which looks like any other."""
    return np.random.default_rng(3).permutation(n)


def _secret_rotated(n: int) -> Any:
    return (_secret(n) + CHOICE.integers(n)) % n


FAULTS: dict[str, Callable[[int], Any]] = {
    "none": np.arange,
    "reversed": lambda n: np.arange(n)[::-1],
    "rotated": _rotated,
    "blocks exchanged": _blocks_exchanged,
    "within blocks": _within_blocks,
    "halves exchanged": _halves,
    "half": _half,
    "riffle": _riffle,
    "piles": _piles,
    "first stays": _first_stays,
    "secret": _secret,
    "secret rotated": _secret_rotated,
}


@pytest.mark.parametrize("n", [20, 1000])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str, n: int) -> None:
    batches = 400 if n == 20 else 100
    tests = order_tests({"planted": np.array([FAULTS[fault](n) for _ in range(batches)])})
    assert min(test.p for test in tests) < FALSE_ALARM


@pytest.mark.parametrize(
    "fault", ["none", "rotated", "blocks exchanged", "riffle", "within blocks"]
)
def test_one_large_batch_tells_much(fault: str) -> None:
    tests = order_tests({"planted": FAULTS[fault](10_000)[None]})
    assert any(not test.uniform for test in tests)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50, 3000])
def test_uniform_orders_pass(n: int) -> None:
    tests = order_tests({"honest": np.array([_uniform(n) for _ in range(50)])})
    assert all(test.uniform for test in tests)
    assert bool(tests) == (n > 1)
    for test in tests:
        assert test.detectable is None or test.expected <= test.detectable <= 1.0


def test_too_few_batches_tell_nothing_and_say_so() -> None:
    tests = order_tests({"few": np.array([np.arange(3)] * 2)})
    assert all(test.uniform and test.detectable is None for test in tests)


def test_what_is_told_is_what_was_promised() -> None:
    """Just above the share that would be told, it is; with more batches less is enough."""
    n, batches = 100, 50
    honest = np.array([_uniform(n) for _ in range(batches)])
    follow = order_tests({"": honest})[0]
    assert follow.detectable is not None
    pairs = int(np.ceil(follow.detectable * (n - 1))) + 1
    planted = []
    for _ in range(batches):
        places = np.empty(n, np.int64)
        moved = CHOICE.permutation(n - pairs)
        # the first pairs + 1 reports come out one after the other, somewhere
        order = np.split(moved + pairs, [np.flatnonzero(moved == 0)[0]])
        places[np.concatenate([order[0], np.arange(pairs + 1), order[1][1:]])] = np.arange(n)
        planted.append(places)
    assert not order_tests({"": np.array(planted)})[0].uniform
    more = np.array([_uniform(n) for _ in range(4 * batches)])
    less = order_tests({"": more})[0].detectable
    assert less is not None
    assert less < follow.detectable


def test_a_report_lost_is_found() -> None:
    places = np.array([_uniform(10) for _ in range(9)])
    places[3, 2] = places[3, 1]
    (only,) = order_tests({"lossy": places})
    assert not only.uniform
    assert only.statistic == "batches with each report once"
