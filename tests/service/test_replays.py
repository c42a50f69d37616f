"""Replays within and across batches and restarts: none enters."""

from pathlib import Path
from random import Random

import pytest

from shuffledp.errors import TooFewError
from shuffledp.service.shuffler import Shuffler
from shuffledp.service.store import open_store
from tests.service.killed import sealed
from tests.service.made import Purse, contents, make_shuffler, make_task


@pytest.mark.parametrize("replays", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_replay_enters(tmp_path: Path, replays: int) -> None:
    random = Random(7)
    task, book = make_task(), Purse()
    known: list[bytes] = []
    released: list[int] = []
    replayed = 0

    def started() -> Shuffler:
        mine = make_shuffler(tmp_path, open_store(tmp_path / "store.db"), book=book)
        mine.open_task(task.document)
        return mine

    shuffler = started()
    while replayed < replays:
        fresh = [sealed(task, len(known) + i + 1) for i in range(20)]
        known += fresh
        for start in range(0, 20, 5):
            shuffler.accept(task.id, b"".join(fresh[start : start + 5]))
            again = random.choices(known[: len(known) - 20 + start + 5], k=replays // 100)
            shuffler.accept(task.id, b"".join(again))
            replayed += len(again)
        (batch,) = shuffler.release(task.id)
        released += [int.from_bytes(report) for report in contents(batch.path)]
        if random.random() < 0.5:
            shuffler.store.close()
            shuffler = started()
    again = random.choices(known, k=100)
    shuffler.accept(task.id, b"".join(again))
    with pytest.raises(TooFewError, match=r"^0 reports"):
        shuffler.release(task.id)
    assert sorted(released) == list(range(1, len(known) + 1))
    assert shuffler.store.verify() == []
    shuffler.store.close()
