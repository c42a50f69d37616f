"""Collections whose analyst sees numbers only: from a table to estimates, one step after another.

Devices send messages, a secure sum or a shuffler makes something public, the analyst reads that.
Everybody is played here by one process, each by the code of its own part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import Counted
from shuffledp.collection.analysis import Estimate
from shuffledp.collection.counting import collector
from shuffledp.collection.devices import Device, Stream
from shuffledp.collection.pipeline.engines import Advance, check_users
from shuffledp.collection.pipeline.job import Job, numbered, plain
from shuffledp.collection.pipeline.steps import Booking, free, silent
from shuffledp.collection.pipeline.tables import Source, read
from shuffledp.collection.planning import Histogram, Shape, Target, makers
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval, in_full


@dataclass(frozen=True)
class CountedJob(Job):
    """A collection in another shape than one shuffled report per user."""

    shape: Shape | None = None
    rounds: int = 1
    """Rounds that keep the guarantee together; this is one of them."""
    counts_users = True

    @property
    def protocol(self) -> Counted:  # type: ignore[override]
        """What is accounted for."""
        assert self.shape is not None
        return self.shape.protocol

    @cached_property
    def device(self) -> Device:
        raise ParameterError("mechanism", "one of shuffled reports", self.mechanism)

    @cached_property
    def guarantee(self) -> Interval:
        """As shown; where the promise itself is proven, no search has to find it again."""
        assert self.shape is not None
        found, promised = self.protocol.epsilon(self.delta), self.shape.achieved
        if self.rounds == 1 and found.upper > self.epsilon and promised.value <= self.delta:
            return replace(found, upper_end=replace(found.upper_end, value=self.epsilon))
        return found

    @property
    def described(self) -> str:
        assert self.shape is not None
        said = f"{self.protocol} (trusted: {self.shape.trust})"
        if self.rounds == 1:
            return said
        return (
            f"{said}, one of {self.rounds:,} rounds that cost epsilon {in_full(self.epsilon)}"
            " together"
        )

    @property
    def eps0(self) -> float:
        return self.protocol.eps0


def shaped(
    job: Job, progress: Callable[[Iterable[str]], Iterable[str]] = iter, **limits: Any
) -> CountedJob:
    """The job with the least noise that keeps its guarantee.

    Parameters
    ----------
    job
        Its mechanism is one of ``ALL_SHAPES``.
    progress
        Wraps the names of shapes as they are tried, for a progress bar.
    **limits
        ``rounds``, ``colluders``, ``max_eps0`` of a :class:`Target`.
    """
    if job.task not in ("histogram", "mean"):
        raise ParameterError("mechanism", f"not {job.mechanism!r} for task {job.task!r}", job.task)
    target = Target(job.epsilon, job.delta, job.n, **limits)
    known = makers(job.question, target, job.most_users)
    checks.one_of("mechanism", job.mechanism, known)
    (found,) = (known[name]() for name in progress([job.mechanism]))
    if (found.eps0 or math.inf) > target.max_eps0:
        raise ParameterError("max_eps0", f"left out for {job.mechanism!r}", target.max_eps0)
    given = {field.name: getattr(job, field.name) for field in fields(job)}
    return CountedJob(**given, shape=found, rounds=target.rounds)


def collect(
    job: CountedJob,
    data: Source,
    stream: Stream,
    *,
    book: Booking = free,
    advance: Advance = silent,
) -> tuple[CountedJob, Estimate]:
    """Send, mix, release, estimate.

    Parameters
    ----------
    job
        What is collected.
    data
        The table of what users hold.
    stream
        Where randomness comes from.
    book
        Records the release before it is made.
    advance
        Called with the number of rows done.
    """
    job.checked()
    job = replace(job, shuffled=True, simulated=stream.simulated)
    question = job.question
    part = collector(job.protocol, question.k if isinstance(question, Histogram) else None)
    rows = 0
    for row, batch in numbered(read(data, job.columns)):
        check_users(job, row + batch.num_rows, "rows of the table")
        part.collect(job.inputs([plain(column) for column in batch.columns], row), stream)
        rows += batch.num_rows
        advance(batch.num_rows)
    if part.users < job.n:
        raise ParameterError("data", f"at least the promised batch of {job.n} rows", part.users)
    book(job, frozenset())
    names: tuple[Any, ...] = job.categories if job.task == "histogram" else job.columns
    released = part.release(stream)
    found = part.estimate(released, part.users, names)
    if job.task == "mean":
        found = found.scaled(job.low, job.high)
    return job, replace(found, guarantee=job.proven, label=job.label, dropped=rows - part.users)
