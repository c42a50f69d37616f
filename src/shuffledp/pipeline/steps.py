"""The steps of a collection: prepare, encode, shuffle, analyze, or all at once."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.analysis import Estimate
from shuffledp.errors import ParameterError
from shuffledp.pipeline.engines import Advance, Embedded, Engine
from shuffledp.pipeline.job import Job, Tally, numbered, present, texts
from shuffledp.pipeline.tables import header, kind, read, written
from shuffledp.sampling import Stream
from shuffledp.sampling.device import Reports
from shuffledp.shuffling import Shuffler
from shuffledp.shuffling.shuffler import MEMORY

Booking = Callable[[Job, frozenset[str]], None]
"""Called when a release is ready and before it is made: to record what it costs, or to refuse.

With names of the batches in it, which may have been released before; none if all is fresh.
"""


def _silent(_rows: int) -> None:
    pass


def _free(_job: Job, _batches: frozenset[str]) -> None:
    pass


def survey(
    data: str | Path, columns: Sequence[str], *, values: bool, advance: Advance = _silent
) -> tuple[int, tuple[str, ...]]:
    """Number of rows, and the distinct values of the first column if asked for."""
    found: set[str] = set()
    rows = 0
    for row, batch in numbered(read(data, columns)):
        for column in batch.columns:
            present(column, row)
        if values:
            found.update(texts(batch.column(0), row).unique().to_pylist())
        rows += batch.num_rows
        advance(batch.num_rows)
    if rows == 0:
        raise ParameterError("data", "a table with rows", str(data))
    return rows, tuple(sorted(found))


def _names(job: Job) -> list[str]:
    return [f"report_{i}" for i in range(job.device.columns)]


def write_reports(job: Job, blocks: Iterable[Reports], out: str | Path) -> int:
    """A file of reports; how many."""
    number = 0
    with written(out, _names(job), job.to_json()) as writer:
        for block in blocks:
            writer.write(list(np.ascontiguousarray(block.T)))
            number += len(block)
        if number == 0:
            raise ParameterError("data", "with users who report", 0)
    return number


def read_reports(path: str | Path, advance: Advance = _silent) -> tuple[Job, Iterator[Reports]]:
    """The job a file of reports belongs to, and its reports."""
    job = Job.from_json(header(path), path)

    def blocks() -> Iterator[Reports]:
        for row, batch in numbered(read(path, _names(job))):
            columns = []
            for column in batch.columns:
                present(column, row)
                columns.append(_whole(np.asarray(column), job.device.dtype, path))
            yield np.stack(columns, axis=1)
            advance(batch.num_rows)

    return job, blocks()


def _whole(sent: np.ndarray, dtype: Any, path: str | Path) -> np.ndarray:
    """What a device can have sent, in its own type; a CSV file holds text."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    try:
        numbers = sent if sent.dtype.kind in "iuf" else sent.astype(np.int64)
    except (ValueError, OverflowError):
        numbers = np.array([np.nan])
    if numbers.dtype.kind == "f" or numbers.min() < least or numbers.max() > most:
        raise ParameterError("reports", f"whole numbers from {least} to {most}", str(path))
    return np.asarray(numbers.astype(dtype))


def encode(
    job: Job, data: str | Path, out: str | Path, stream: Stream, advance: Advance = _silent
) -> int:
    """Randomize every row as a device would."""
    kind("out", out)
    batch = secrets.token_hex(16)
    job = replace(job.checked(), batch=batch, shuffled=False, simulated=stream.simulated)
    return write_reports(job, Embedded(stream).reports(job, data, advance), out)


def pooled(
    paths: Sequence[str | Path], advance: Advance = _silent
) -> tuple[Job, frozenset[str], Iterator[Reports]]:
    """The job several files of reports belong to, the names of their batches, all reports."""
    if not paths:
        raise ParameterError("reports", "at least one file", 0)
    read = [read_reports(path, advance) for path in paths]
    job, batches = read[0][0], set[str]()
    for path, (other, _) in zip(paths, read, strict=True):
        if other.shuffled:  # users in two outputs would be counted twice
            raise ParameterError("reports", "not shuffled yet", str(path))
        if other.batch in batches:
            raise ParameterError("reports", "each file once, also under other names", str(path))
        batches.add(other.batch)
        for name, value in asdict(other).items():
            if name not in ("batch", "simulated") and value != getattr(job, name):
                raise ParameterError(
                    "reports",
                    f"of one collection: {name!r} is {getattr(job, name)!r} in {paths[0]}",
                    f"{value!r} in {path}",
                )
    job = replace(job, batch="", simulated=any(other.simulated for other, _ in read))
    blocks = (_sendable(job, path, blocks) for path, (_, blocks) in zip(paths, read, strict=True))
    return job, frozenset(batches), chain.from_iterable(blocks)


