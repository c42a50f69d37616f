"""The shuffler: takes sealed reports in, and gives batches out in an order that tells nothing.

Everything that must survive a crash is in the store before the next step is taken, so that what a
dead process has begun is taken up by the next (``resume``).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from shuffledp.collection.devices import Stream, secure
from shuffledp.collection.shuffling import Shuffler as Mixer
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import BudgetExceededError, ServiceError, ShuffleDPError
from shuffledp.ledger import Ledger
from shuffledp.service.batch import BATCH_ID, SUFFIX, Batch, read_batch, write_batch
from shuffledp.service.keys import KeyRing
from shuffledp.service.sealing import ID, CannotOpen
from shuffledp.service.store import UNFINISHED, State, Store, StoredBatch, Upload
from shuffledp.service.task import Task
from shuffledp.service.wire import Problem, Refused

log = logging.getLogger("shuffledp.service")
RETENTION = 7 * 24 * 3600
"""Seconds after a task has expired, in which it can still be released from."""
_BLOCK = 8 << 20
"""Bytes of reports given to the mixer at a time."""


class Book(Protocol):
    """Who pays."""

    def afford(self, task: Task) -> None:
        """BudgetExceededError if nobody can pay for one more batch."""

    def spend(self, task: Task, batch_id: bytes) -> None:
        """Record what a batch costs, once however often it is asked; BudgetExceededError if not."""

    def paid(self, task: Task) -> set[str]:
        """The names of the batches of this task that were paid for, by whichever store."""

    def told(self, task: Task) -> str:
        """What the cohort has lost in all, in words."""


@dataclass(frozen=True)
class LedgerBook:
    """The cohort of the task pays from a ledger."""

    ledger: Ledger

    def afford(self, task: Task) -> None:
        if not self.ledger.affords(task.cohort, task.protocol):
            raise BudgetExceededError(
                f"The cohort {task.cohort!r} cannot pay for a batch of the task"
                f" {task.id.hex()}: nothing is changed."
            )

    def spend(self, task: Task, batch_id: bytes) -> None:
        name = batch_id.hex()
        self.ledger.spend(task.cohort, task.protocol, label=_label(task, name), key=name)

    def paid(self, task: Task) -> set[str]:
        return {
            receipt.key
            for receipt in self.ledger.history(task.cohort)
            if receipt.key and receipt.label == _label(task, receipt.key)
        }

    def told(self, task: Task) -> str:
        balance = self.ledger.balance(task.cohort)
        return f"{task.cohort}: lost in all: {balance.rule.shown(balance.lost)} ({balance.claim})"


def _label(task: Task, batch: str) -> str:
    return f"batch {batch} of task {task.id.hex()}"


@dataclass(frozen=True)
class Released:
    """A batch that left."""

    batch: bytes
    task: bytes
    reports: int
    path: Path
    deleted: bool
    """Whether its reports are gone from the store; if not, that is tried again."""


class Shuffler:
    """One store, the keys to what comes in, a folder for what goes out, and who pays."""

    def __init__(
        self,
        store: Store,
        ring: KeyRing,
        outbox: str | Path,
        book: Book,
        *,
        clock: Callable[[], float] = time.time,
        stream: Stream | None = None,
        memory: int = MEMORY,
        retention: float = RETENTION,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.store, self.ring, self.outbox, self.book = store, ring, Path(outbox), book
        self._clock, self._random, self._memory = clock, random, memory
        self._stream = secure() if stream is None else stream
        self._retention = retention
        self._tasks: dict[bytes, Task] = {}

    # tasks

    def open_task(self, document: bytes) -> Task:
        """Take reports for a task, if its guarantee holds and a batch can be paid for; again
        is no error."""
        task = Task.read(document)
        if self._clock() >= task.expires:
            raise ServiceError(f"The task {task.id.hex()} has expired.")
        for key in task.shuffler:
            self.ring.check_kept(key.id)
        if all(each.id != task.id for each in self.store.tasks()):
            self.book.afford(task)
        job, form = task.job, task.format
        self.store.add_task(task.id, task.document, job.n, job.most_users, form.inner)
        self._tasks[task.id] = task
        return task

    def known(self, task_id: bytes) -> Task | None:
        """The task of that name, if it was used before."""
        return self._tasks.get(task_id)

    def task(self, task_id: bytes) -> Task:
        """The task of that name, which any process may have opened."""
        if task_id not in self._tasks:
            for each in self.store.tasks():
                if each.id not in self._tasks:
                    self._tasks[each.id] = Task.read(each.document, each.id)
        if task_id not in self._tasks:
            raise Refused(Problem.UNKNOWN_TASK)
        return self._tasks[task_id]

    def closed(self, task: Task) -> Problem | None:
        """Why reports of a task are not taken now."""
        now = self._clock()
        if now < task.opens:
            return Problem.NOT_OPEN
        return Problem.ENDED if now >= task.expires else None

    # reports

    def unwrap(self, task: Task, record: bytes) -> tuple[bytes, bytes]:
        """The name of a report and what is for the analyst."""
        key = self.ring.private(record[:ID])
        if key is None or key.public not in task.shuffler:
            raise Refused(Problem.UNKNOWN_KEY)
        try:
            return task.format.unwrap(record, key)
        except CannotOpen:
            raise Refused(Problem.UNOPENABLE) from None

    def accept(self, task_id: bytes, body: bytes) -> list[Problem | None]:
        """Store the records of an upload; what is wrong with each. Raises if it is all of them."""
        task = self.task(task_id)
        if (problem := self.closed(task)) is not None:
            raise Refused(problem)
        reports, outcomes = [], list[Problem | None]()
        for record in task.format.records(body):
            try:
                reports.append(self.unwrap(task, record))
                outcomes.append(None)
            except Refused as refused:
                outcomes.append(refused.problem)
        if reports:
            (problem,) = self.store.add([Upload(task_id, reports)])
            if problem is not None:
                raise Refused(problem)
        return outcomes

    # batches

    def release(self, task_id: bytes) -> list[Released]:
        """Finish what was begun for a task; if nothing was, close a batch and release it.

        Raises TooFewError below the minimum, and BudgetExceededError if the ledger does not pay:
        the reports go on waiting. Also if store and ledger do not agree on what left before: a
        store put back from a copy would release reports again, in other company.
        """
        task = self.task(task_id)
        with self.store.releasing():
            begun = [each for each in self.store.batches(task_id) if each.state in UNFINISHED]
            if begun:
                return [self._finish(each) for each in begun]
            if problems := self._disagreements(task):
                raise ServiceError(
                    f"Nothing more is released of the task {task.id.hex()}: {'; '.join(problems)}."
                    " The store or the ledger is another one than before, or was put back from a"
                    " copy. Open a new task."
                )
            self.book.afford(task)
            return [self._finish(self.store.close_batch(task_id, self._random(BATCH_ID)))]

    def resume(self) -> list[Released]:
        """Finish what this process or another has begun and not finished."""
        finished: list[Released] = []
        if not any(batch.state in UNFINISHED for batch in self.store.batches()):
            return finished
        with self.store.releasing():
            for batch in self.store.batches():
                if batch.state in UNFINISHED:
                    try:
                        finished.append(self._finish(batch))
                    except ShuffleDPError as error:
                        log.error("batch %s is not finished: %s", batch.id.hex(), error)
        return finished

    def _finish(self, batch: StoredBatch) -> Released:
        """Take a batch through all states that are left."""
        task = self.task(batch.task)
        path = self.outbox / f"{batch.id.hex()}{SUFFIX}"
        if batch.state is State.CLOSED:
            try:
                self.book.spend(task, batch.id)
            except BudgetExceededError:
                self.store.mark(batch, State.REFUSED)
                raise
            batch = self.store.mark(batch, State.PAID)
        if batch.state is State.PAID:
            self._write(task, batch, path)
            batch = self.store.mark(batch, State.WRITTEN)
        self.store.delete(batch)
        deleted = self.store.scrub()
        if deleted:
            self.store.mark(batch, State.RELEASED)
        else:
            log.error(
                "batch %s: somebody reads the store, deletion is not finished", batch.id.hex()
            )
        log.info("batch %s: %d reports released", batch.id.hex(), batch.size)
        return Released(batch.id, batch.task, batch.size, path, deleted)

    def _write(self, task: Task, batch: StoredBatch, path: Path) -> None:
        """The file of a batch, unless it is there: nobody gets two orders of the same reports."""
        about = Batch(batch.id, task, batch.size)
        if os.path.lexists(path):
            if read_batch(path)[0] != about:
                raise ServiceError(f"{path} is another file than the one that belongs there.")
            return
        try:
            self.outbox.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(
                f"The outbox {self.outbox} cannot be made: {error.strerror}."
            ) from error
        mixer = Mixer(self._stream, minimum=task.job.n, memory=self._memory, folder=self.outbox)
        try:
            for block in self._blocks(batch, task.format.inner):
                mixer.add(block)
            # the file's own time is no finer than any that the task lets out
            moment = self._clock() // task.precision * task.precision
            write_batch(about, mixer.release(), path, moment)
        finally:
            mixer.close()

    def _blocks(self, batch: StoredBatch, width: int) -> Iterator[np.ndarray]:
        """Its reports in rows of bytes, many at a time."""
        held, size = list[bytes](), 0
        for content in self.store.reports(batch):
            held.append(content)
            size += len(content)
            if size >= _BLOCK:
                yield np.frombuffer(b"".join(held), np.uint8).reshape(-1, width)
                held, size = [], 0
        if held:
            yield np.frombuffer(b"".join(held), np.uint8).reshape(-1, width)

    # looking

    def verify(self) -> list[str]:
        """What does not add up in store, ledger and keys, in words; every report is read."""
        problems = self.store.verify()
        for each in self.store.tasks():
            problems += self._disagreements(self.task(each.id))
        return problems + [f"key {key.hex()}: lost" for key in self.ring.lost]

    def _disagreements(self, task: Task) -> list[str]:
        """Of store and ledger, in words: batches that only one of them knows. The store is asked
        before the ledger and after it, as others may be releasing."""
        due = [
            each
            for each in self.store.batches(task.id)
            if each.state not in (State.CLOSED, State.REFUSED)
        ]
        paid = self.book.paid(task)
        known = {each.id.hex() for each in self.store.batches(task.id)}
        return [
            *(
                f"batch {each.id.hex()}: {each.state}, and the ledger was never charged"
                for each in due
                if each.id.hex() not in paid
            ),
            *(
                f"batch {name}: the ledger paid for it, and the store does not know it"
                for name in sorted(paid - known)
            ),
        ]

    # the end of tasks

    def sweep(self) -> None:
        """End tasks whose time is over, and forget those for which it has been for long."""
        now = self._clock()
        for each in self.store.tasks():
            task = self.task(each.id)
            if now >= task.expires and not each.ended:
                self.store.end(task.id)
            unfinished = any(b.state in UNFINISHED for b in self.store.batches(task.id))
            if now >= task.expires + self._retention and each.ended < 3 and not unfinished:
                with self.store.releasing():
                    self.store.end(task.id)
                    self.store.forget(task.id)
                    self.store.scrub()
                log.info("task %s: ended, nothing of it is left", task.id.hex())
