"""The steps of a collection: prepare, encode, shuffle, analyze, or all at once."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.collection.analysis import Estimate, Tally
from shuffledp.collection.devices import Stream
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline.engines import Advance, Embedded, Engine, check_users
from shuffledp.collection.pipeline.job import Job, numbered, present, texts
from shuffledp.collection.pipeline.report_files import read_reports, write_reports
from shuffledp.collection.pipeline.tables import Source, as_table, kind, known_rows, read, written
from shuffledp.collection.shuffling import Shuffler
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import ParameterError
from shuffledp.files import check_apart

Booking = Callable[[Job, frozenset[str]], None]
"""Called when a release is ready and before it is made: to record what it costs, or to refuse.

With names of the batches in it, which may have been released before; none if all is fresh.
"""


def silent(_rows: int) -> None:
    """Tells nobody."""


def free(_job: Job, _batches: frozenset[str]) -> None:
    """Records nothing."""


def survey(
    data: Source,
    columns: Sequence[str],
    *,
    values: bool,
    drop: bool = False,
    advance: Advance = silent,
) -> tuple[int, tuple[str, ...]]:
    """Number of rows, and the distinct values of the first column if asked for.

    Parameters
    ----------
    data, columns
        The table, and the columns that will be used.
    values
        Whether to list the values.
    drop
        Whether rows that cannot be read are left out, not refused.
    advance
        Called with the number of rows done.
    """
    found: set[str] = set()
    rows = 0
    for row, batch in numbered(read(data, columns)):
        for column in batch.columns:
            if not drop:
                present(column, row)
        if values:
            found.update(texts(batch.column(0)).drop_null().unique().to_pylist())
        rows += batch.num_rows
        advance(batch.num_rows)
    if rows == 0:
        raise ParameterError("data", "a table with rows", str(data))
    return rows, tuple(sorted(found))


class _Rows:
    """Counts rows on their way to whoever is told of them."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self.seen = advance, 0

    def __call__(self, rows: int) -> None:
        self.seen += rows
        self._advance(rows)


def encode(
    job: Job, data: str | Path, out: str | Path, stream: Stream, advance: Advance = silent
) -> tuple[int, int]:
    """Randomize every row as a device would: how many reports, and how many rows were dropped.

    Parameters
    ----------
    job
        What is collected.
    data, out
        The table of what users hold, and the file of reports to write.
    stream
        Where randomness comes from.
    advance
        Called with the number of rows done.
    """
    kind("out", out)
    check_apart("out", out, "the data", data)
    _everybody(job)
    batch, rows = secrets.token_hex(16), _Rows(advance)
    job = replace(job.checked(), batch=batch, shuffled=False, simulated=stream.simulated)
    number = write_reports(job, Embedded(stream).reports(job, data, rows), out)
    return number, rows.seen - number


def _everybody(job: Job) -> None:
    """Who is silent is not in a file: how many users there are could not be checked."""
    if job.check_in < 1.0:
        raise ParameterError("check_in", "left out for files of reports", job.check_in)


def pooled(
    paths: Sequence[str | Path], advance: Advance = silent
) -> tuple[Job, frozenset[str], Iterator[Reports]]:
    """The job several files of reports belong to, the names of their batches, all reports."""
    if not paths:
        raise ParameterError("reports", "at least one file", 0)
    read = [read_reports(path, advance) for path in paths]
    job, batches, parts = read[0][0], set[str](), dict[int, str | Path]()
    for path, (other, _) in zip(paths, read, strict=True):
        if other.shuffled:  # users in two outputs would be counted twice
            raise ParameterError("reports", "not shuffled yet", str(path))
        if other.batch in batches:
            raise ParameterError("reports", "each file once, also under other names", str(path))
        batches.add(other.batch)
        for name, value in asdict(other).items():
            if name not in ("batch", "simulated", "part") and value != getattr(job, name):
                raise ParameterError(
                    "reports",
                    f"of one collection: {name!r} is {getattr(job, name)!r} in {paths[0]}",
                    f"{value!r} in {path}",
                )
        if other.part in parts:
            raise ParameterError("reports", _twice(other, parts[other.part]), str(path))
        parts[other.part] = path
    job = replace(job, batch="", part=1, simulated=any(other.simulated for other, _ in read))
    blocks = (_sendable(job, path, blocks) for path, (_, blocks) in zip(paths, read, strict=True))
    return job, frozenset(batches), chain.from_iterable(blocks)


