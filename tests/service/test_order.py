"""The order of release says nothing of the order of arrival; a shuffler that keeps it is caught."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shuffledp.collection.auditing.orders import Places, order_tests
from shuffledp.collection.devices import secure
from shuffledp.service import shuffler as room
from shuffledp.service.batch import read_batch
from shuffledp.service.store import Upload, open_store
from tests.service.made import make_shuffler, make_task

N, BATCHES = 300, 24


def _orders(folder: Path, *, names: Any, memory: int) -> Places:
    """Where each report of each batch came out, by the order in which it came."""
    shuffler = make_shuffler(
        folder, open_store(folder / "store.db"), stream=secure(), memory=memory
    )
    task = shuffler.open_task(make_task(minimum=N, largest=N).document)
    width, places = task.format.inner, np.empty((BATCHES, N), np.int64)
    for batch in range(BATCHES):
        for start in range(0, N, 50):  # six requests
            reports = [(names(), i.to_bytes(width)) for i in range(start, start + 50)]
            assert shuffler.store.add([Upload(task.id, reports)]) == [None]
        (released,) = shuffler.release(task.id)
        content = b"".join(read_batch(released.path)[1])
        for place in range(N):
            came = int.from_bytes(content[width * place : width * (place + 1)])
            places[batch, came] = place
    shuffler.store.close()
    return places


def _random_names() -> Any:
    stream = secure()
    return lambda: stream.words(16, np.uint8).tobytes()


def _rising_names() -> Any:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(16)


@pytest.mark.parametrize("memory", [1 << 20, 30_000])
def test_arrival_and_release_have_nothing_in_common(tmp_path: Path, memory: int) -> None:
    """In memory and through files; also if devices name their reports by the clock."""
    for place, names in enumerate((_random_names(), _rising_names())):
        folder = tmp_path / str(place)
        folder.mkdir()
        tests = order_tests({"service": _orders(folder, names=names, memory=memory)})
        assert len(tests) == 8
        assert all(test.uniform for test in tests), tests


class Sorting:
    """A mixer that does not mix."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        self.blocks: list[Any] = []

    def add(self, block: Any) -> None:
        self.blocks.append(block)

    def release(self) -> Iterator[Any]:
        whole = np.concatenate(self.blocks)
        arrival = [int.from_bytes(row.tobytes()) for row in whole]
        yield whole[np.argsort(arrival)]

    def close(self) -> None:
        pass


class Rotating(Sorting):
    """One that begins somewhere, and goes on in the order of arrival."""

    def release(self) -> Iterator[Any]:
        (whole,) = super().release()
        yield np.roll(whole, int(secure().bits(1, 8)[0]), axis=0)


@pytest.mark.parametrize("mixer", [Sorting, Rotating])
def test_a_shuffler_that_sorts_by_arrival_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixer: type
) -> None:
    monkeypatch.setattr(room, "Mixer", mixer)
    tests = order_tests({"service": _orders(tmp_path, names=_random_names(), memory=1 << 20)})
    assert min(test.p for test in tests) < 1e-12
