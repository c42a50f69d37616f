"""Every order is as likely; nothing below the minimum leaves; nothing stays behind."""

import itertools
import math
import os
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shuffledp import ParameterError
from shuffledp.collection.devices import secure
from shuffledp.collection.shuffling import Shuffler, permutation, shuffle
from tests.oracles.device_laws import misfit

STREAM = secure()


def _uneven(draw: Callable[[], list[int]], size: int, trials: int) -> bool:
    """Chi-square over all orders, false-alarm rate 1e-8."""
    seen = Counter(tuple(draw()) for _ in range(trials))
    orders = list(itertools.permutations(range(size)))
    return misfit(seen, dict.fromkeys(orders, 1 / len(orders)), trials)


def _one_swap() -> list[int]:
    order = list(range(6))
    i, j = STREAM.words(2) % np.uint64(6)
    order[int(i)], order[int(j)] = order[int(j)], order[int(i)]
    return order


def _naive() -> list[int]:
    """Each place exchanged with any place: the classic mistake."""
    order = list(range(6))
    for i in range(6):
        j = int(STREAM.words(1)[0] % np.uint64(6))
        order[i], order[j] = order[j], order[i]
    return order


def test_all_permutations_of_six_are_as_likely() -> None:
    assert not _uneven(lambda: permutation(6, STREAM).tolist(), 6, 60_000)


@pytest.mark.parametrize("wrong", [lambda: list(range(6)), _one_swap, _naive])
def test_wrong_shuffles_are_noticed(wrong: Callable[[], list[int]]) -> None:
    assert _uneven(wrong, 6, 40_000)


def _external(memory: int, size: int) -> list[int]:
    shuffler = Shuffler(STREAM, minimum=1, memory=memory)
    for i in range(size):
        shuffler.add(np.array([[i]], np.int64))
    return [int(x) for block in shuffler.release() for x in block.ravel()]


def test_external_shuffles_are_as_even() -> None:
    """Memory for one number: each goes to a file, piles of two are piled again."""
    assert not _uneven(lambda: _external(32, 3), 3, 500)


def test_an_external_shuffle_keeps_every_report() -> None:
    shuffler = Shuffler(STREAM, minimum=1, memory=1 << 14)
    blocks = [np.arange(2000 * i, 2000 * (i + 1)).reshape(-1, 2) for i in range(50)]
    for block in blocks:
        shuffler.add(block)
    out = np.concatenate(list(shuffler.release()))
    assert shuffler.size == len(out) == 50_000
    assert np.array_equal(out[np.argsort(out[:, 0])], np.concatenate(blocks))
    # places of the reports are uncorrelated with where they came from: 6 standard errors
    assert abs(np.corrcoef(out[:, 0], np.arange(len(out)))[0, 1]) < 6 / math.sqrt(len(out))


def test_piles_leave_no_file(tmp_path: Path) -> None:
    shuffler = Shuffler(STREAM, minimum=1, memory=64, folder=tmp_path)
    shuffler.add(np.zeros((100, 1), np.int64))
    assert shuffler._piles
    assert os.listdir(tmp_path) == []
    shuffler.close()


def test_a_report_larger_than_memory_is_shuffled_all_the_same() -> None:
    shuffler = Shuffler(STREAM, minimum=1, memory=64)
    reports = np.repeat(np.arange(100), 50).reshape(100, 50)
    shuffler.add(reports)
    out = np.concatenate(list(shuffler.release()))
    assert np.array_equal(out[np.argsort(out[:, 0])], reports)


@pytest.mark.parametrize(("columns", "dtype"), [(1, np.uint8), (1, np.int64), (40, np.uint8)])
def test_memory_is_what_it_says(columns: int, dtype: type) -> None:
    """With keys and copies: the keys of small reports are larger than the reports."""
    memory, size = 2 << 20, (2 << 20) // columns // np.dtype(dtype).itemsize
    shuffler = Shuffler(STREAM, minimum=1, memory=memory)
    block = np.zeros((1 << 14, columns), dtype)
    tracemalloc.start()
    try:
        for _ in range(0, size, len(block)):
            shuffler.add(block)
        assert sum(map(len, shuffler.release())) == shuffler.size
        assert tracemalloc.get_traced_memory()[1] <= memory
    finally:
        tracemalloc.stop()


def test_spilled_reports_cannot_be_read(tmp_path: Path) -> None:
    """Not even by one who finds the blocks of the disk."""
    shuffler = Shuffler(STREAM, minimum=1, memory=1 << 16, folder=tmp_path)
    shuffler.add(np.full((1 << 16, 1), 7, np.uint8))
    for pile in shuffler._piles:
        status = os.fstat(pile._file.fileno())
        assert (status.st_mode & 0o777, status.st_nlink) == (0o600, 0)
        content = np.frombuffer(os.pread(pile._file.fileno(), 1 << 16, 0), np.uint8)
        assert len(content) == pile.size > 500
        assert (content == 7).mean() < 0.1
    assert all((block == 7).all() for block in shuffler.release())


def test_a_killed_shuffler_leaves_nothing(tmp_path: Path) -> None:
    code = """
import sys, time, numpy as np
from shuffledp.collection.devices import secure
from shuffledp.collection.shuffling import Shuffler
shuffler = Shuffler(secure(), minimum=1, memory=1 << 10)
shuffler.add(np.zeros((5000, 1), np.uint8))
assert shuffler._piles
print("spilled", flush=True)
time.sleep(600)
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"spilled\n"
        process.send_signal(signal.SIGKILL)
    assert os.listdir(tmp_path) == []


def test_small_batches_stay_inside() -> None:
    reports = np.zeros((9, 1), np.uint8)
    with pytest.raises(ParameterError, match="minimum batch of 10"):
        shuffle(reports, STREAM, minimum=10)
    shuffler = Shuffler(STREAM, minimum=10)
    shuffler.add(reports)
    with pytest.raises(ParameterError, match="minimum batch of 10"):
        next(shuffler.release())
    shuffler.add(reports[:1])
    assert sum(map(len, shuffler.release())) == 10
    assert len(shuffle(reports, STREAM, minimum=9)) == 9


@pytest.mark.parametrize("minimum", [0, -1, True, 1.5])
def test_bad_minimum(minimum: object) -> None:
    with pytest.raises(ParameterError, match="minimum"):
        Shuffler(STREAM, minimum=minimum)  # type: ignore[arg-type]