def _twice(job: Job, first: str | Path) -> str:
    """Why the same part cannot be there again."""
    rounds = (
        "The same users again are another round: shuffle each round by itself, and account for"
        " both with `shuffledp account --rounds 2`"
    )
    if job.parts > 1:
        return f"each part once: part {job.part} of {job.parts} is also {first}. {rounds}"
    return (
        f"files of different users: this one and {first} each hold all {job.most_users:,} users of"
        " a collection. Parts of one collection are declared when they are encoded (--collection"
        f" NAME --part 1/2, --part 2/2). {rounds}"
    )


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
    book: Booking = free,
    advance: Advance = silent,
) -> tuple[Job, int]:
    """The reports of one file or several in a uniformly random order, if there are enough.

    Accounted for the number of users promised, or for ``minimum``; never for more that turn up.

    Parameters
    ----------
    reports, out
        Files of reports, and the one to write.
    stream
        Where randomness comes from.
    minimum
        Fewest reports ever released together, if not the number promised.
    memory
        Bytes for the reports at hand.
    book
        Records the release before it is made.
    advance
        Called with the number of reports done.

    Returns
    -------
    tuple
        The job, and how many reports there are.
    """
    kind("out", out)
    paths = [reports] if isinstance(reports, str | Path) else reports
    for path in paths:
        check_apart("out", out, "the reports", path)
    job, batches, blocks = pooled(paths, advance)
    # for a number that is known beforehand, and not for how many turn up
    if minimum is not None:
        job = _at_least(job, checks.count("minimum", minimum))
    shuffler = Shuffler(stream, minimum=job.n, memory=memory // 2)
    for block in blocks:
        shuffler.add(block)
        check_users(job, shuffler.size, "reports in these files")
    if shuffler.size < job.n:  # before anything is computed for it
        next(shuffler.release())
    job = replace(job, shuffled=True, simulated=job.simulated or stream.simulated)
    return job, write_reports(job, _booked(shuffler.release(), lambda: book(job, batches)), out)


def _at_least(job: Job, minimum: int) -> Job:
    """Accounted for this many users."""
    if minimum > job.most_users:
        raise ParameterError(
            "reports", f"at least the minimum batch of {minimum} to be released", job.most_users
        )
    return replace(job, n=minimum, users=job.most_users)


def _booked(blocks: Iterator[Reports], book: Callable[[], None]) -> Iterator[Reports]:
    """Books when the first block is ready, before it is handed on."""
    for number, block in enumerate(blocks):
        if number == 0:
            book()
        yield block


def analyze(
    reports: str | Path, advance: Advance = silent, *, unshuffled: bool = False
) -> tuple[Job, Estimate]:
    """Estimates from a file of reports; of those not shuffled only if that is asked for.

    Parameters
    ----------
    reports
        A file of reports.
    advance
        Called with the number of reports done.
    unshuffled
        Whether reports that were not shuffled are meant.

    Returns
    -------
    tuple
        The job, and the estimate.
    """
    job, blocks = read_reports(reports, advance)
    if not (job.shuffled or unshuffled):
        raise ParameterError(
            "reports", "shuffled, or asked for by --unshuffled: they protect less", str(reports)
        )
    tally = job.tally()
    for block in blocks:
        _count(tally, block, reports)
    if job.shuffled and tally.reports < job.n:
        raise ParameterError("reports", f"all {job.n} that were shuffled together", tally.reports)
    return job, job.estimate(tally)


def run(
    job: Job,
    data: Source,
    engine: Engine,
    *,
    reports: str | Path | None = None,
    book: Booking = free,
    advance: Advance = silent,
) -> tuple[Job, Estimate]:
    """Randomize, shuffle, estimate.

    Only counts leave this process, and they have no order: reports are permuted if a file of them
    is asked for.

    Parameters
    ----------
    job
        What is collected.
    data
        The table of what users hold: a file, a data frame of pandas or polars, an Arrow table, a
        mapping of columns, or the values of the one column.
    engine
        Where it runs: ``Embedded(stream)``, or Spark.
    reports
        A file for the reports, if they are wanted.
    book
        Records the release before it is made.
    advance
        Called with the number of rows done.

    Returns
    -------
    tuple
        The job as it ran, and the estimate.
    """
    data = as_table(data, job.columns)
    if reports is not None:
        kind("reports", reports)
        _everybody(job)
        if isinstance(data, str | Path):
            check_apart("reports", reports, "the data", data)
    job = replace(job.checked(), shuffled=True, simulated=engine.simulated)
    rows = _Rows(advance)
    in_all = known_rows(data)
    if in_all is not None:
        check_users(job, in_all, "rows of the table")
    if reports is None:
        tally = engine.tallied(job, data, rows)
        users = tally.reports if job.check_in == 1.0 else rows.seen
        if users < job.n:
            raise ParameterError("data", f"at least the promised batch of {job.n} rows", users)
        book(job, frozenset())  # whether reports are enough may be chance: no second try for free
    else:
        tally = job.tally(engine.memory // 4)
        blocks = _booked(engine.shuffled(job, data, rows), lambda: book(job, frozenset()))
        write_reports(job, _counted(blocks, tally), reports)
    found = job.estimate(tally)
    in_all = rows.seen if in_all is None else in_all
    return job, replace(found, dropped=in_all - found.reports if job.check_in == 1.0 else 0)


def _counted(blocks: Iterator[Reports], tally: Tally) -> Iterator[Reports]:
    for block in blocks:
        tally.add(block)
        yield block


def write_estimate(found: Estimate, out: str | Path) -> None:
    """A table of the estimates and their errors, each row with the privacy that it cost."""
    with written(out, _COLUMNS) as writer:
        writer.write(_columns(found))


def write_estimates(about: Sequence[str], answers: Sequence[Estimate], out: str | Path) -> None:
    """The same of several questions, each row with what it is about."""
    with written(out, ["of", *_COLUMNS]) as writer:
        for each, found in zip(about, answers, strict=True):
            writer.write([[each] * len(found.names), *_columns(found)])


_COLUMNS = ["name", "value", "error", "low", "high", "raw", "privacy"]


def _columns(found: Estimate) -> list[Any]:
    low, high = found.interval()
    return [
        [str(name) for name in found.names],
        found.values,
        np.sqrt(found.variances),
        low,
        high,
        found.values if found.raw is None else found.raw,
        ["; ".join(filter(None, (found.label, found.note)))] * len(found.names),
    ]
