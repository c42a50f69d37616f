"""A store of reports: durable before anybody is answered, counted as they are added.

A batch goes through these states, each on the disk before the next step:

    closed    its reports are known and no others join; they are at least the minimum
    paid      the ledger has recorded what it costs
    written   its file is in the outbox, whole
    released  its reports are gone from here
    refused   the ledger did not pay: its reports wait for another batch
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from shuffledp.errors import ServiceError, TooFewError
from shuffledp.labels import counted
from shuffledp.service.store import tables
from shuffledp.service.wire import Problem

Random = Callable[[int], bytes]


class Execute(Protocol):
    """Runs one statement of ``tables``; returns its rows."""

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]: ...


class State(StrEnum):
    """Of a batch."""

    CLOSED = "closed"
    PAID = "paid"
    WRITTEN = "written"
    RELEASED = "released"
    REFUSED = "refused"


UNFINISHED = (State.CLOSED, State.PAID, State.WRITTEN)


@dataclass(frozen=True)
class Upload:
    """Reports that came together, to be stored together."""

    task: bytes
    reports: Sequence[tuple[bytes, bytes]]
    """The name of each, and what is for the analyst."""


@dataclass(frozen=True)
class StoredTask:
    """A task as the store has it."""

    number: int
    id: bytes
    document: bytes
    minimum: int
    largest: int
    record: int
    """Bytes of what is for the analyst of one report."""
    epoch: int
    waiting: int
    """Reports that no budget was spent on yet."""
    ended: int
    """1: takes no reports any more; 2: gives none out, they are being deleted; 3:
    nothing is left."""


@dataclass(frozen=True)
class StoredBatch:
    """A batch as the store has it."""

    id: bytes
    task: bytes
    state: State
    size: int


class Store(ABC):
    """A database that survives a crash. Safe to share between threads."""

    name: str
    """To be shown: without a password."""
    bytes_type: str
    unordered: str
    """Ends the definition of a table whose rows must not lie in the order of arrival."""
    row_lock: str
    """Appended to READ_TASKS where a task is needed for oneself."""
    random: Random = staticmethod(os.urandom)

    @abstractmethod
    def transaction(
        self, *, write: bool = True, create: bool = False, kept: bool = False
    ) -> AbstractContextManager[Execute]:
        """All or nothing. Left without an error, everything is on the disk.

        ``kept`` uses a connection that stays open: for one thread only. Errors of the database are
        a ServiceError; after an error while committing, what was to be done may be done.
        """

    def _alone(self, execute: Execute) -> None:  # noqa: B027
        """Until the end of the transaction no other one gives out numbers."""

    @abstractmethod
    def _new(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        """Record these names of reports; those that were not there before."""

    @abstractmethod
    def _known(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        """Those of these names that are there."""

    @abstractmethod
    def _stream(self, number: int) -> Iterator[tuple[int, bytes]]:
        """The chunks of an epoch, a few at a time."""

    @abstractmethod
    def _empty(self, number: int) -> None:
        """Delete the chunks of an epoch, if its table is too large to be dropped at once."""

    @abstractmethod
    def _has_table(self, execute: Execute, name: str) -> bool:
        """Whether there is a table of this name."""

    @abstractmethod
    def scrub(self) -> bool:
        """See to it that what was deleted is not left in the database's files;
        whether that worked."""

    @abstractmethod
    def releasing(self) -> AbstractContextManager[None]:
        """For one process at a time; a ServiceError for the others."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""

    def open(self, make: bool = True) -> None:
        """Make the tables that are not there yet; refuse those of another version."""
        with self.transaction(write=make, create=make) as execute:
            if make and execute(tables.READ_VERSION)[0][0] is None:
                execute(tables.STAMP, tables.VERSION)
            self._check_version(execute)

    def _check_version(self, execute: Execute) -> None:
        found = execute(tables.READ_VERSION)[0][0]
        if found != tables.VERSION:
            raise ServiceError(
                f"The store {self.name} has format {found}; this version reads {tables.VERSION}."
            )

    def _sql(self, text: str, number: int = 0) -> str:
        return text.format(number=int(number), bytes=self.bytes_type, unordered=self.unordered)

    # tasks

    def add_task(
        self, task_id: bytes, document: bytes, minimum: int, largest: int, record: int
    ) -> bool:
        """A new task; whether it was not there before."""
        with self.transaction() as execute:
            self._alone(execute)
            number = execute(tables.NEXT_TASK)[0][0]
            if self._task(execute, task_id) is not None:
                return False
            self._new_epoch(execute, number, (task_id, document, minimum, largest, record))
            execute(self._sql(tables.MAKE_SEEN, number))
        return True

    def _new_epoch(
        self, execute: Execute, task: int, new: tuple[bytes, bytes, int, int, int] | None = None
    ) -> None:
        """Where reports of a task, which may be new, come into from now on."""
        self._alone(execute)
        epoch: int = execute(tables.NEXT_EPOCH)[0][0]
        if new is not None:
            execute(tables.ADD_TASK, task, *new, epoch)
        else:
            execute(tables.NEW_EPOCH, epoch, task)
        execute(tables.ADD_EPOCH, epoch, task)
        execute(self._sql(tables.MAKE_CHUNKS, epoch))

    def tasks(self) -> list[StoredTask]:
        """All of them."""
        with self.transaction(write=False) as execute:
            return [
                StoredTask(*_plain(row)) for row in execute(tables.READ_TASKS + tables.IN_ORDER)
            ]

    def _task(self, execute: Execute, task_id: bytes, lock: bool = False) -> StoredTask | None:
        sql = tables.READ_TASKS + tables.BY_ID + (self.row_lock if lock else "")
        rows = execute(sql, task_id)
        return StoredTask(*_plain(rows[0])) if rows else None

    def _locked(self, execute: Execute, task_id: bytes) -> StoredTask:
        found = self._task(execute, task_id, lock=True)
        if found is None:
            raise ServiceError(f"The store {self.name} has no task {task_id.hex()}.")
        return found

    # reports

    def add(self, uploads: Sequence[Upload]) -> list[Problem | None]:
        """Store all reports that are new, in one transaction; what was wrong with each upload.

        A repeated report is no error, and changes nothing.
        """
        outcomes: list[Problem | None] = [None] * len(uploads)
        by_task: dict[bytes, list[int]] = {}
        for place, upload in enumerate(uploads):
            by_task.setdefault(upload.task, []).append(place)
        with self.transaction(kept=True) as execute:
            for task_id in sorted(by_task):  # in one order for all, so that none waits for another
                task = self._task(execute, task_id, lock=True)
                taken: dict[bytes, bytes] = {}
                left = 0 if task is None else task.largest - task.waiting
                for place in by_task[task_id]:
                    if task is None or task.ended:
                        outcomes[place] = Problem.UNKNOWN_TASK if task is None else Problem.ENDED
                        continue
                    reports = dict(uploads[place].reports)
                    more = len(reports)
                    if more > left:  # most of them may be repeated
                        more -= len(self._known(execute, task.number, list(reports)))
                    if more > left:
                        outcomes[place] = Problem.FULL
                        continue
                    left -= more
                    taken = reports | taken  # of two with one name, the first
                if task is not None and taken:
                    self._store(execute, task, taken)
        return outcomes

    def _store(self, execute: Execute, task: StoredTask, reports: dict[bytes, bytes]) -> None:
        new = sorted(self._new(execute, task.number, list(reports)))
        if not new:
            return
        content = b"".join(reports[name] for name in new)
        if len(content) != task.record * len(new):
            raise ServiceError("A report has not the length of its task: nothing was stored.")
        execute(self._sql(tables.ADD_CHUNK, task.epoch), self.random(8), len(new), content)
        execute(tables.GROW_EPOCH, len(new), task.epoch)
        execute(tables.ADD_WAITING, len(new), task.number)

    # batches

    def close_batch(self, task_id: bytes, batch_id: bytes) -> StoredBatch:
        """Close a batch of what waits, if that is enough; later reports wait for the next."""
        with self.transaction() as execute:
            task = self._locked(execute, task_id)
            if task.ended >= 2:
                raise TooFewError(f"The task {task_id.hex()} is over, its reports are deleted.")
            size, closed = 0, []
            for epoch, more in execute(tables.OPEN_EPOCHS, task.number):
                if more and size + more <= task.largest:
                    size += more
                    closed.append(epoch)
            if size < task.minimum:
                raise TooFewError(
                    f"{counted(size, 'report')} wait{'s' * (size == 1)} for the task"
                    f" {task_id.hex()}; fewer than its minimum of {task.minimum:,} are never"
                    " released."
                )
            execute(tables.ADD_BATCH, batch_id, task.number, size)
            for epoch in closed:
                execute(tables.CLOSE_EPOCH, batch_id, epoch)
            if task.epoch in closed:
                self._new_epoch(execute, task.number)
        return StoredBatch(batch_id, task_id, State.CLOSED, size)

    def mark(self, batch: StoredBatch, state: State) -> StoredBatch:
        """The next state of a batch."""
        with self.transaction() as execute:
            task = self._locked(execute, batch.task)
            found = execute(tables.READ_BATCHES + tables.BATCH_BY_ID, batch.id)
            if not found or found[0][2] != batch.state:
                raise ServiceError(f"The batch {batch.id.hex()} is not {batch.state} any more.")
            execute(tables.MARK_BATCH, str(state), batch.id, str(batch.state))
            if state is State.PAID:
                execute(tables.ADD_WAITING, -batch.size, task.number)
            if state is State.REFUSED:
                execute(tables.REOPEN_EPOCHS, batch.id)
        return StoredBatch(batch.id, batch.task, state, batch.size)

    def batches(self, task_id: bytes | None = None) -> list[StoredBatch]:
        """Of a task, or all; in an order that says nothing."""
        with self.transaction(write=False) as execute:
            rows = (
                execute(tables.READ_BATCHES + tables.ALL)
                if task_id is None
                else execute(tables.READ_BATCHES + tables.OF_TASK, task_id)
            )
        return [
            StoredBatch(bytes(batch), bytes(task), State(state), size)
            for batch, task, state, size in rows
        ]

    def reports(self, batch: StoredBatch) -> Iterator[bytes]:
        """Its reports, many at a time, one after another."""
        for epoch in self._epochs(batch):
            for _, content in self._stream(epoch):
                yield content

    def _epochs(self, batch: StoredBatch) -> list[int]:
        with self.transaction(write=False) as execute:
            return [epoch for epoch, _ in execute(tables.EPOCHS_OF_BATCH, batch.id)]

    def delete(self, batch: StoredBatch) -> None:
        """The reports of a batch. Their names stay."""
        for epoch in self._epochs(batch):
            self._delete(epoch)

    def _delete(self, epoch: int) -> None:
        with self.transaction(write=False) as execute:
            there = self._has_table(execute, f"shuffledp_chunks_{epoch}")
        if there:
            self._empty(epoch)
        with self.transaction() as execute:
            execute(self._sql(tables.DROP_CHUNKS, epoch))

    def end(self, task_id: bytes) -> None:
        """Takes no reports any more, whatever the clock says later."""
        with self.transaction() as execute:
            task = self._locked(execute, task_id)
            execute(tables.END_TASK, max(task.ended, 1), task.number)

    def forget(self, task_id: bytes) -> None:
        """Of a task that has ended: reports that were never released, and the names of all."""
        with self.transaction() as execute:
            task = self._locked(execute, task_id)
            states = {row[2] for row in execute(tables.READ_BATCHES + tables.OF_TASK, task_id)}
            if not task.ended or states & set(UNFINISHED):
                raise ServiceError(f"The task {task_id.hex()} has not ended, or a batch of it.")
            epochs = [epoch for epoch, _, _ in execute(tables.EPOCHS_OF_TASK, task.number)]
            execute(tables.END_TASK, max(task.ended, 2), task.number)
        for epoch in epochs:
            self._delete(epoch)
        with self.transaction() as execute:
            execute(self._sql(tables.DROP_SEEN, task.number))
            execute(tables.END_TASK, 3, task.number)

    # looking

    def verify(self) -> list[str]:
        """What does not add up, in words; every report is read. Tables may go while they are looked
        for, so a second look must find the same."""
        found = self._look()
        return [each for each in self._look() if each in found] if found else []

    def _look(self) -> list[str]:
        problems = []
        with self.transaction(write=False) as execute:
            self._check_version(execute)
            for row in execute(tables.READ_TASKS + tables.IN_ORDER):
                problems += self._wrong(execute, StoredTask(*_plain(row)))
        return problems

    def _wrong(self, execute: Execute, task: StoredTask) -> list[str]:
        shown = f"task {task.id.hex()}"
        states = {
            bytes(batch): (State(state), size)
            for batch, _, state, size in execute(tables.READ_BATCHES + tables.OF_TASK, task.id)
        }
        problems, total, waiting = [], 0, 0
        sizes = dict.fromkeys(states, 0)
        for epoch, size, owner in execute(tables.EPOCHS_OF_TASK, task.number):
            batch = None if owner is None else bytes(owner)
            total += size
            if batch is not None and batch not in states:
                problems.append(f"{shown}: epoch {epoch} is of a batch that is not there")
                continue
            state = None if batch is None else states[batch][0]
            if batch is not None:
                sizes[batch] += size
            if state in (None, State.CLOSED):
                waiting += size
            if task.ended == 2:
                continue
            gone = state is State.RELEASED or task.ended == 3
            if not self._has_table(execute, f"shuffledp_chunks_{epoch}"):
                if not gone and state is not State.WRITTEN:
                    problems.append(f"{shown}: the reports of epoch {epoch} are not there")
            elif gone:
                problems.append(f"{shown}: reports of epoch {epoch} are still there")
            elif state is not State.WRITTEN:
                counted, length = execute(self._sql(tables.COUNT_CHUNKS, epoch))[0]
                if counted != size or length != size * task.record:
                    problems.append(
                        f"{shown}: epoch {epoch} has {int(counted)} reports of {int(length)} bytes,"
                        f" and counted {size} of {task.record} each"
                    )
        for batch, (state, size) in states.items():
            if state is not State.REFUSED and sizes[batch] != size:
                problems.append(f"{shown}: batch {batch.hex()} counted {size}, has {sizes[batch]}")
            if size < task.minimum or size > task.largest:
                problems.append(f"{shown}: batch {batch.hex()} has a size out of bounds, {size}")
        if task.ended < 2:
            seen = execute(self._sql(tables.COUNT_SEEN, task.number))[0][0]
            if seen != total:
                problems.append(f"{shown}: {seen} names of reports, and {total} reports counted")
            if task.waiting != waiting:
                problems.append(f"{shown}: {task.waiting} are said to wait, and {waiting} do")
        return problems


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bytes of any database as bytes."""
    return tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)
