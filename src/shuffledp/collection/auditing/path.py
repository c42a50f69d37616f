"""What is attacked: the engines that run collections, from a table to what they release."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.collection.auditing.attack import Release
from shuffledp.collection.auditing.orders import Places
from shuffledp.collection.devices import Device, Stream
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline import Embedded, Engine
from shuffledp.collection.pipeline.tables import arrow
from shuffledp.errors import ParameterError

_GROUPS = 5
"""Row groups of a table, so that reports arrive in several blocks, on several workers."""
_SPILLED = 10
"""One batch in this many goes through files."""
_REPORTS = 4_000_000
_LARGE = 1000


class _Label(Device):
    """Reports its row, as nothing that is private does."""

    columns, dtype = 1, np.dtype(np.int64)

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        return np.asarray(values)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        return inputs


@dataclass(frozen=True)
class _Batch:
    """Users with values as their device takes them, for an engine."""

    device: Device
    n: int
    width: int
    """Numbers a user holds."""

    @property
    def most_users(self) -> int:
        return self.n

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"value_{i}" for i in range(self.width))

    def encode(self, batch: Any, first_row: int, stream: Stream) -> Reports:
        columns = [np.asarray(column) for column in batch.columns]
        return self.device.encode(columns[0] if self.width == 1 else np.stack(columns, 1), stream)


@contextmanager
def _table(values: NDArray[Any]) -> Iterator[File]:
    """A file of users' values."""
    pa = arrow()
    columns = values.reshape(len(values), -1)
    table = pa.table({f"value_{i}": column for i, column in enumerate(columns.T)})
    with tempfile.TemporaryDirectory(prefix="shuffledp-audit-") as folder:
        path = File(folder) / "users.parquet"
        pa.parquet.write_table(table, path, row_group_size=-(-len(values) // _GROUPS))
        yield path


def _released(engine: Engine, device: Device, width: int, n: int, table: File) -> Reports:
    return _joined(device, engine.shuffled(_Batch(device, n, width), table, lambda _rows: None))


def _joined(device: Device, blocks: Iterable[Reports]) -> Reports:
    """Also if there are none."""
    found = list(blocks)
    if len(found) == 1:
        return found[0]
    return np.concatenate([np.empty((0, device.columns), device.dtype), *found])


def _orders(engine: Engine, n: int, batches: int) -> Places:
    """Where labelled reports come out."""
    with _table(np.arange(n)) as table:
        labels = [_released(engine, _Label(), 1, n, table)[:, 0] for _ in range(batches)]
    if not all(np.array_equal(np.sort(each), np.arange(n)) for each in labels):
        return np.full((batches, n), -1)  # some are missing, or there twice: no order
    return np.argsort(labels, axis=1)


class Path:
    """The way of reports from devices to the analyst, to be attacked."""

    name: str
    simulated = False
    single = True
    """Whether batches are quick enough to attack the report in one place."""

    def release(self, device: Device) -> Release:
        """Of many batches."""
        raise NotImplementedError

    def orders(self, n: int, trials: int) -> dict[str, Places]:
        """Orders of labelled reports, by how they were released."""
        raise NotImplementedError


class EmbeddedPath(Path):
    """This process: in memory, and through files."""

    name = "embedded"

    def __init__(self, stream: Stream) -> None:
        self._stream, self.simulated = stream, stream.simulated
        self._engine = Embedded(stream)

    def release(self, device: Device) -> Release:
        def release(values: NDArray[Any], _ordered: bool) -> Reports:
            trials, n = values.shape[:2]
            users = values.reshape(-1, *values.shape[2:])
            reports = device.encode(users, self._stream).reshape(trials, n, device.columns)
            batches = [_joined(device, self._engine.mixed([batch], n)) for batch in reports]
            if len({len(batch) for batch in batches}) > 1:
                raise ParameterError("release", "of one report per user", "lost reports")
            return np.stack(batches)

        return release

    def orders(self, n: int, trials: int) -> dict[str, Places]:
        batches = max(_least(n), min(trials // 50, 400, _REPORTS // n))
        little = Embedded(self._stream, memory=max(32, 18 * n))  # for one report out of five
        return {
            "in memory": _orders(self._engine, n, batches),
            "through files": _orders(little, n, max(_least(n), batches // _SPILLED)),
        }


def _least(n: int) -> int:
    """Batches enough to see that nothing is shuffled, however small they are."""
    return max(8, min(100, -(-400 // n)))


class EnginePath(Path):
    """An engine whose batches take long: a few, large ones are looked at.

    Counts have no order, and reports of users with the same value are alike: those of many batches
    are made at once and dealt to the batches.
    """

    name = "spark"
    single = False

    def __init__(self, engine: Engine, batches: int = 8) -> None:
        self._engine, self._batches = engine, batches
        self.simulated = engine.simulated

    def release(self, device: Device) -> Release:
        def release(values: NDArray[Any], _ordered: bool) -> Reports:
            users = values.reshape(values.shape[0] * values.shape[1], -1)
            different, which = np.unique(users, axis=0, return_inverse=True)
            out = np.empty((len(users), device.columns), device.dtype)
            for number, value in enumerate(different):
                mine = which.ravel() == number
                size = int(mine.sum())
                with _table(np.repeat(value[None], size, axis=0)) as table:
                    out[mine] = _released(self._engine, device, users.shape[1], size, table)
            return out.reshape(*values.shape[:2], device.columns)

        return release

    def orders(self, n: int, trials: int) -> dict[str, Places]:
        return {"by the cluster": _orders(self._engine, max(n, _LARGE), self._batches)}
