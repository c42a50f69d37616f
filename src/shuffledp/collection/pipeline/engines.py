"""Where the work is done: one small interface, the same devices behind it.

An engine maps every part of a table to reports, then either adds up what was counted (counts have
no order) or shuffles the reports by random keys. Keys of the cryptographic stream are drawn where
the reports are made, and never travel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from shuffledp.collection.analysis import Tally
from shuffledp.collection.devices import Device, Stream
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline.job import Job, numbered
from shuffledp.collection.pipeline.tables import ROWS, Source, read
from shuffledp.collection.shuffling import Shuffler
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import ParameterError

Advance = Callable[[int], None]
"""Told how many rows are done."""


class Collection(Protocol):
    """What an engine must know to shuffle reports; a job is one."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def n(self) -> int: ...

    @property
    def most_users(self) -> int: ...

    @property
    def device(self) -> Device: ...

    def encode(self, batch: Any, first_row: int, stream: Stream) -> Reports: ...


def check_users(job: Collection, number: int, of: str) -> None:
    """One user who sends two reports loses more than is accounted for."""
    if number > job.most_users:
        raise ParameterError(
            "n",
            f"at least the {of}, one for each user: somebody who is there twice takes part in two"
            " rounds, which `shuffledp account --rounds 2` accounts for",
            job.most_users,
        )


def block_rows(job: Collection, memory: int) -> int:
    """How many to randomize at a time: a quarter of the memory holds them, with copies."""
    row = 48 * len(job.columns) + 3 * job.device.columns * job.device.dtype.itemsize + 64
    return max(1, min(ROWS, memory // 4 // row))


class Engine(ABC):
    """Runs a job over a table."""

    simulated = False
    memory = MEMORY
    """Bytes for the rows at hand, the reports waiting to be shuffled, and what is counted."""

    @abstractmethod
    def tallied(self, job: Job, data: Source, advance: Advance) -> Tally:
        """What was counted over all users."""

    @abstractmethod
    def shuffled(self, job: Collection, data: Source, advance: Advance) -> Iterator[Reports]:
        """All reports, every order as likely; too few are refused."""


class Embedded(Engine):
    """This process: block by block, in bounded memory, spilling to nameless files.

    Parameters
    ----------
    stream
        Where randomness comes from.
    memory
        Bytes for the reports at hand.
    """

    def __init__(self, stream: Stream, memory: int = MEMORY) -> None:
        self._stream, self.memory = stream, memory
        self.simulated = stream.simulated

    def reports(self, job: Collection, data: Source, advance: Advance) -> Iterator[Reports]:
        """Reports of all users, in the order of the table: for the shuffler only."""
        parts = read(data, job.columns, rows=block_rows(job, self.memory), size=self.memory // 8)
        for row, batch in numbered(parts):
            check_users(job, row + batch.num_rows, "rows of the table")
            yield job.encode(batch, row, self._stream)
            advance(batch.num_rows)

    def tallied(self, job: Job, data: Source, advance: Advance) -> Tally:
        tally = job.tally(self.memory // 2)
        for block in self.reports(job, data, advance):
            tally.add(block)
        return tally

    def shuffled(self, job: Collection, data: Source, advance: Advance) -> Iterator[Reports]:
        return self.mixed(self.reports(job, data, advance), job.n)

    def mixed(self, reports: Iterable[Reports], minimum: int) -> Iterator[Reports]:
        """The one way out for reports that are there."""
        shuffler = Shuffler(self._stream, minimum=minimum, memory=self.memory // 2)
        for block in reports:
            shuffler.add(block)
        return shuffler.release()
