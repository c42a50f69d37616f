"""Sequences of uploads, replays, lost messages, crashes, rotations, releases: no report leaves twice."""

from typing import Any

import pytest

from shuffledp.service.shuffler import Released
from shuffledp.service.store import State, StoredBatch
from tests.service.simulator import CrashingShuffler, CrashingStore, Fault, run

HAPPENS = (
    *("acknowledged", "released", "crashed", "too few", "not paid", "full"),
    *("retired", "ended", "not-open", "forgotten"),
)


def test_no_sequence_shows_a_fault() -> None:
    counts = run(range(500))
    assert counts["sequences"] == 500
    assert not [name for name in HAPPENS if not counts[name]]  # all of it was tried
    assert counts["released"] > 400


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_ten_thousand_sequences(part: int) -> None:
    start = 100_000 + 2500 * part
    assert run(range(start, start + 2500), 30)["sequences"] == 2500


class DeletesFirst(CrashingShuffler):
    """What a crash leaves is gone."""

    def _finish(self, batch: StoredBatch) -> Released:
        if batch.state is State.CLOSED:
            self.book.spend(self.task(batch.task), batch.id)
            batch = self.store.mark(batch, State.PAID)
        held = list(self.store.reports(batch))
        self.store.delete(batch)
        self.store.power.step()  # type: ignore[attr-defined]
        self.store.reports = lambda _batch: iter(held)  # type: ignore[method-assign]
        try:
            return super()._finish(batch)
        finally:
            del self.store.reports


class Forgets(CrashingShuffler):
    """The names of released reports: they come again."""

    def _finish(self, batch: StoredBatch) -> Released:
        released = super()._finish(batch)
        with self.store.transaction() as execute:
            for each in (1, 2):
                execute(f"DELETE FROM shuffledp_seen_{each}")
        return released


class PaysAgain(CrashingShuffler):
    """With another name for each attempt."""

    def _finish(self, batch: StoredBatch) -> Released:
        if batch.state is State.CLOSED:
            self.book.spend(self.task(batch.task), self._random(16))
        return super()._finish(batch)


class MarksBeforeWriting(CrashingShuffler):
    """Says that the file is there when it is not."""

    def _finish(self, batch: StoredBatch) -> Released:
        task = self.task(batch.task)
        if batch.state is State.CLOSED:
            self.book.spend(task, batch.id)
            batch = self.store.mark(batch, State.PAID)
        if batch.state is State.PAID:
            written = self.store.mark(batch, State.WRITTEN)
            self._write(task, batch, self.outbox / f"{batch.id.hex()}.batch")
            batch = written
        return super()._finish(batch)


@pytest.mark.parametrize("planted", [DeletesFirst, Forgets, PaysAgain, MarksBeforeWriting])
def test_planted_faults_are_found(planted: type[CrashingShuffler]) -> None:
    with pytest.raises(Fault, match="seed"):
        run(range(200), 20, planted)


def test_a_store_that_counts_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are counted in another transaction than the one that adds them."""
    add = CrashingStore.add

    def late(self: CrashingStore, uploads: Any) -> Any:
        outcomes = add(self, uploads)
        self.power.step()
        with self.transaction() as execute:
            execute("UPDATE shuffledp_tasks SET waiting = waiting - 1 WHERE waiting > 0")
            execute("UPDATE shuffledp_epochs SET size = size - 1 WHERE size > 0 AND batch IS NULL")
        with self.transaction() as execute:
            execute("UPDATE shuffledp_tasks SET waiting = waiting + 1")
            execute("UPDATE shuffledp_epochs SET size = size + 1 WHERE batch IS NULL")
        return outcomes

    monkeypatch.setattr(CrashingStore, "add", late)
    with pytest.raises(Fault, match="seed"):
        run(range(50))
