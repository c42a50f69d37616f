"""A shuffler killed everywhere, while it stores and while it releases.

Run by itself, so that it may fork: python -m tests.service.killed STORE FOLDER MANNER BUDGET
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from shuffledp.errors import BudgetExceededError, TooFewError
from shuffledp.ledger import Ledger
from shuffledp.service.batch import read_batch
from shuffledp.service.shuffler import LedgerBook, Released, Shuffler
from shuffledp.service.store import State, StoredBatch, open_store
from shuffledp.service.task import Task
from tests.killing import kill_everywhere
from tests.service.made import Clock, contents, key, make_ring, make_task

SENT = 12
"""Reports of one round; the minimum is 10."""


class Careless(Shuffler):
    """A negative control: deletes before the file is there."""

    def _finish(self, batch: StoredBatch) -> Released:
        if batch.state is State.CLOSED:
            self.book.spend(self.task(batch.task), batch.id)
            batch = self.store.mark(batch, State.PAID)
        held = list(self.store.reports(batch))
        self.store.delete(batch)
        self.store.reports = lambda _batch: iter(held)  # type: ignore[method-assign]
        return super()._finish(batch)


class Witness:
    """Knows what was acknowledged and what was released: files that are read once and removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("turn", "acknowledged", "released", "batches"):
            (folder / name).touch()

    def numbers(self, name: str) -> list[int]:
        return [int(each) for each in (self.folder / name).read_text().split()]

    def note(self, name: str, *what: object) -> None:
        """In one call, so that it is there or not."""
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND)
        os.write(file, " ".join(map(str, what)).encode() + b"\n")
        os.close(file)

    def check(self, shuffler: Shuffler, ledger: Ledger) -> str:
        """Nothing acknowledged is lost, nothing left twice, too early, or unpaid for."""
        shuffler.resume()
        store = shuffler.store
        assert store.verify() == []
        (task,) = store.tasks()
        for path in sorted((self.folder / "outbox").glob("*.batch")):
            assert read_batch(path)[0].reports >= task.minimum, "below the minimum"
            self.note("released", *(int.from_bytes(report) for report in contents(path)))
            self.note("batches", path.stem)
            path.unlink()
        released = self.numbers("released")
        assert len(set(released)) == len(released), "released twice"
        with store.transaction(write=False) as execute:
            rows = execute(f"SELECT id FROM shuffledp_seen_{task.number}")
        came = {int.from_bytes(bytes(name)) for (name,) in rows}
        assert came >= set(released), "released without having come"
        assert len(came) - len(released) == task.waiting, "neither released nor waiting"
        assert came >= set(self.numbers("acknowledged")), "an acknowledged report was lost"
        paid = [receipt.key for receipt in ledger.history(make_task().cohort)]
        assert sorted(paid) == sorted((self.folder / "batches").read_text().split()), "not paid"
        assert ledger.balance(make_task().cohort).left["epsilon"] >= 0, "over budget"
        self.note("turn", 1)
        return f"{len(paid)} batches, {len(released)} released, {task.waiting} waiting"


def sealed(task: Task, number: int) -> bytes:
    """A record whose name and content are this number."""
    return task.format.seal(number.to_bytes(16), number.to_bytes(16), key("shuffler").public)


def main(where: str, place: str, manner: str, budget: str) -> None:
    folder = Path(place) / "files"
    folder.mkdir()
    task, ledger, witness = (
        make_task(largest=10**6),
        Ledger.open(folder / "ledger.db"),
        Witness(folder),
    )
    ledger.create(task.cohort, budget, "0.5")
    make_ring(folder / "keys", "shuffler")
    kind = Careless if manner == "careless" else Shuffler

    def shuffler() -> Shuffler:
        ring = make_ring(folder / "keys", "shuffler")
        book = LedgerBook(ledger)
        return kind(open_store(where), ring, folder / "outbox", book, clock=Clock())

    first = shuffler()
    first.open_task(task.document)
    first.store.close()

    def work() -> None:
        """Uploads, again for those who heard nothing, and a release."""
        mine = shuffler()
        start = 1000 * (len(witness.numbers("turn")) + 1)
        sent = [sealed(task, number) for number in range(start, start + SENT)]
        for body in (b"".join(sent), sent[0] + sent[1]):
            outcomes = mine.accept(task.id, body)
            witness.note("acknowledged", *range(start, start + len(outcomes)))
        with suppress(BudgetExceededError, TooFewError):
            mine.release(task.id)

    def check(ended: bool) -> None:
        mine = shuffler()
        print(witness.check(mine, ledger), "ended" if ended else "killed", flush=True)
        mine.store.close()

    kill_everywhere(folder, work, check)


if __name__ == "__main__":
    main(*sys.argv[1:])
