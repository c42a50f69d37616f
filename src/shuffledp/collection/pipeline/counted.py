"""Collections whose analyst sees numbers only: from a table to estimates, one step after another.

Devices send messages, a secure sum or a shuffler makes something public, the analyst reads that.
Everybody is played here by one process, each by the code of its own part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import Counted
from shuffledp.collection.analysis import Estimate
from shuffledp.collection.counting import collector
from shuffledp.collection.devices import Device, Stream
from shuffledp.collection.pipeline.engines import Advance, check_users
from shuffledp.collection.pipeline.job import Job, numbered, plain
from shuffledp.collection.pipeline.steps import Booking
from shuffledp.collection.pipeline.tables import read
from shuffledp.collection.planning import Histogram, Shape, Target, makers
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval

SHAPES = (
    *("dummies", "user-dummies", "krr-dummies", "laplace-dummies", "noise-shares"),
    *("split-and-mix", "sample-threshold", "summed-rappor", "summed-oue"),
)
"""What ``run`` and ``plan`` call them."""


@dataclass(frozen=True)
class CountedJob(Job):
    """A collection in another shape than one shuffled report per user."""

    shape: Shape | None = None
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
        if found.upper > self.epsilon and promised.value <= self.delta:
            return replace(found, upper_end=replace(found.upper_end, value=self.epsilon))
        return found

    @property
    def described(self) -> str:
        assert self.shape is not None
        return f"{self.protocol} (trusted: {self.shape.trust})"

    @property
    def eps0(self) -> float:
        return self.protocol.eps0


def shaped(job: Job, progress: Callable[[Iterable[str]], Iterable[str]] = iter) -> CountedJob:
    """The job with the least noise that keeps its guarantee.

    Parameters
    ----------
    job
        Its mechanism is one of ``SHAPES``.
    progress
        Wraps the names of shapes as they are tried, for a progress bar.
    """
    if job.task not in ("histogram", "mean"):
        raise ParameterError("mechanism", f"not {job.mechanism!r} for task {job.task!r}", job.task)
    target = Target(job.epsilon, job.delta, job.n)
    known = makers(job.question, target)
    checks.one_of("mechanism", job.mechanism, known)
    (found,) = (known[name]() for name in progress([job.mechanism]))
    given = {field.name: getattr(job, field.name) for field in fields(job)}
    return CountedJob(**given, shape=found)


def collect(
    job: CountedJob,
    data: str | Path,
    stream: Stream,
    *,
    book: Booking,
    advance: Advance,
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
    names: tuple[Any, ...] = job.categories if job.task == "histogram" else job.columns
    released = part.release(stream)
    found = part.estimate(released, part.users, names)
    if job.task == "mean":
        found = found.scaled(job.low, job.high)
    book(job, frozenset())
    return job, replace(found, guarantee=job.proven, label=job.label, dropped=rows - part.users)