def _sendable(job: Job, path: str | Path, blocks: Iterator[Reports]) -> Iterator[Reports]:
    """Reports no device sends hide nobody."""
    for block in blocks:
        _count(job.tally(), block, path)
        yield block


def _count(tally: Tally, block: Reports, path: str | Path) -> None:
    try:
        tally.add(block)
    except (ValueError, IndexError):
        raise ParameterError("reports", "what its devices can send", str(path)) from None


def shuffle(
    reports: str | Path | Sequence[str | Path],
    out: str | Path,
    stream: Stream,
    *,
    minimum: int | None = None,
    memory: int = MEMORY,
    book: Booking = _free,
    advance: Advance = _silent,
) -> Job:
    """The same reports, of one file or several, in an order that tells nothing, if there are enough."""
    kind("out", out)
    paths = [reports] if isinstance(reports, str | Path) else reports
    if any(os.path.realpath(path) == os.path.realpath(out) for path in paths):
        raise ParameterError("out", "another file than the reports", str(out))
    job, batches, blocks = pooled(paths, advance)
    least = job.n if minimum is None else minimum
    shuffler = Shuffler(stream, minimum=least, memory=memory)
    for block in blocks:
        shuffler.add(block)
    if shuffler.size < least:  # before anything is computed for it
        next(shuffler.release())
    # the guarantee is for the batch that is there, not for the one hoped for
    job = replace(job, n=shuffler.size, shuffled=True, simulated=job.simulated or stream.simulated)
    write_reports(job, _booked(shuffler.release(), lambda: book(job, batches)), out)
    return job


def _booked(blocks: Iterator[Reports], book: Callable[[], None]) -> Iterator[Reports]:
    """Books when the first block is ready, before it is handed on."""
    for number, block in enumerate(blocks):
        if number == 0:
            book()
        yield block


def analyze(reports: str | Path, advance: Advance = _silent) -> tuple[Job, Estimate]:
    """Estimates from a file of reports."""
    job, blocks = read_reports(reports, advance)
    tally = job.tally()
    for block in blocks:
        _count(tally, block, reports)
    if job.shuffled and tally.reports < job.n:
        raise ParameterError("reports", f"all {job.n} that were shuffled together", tally.reports)
    return job, job.estimate(tally)


def run(
    job: Job,
    data: str | Path,
    engine: Engine,
    *,
    reports: str | Path | None = None,
    book: Booking = _free,
    advance: Advance = _silent,
) -> tuple[Job, Estimate]:
    """Randomize, shuffle, estimate.

    Only counts leave this process, and they have no order: reports are permuted if a file of them
    is asked for.
    """
    job = replace(job.checked(), shuffled=True, simulated=engine.simulated)
    if reports is None:
        tally = engine.tallied(job, data, advance)
        if tally.reports < job.n:
            raise ParameterError(
                "data", f"at least the promised batch of {job.n} rows", tally.reports
            )
        found = job.estimate(tally)  # what may fail fails before anything is spent
        book(job, frozenset())
        return job, found
    tally = job.tally()

    def counted() -> Iterator[Reports]:
        for block in _booked(engine.shuffled(job, data, advance), lambda: book(job, frozenset())):
            tally.add(block)
            yield block

    write_reports(job, counted(), reports)
    return job, job.estimate(tally)


def write_estimate(found: Estimate, out: str | Path) -> None:
    """A table of the estimates and their errors."""
    low, high = found.interval()
    columns = [
        [str(name) for name in found.names],
        found.values,
        np.sqrt(found.variances),
        low,
        high,
    ]
    with written(out, ["name", "value", "error", "low", "high"]) as writer:
        writer.write(columns)
