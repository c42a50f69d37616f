"""The analyst opens batches: reports in the clear,
to be estimated from as any other file of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline import Job
from shuffledp.collection.pipeline.report_files import write_reports
from shuffledp.errors import LostKeyError, ParameterError, ServiceError
from shuffledp.files import check_apart
from shuffledp.service.batch import Batch, read_batch
from shuffledp.service.sealing import CannotOpen, PrivateKey

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Opened:
    """What became of a batch."""

    batch: Batch
    reports: int
    """In the file that was written."""
    unusable: int
    """Sealed wrongly, or nothing a device sends: left out."""


def open_batch(
    path: str | Path,
    keys: Sequence[PrivateKey],
    out: str | Path,
    advance: Advance = lambda _reports: None,
) -> Opened:
    """Write the reports of a batch to a file that ``shuffledp analyze`` reads,
    whole or not at all."""
    check_apart("out", out, "the batch", path)
    batch, blocks = read_batch(path)
    key = _matching(batch, keys)
    opening = _Opening(batch, key, advance)
    job = replace(batch.task.job, shuffled=True)
    try:
        written = write_reports(job, opening.reports(blocks), out)
    except ParameterError:
        if opening.unusable == batch.reports:
            raise _foreign(batch) from None
        raise
    return Opened(batch, written, opening.unusable)


def _matching(batch: Batch, keys: Sequence[PrivateKey]) -> PrivateKey:
    wanted = batch.task.analyst
    for key in keys:
        if key.public == wanted:
            return key
    raise LostKeyError(
        f"The batch {batch.id.hex()} is sealed to the key {wanted.id.hex()}. Got"
        f" {', '.join(key.public.id.hex() for key in keys) or 'none'}. If that key is lost,"
        " nobody can"
        " open the batch."
    )


def _foreign(batch: Batch) -> ServiceError:
    return ServiceError(
        f"No report of the batch {batch.id.hex()} can be opened: it is not of the task"
        f" {batch.task.id.hex()}, or was altered. Nothing was written."
    )


class _Opening:
    """Counts what cannot be used: a single device must not spoil the batch."""

    def __init__(self, batch: Batch, key: PrivateKey, advance: Advance) -> None:
        self._batch, self._key, self._advance = batch, key, advance
        self.unusable = 0

    def reports(self, blocks: Iterator[bytes]) -> Iterator[Reports]:
        """Those that devices of the task can have sent."""
        kept = 0
        for block in blocks:
            number = len(block) // self._batch.task.format.inner
            found = self._sendable(self._opened(block))
            kept += len(found)
            self.unusable += number - len(found)
            self._advance(number)
            if len(found):
                yield found
        least = self._batch.task.job.n
        if 0 < kept < least:
            raise ServiceError(
                f"Only {kept:,} of {self._batch.reports:,} reports of the batch can be used, fewer"
                f" than the minimum of {least:,} that its guarantee is for. Nothing was written."
            )

    def _opened(self, block: bytes) -> bytes:
        """Padded reports, one after another."""
        task, found = self._batch.task, []
        info, step = task.format.inner_info, task.format.inner
        for start in range(0, len(block), step):
            try:
                found.append(self._key.open(block[start : start + step], info))
            except CannotOpen:
                continue
        return b"".join(found)

    def _sendable(self, padded: bytes) -> Reports:
        reports, _ = self._batch.task.unpadded(padded)
        parts = _usable(self._batch.task.job, reports)
        return np.concatenate([reports[:0], *parts])


def _usable(job: Job, reports: Reports) -> list[Reports]:
    """Those an estimate takes; halves that are all good are settled at once."""
    try:
        job.tally().add(reports)
    except (ValueError, IndexError):
        middle = len(reports) // 2
        if not middle:
            return []
        return [*_usable(job, reports[:middle]), *_usable(job, reports[middle:])]
    return [reports]
