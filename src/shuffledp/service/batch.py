"""Files of batches: what a shuffler releases and an analyst opens.

    "shuffledp-batch-1\\n", header length (4), header, record || record || ..., SHA-256 of all
    before

The header is JSON: the names of batch and task, how many records there are, and the document of the
task. Every record is a report sealed to the analyst, all of one length. The digest finds files that
were edited, cut short or damaged. It is no signature: whoever can write a file can also compute its
digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from shuffledp.errors import ParameterError, ServiceError, ShuffleDPError
from shuffledp.files import whole_file
from shuffledp.service.task import LONGEST_DOCUMENT, Task
from shuffledp.service.wire import REPORT_ID, TASK_ID, parse_id

MAGIC = b"shuffledp-batch-1\n"
BATCH_ID = REPORT_ID
SUFFIX = ".batch"
_LENGTH = 4
_DIGEST = 32
_LONGEST_HEADER = 2 * LONGEST_DOCUMENT + 1024
_BLOCK = 1 << 20
"""Bytes read at a time, about."""


@dataclass(frozen=True)
class Batch:
    """What a file says of itself."""

    id: bytes
    task: Task
    reports: int

    @property
    def header(self) -> bytes:
        """The first part of its file."""
        data = {
            "batch": self.id.hex(),
            "document": self.task.document.decode(),
            "reports": self.reports,
            "task": self.task.id.hex(),
        }
        text = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        return MAGIC + len(text).to_bytes(_LENGTH) + text

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.header) + self.reports * self.task.format.inner + _DIGEST


def write_batch(
    batch: Batch, blocks: Iterable[np.ndarray], path: str | Path, moment: float
) -> None:
    """The file, whole or not at all; blocks are rows of bytes, a row per report. It says that it
    was written at this moment."""
    digest, written = hashlib.sha256(batch.header), 0
    with whole_file("out", path, private=True) as file:
        file.write(batch.header)
        for block in blocks:
            content = np.ascontiguousarray(block).data
            digest.update(content)
            file.write(content)
            written += len(block)
        if written != batch.reports:
            raise ServiceError(
                f"The store has {written:,} reports of the batch {batch.id.hex()}, and counted"
                f" {batch.reports:,}: nothing was released. `shuffledp shuffler verify` says more."
            )
        file.write(digest.digest())
        file.flush()
        os.utime(file.fileno(), (moment, moment))


def read_batch(path: str | Path) -> tuple[Batch, Iterator[bytes]]:
    """What a file is of, and its records, many at a time; all of it is checked first."""
    try:
        with Path(path).open("rb") as file:
            batch = _header(file, path)
            _check_digest(file, batch, path)
    except OSError as error:
        raise ParameterError(
            "batch", "a file that can be read", f"{path} ({error.strerror or error})"
        ) from error

    def blocks() -> Iterator[bytes]:
        step = max(1, _BLOCK // batch.task.format.inner) * batch.task.format.inner
        with Path(path).open("rb") as file:
            file.seek(len(batch.header))
            left = batch.reports * batch.task.format.inner
            while left:
                block = file.read(min(step, left))
                if not block:
                    raise _damaged(path, "it was cut short while it was read")
                left -= len(block)
                yield block

    return batch, blocks()


def _damaged(path: str | Path, reason: str) -> ParameterError:
    return ParameterError("batch", f"a whole file of a shuffler: {reason}", str(path))


def _header(file: IO[bytes], path: str | Path) -> Batch:
    if file.read(len(MAGIC)) != MAGIC:
        raise _damaged(path, "this is something else, or of another version")
    length = int.from_bytes(file.read(_LENGTH))
    text = file.read(length) if length <= _LONGEST_HEADER else b""
    try:
        given: Any = json.loads(text.decode())
        task_id = parse_id(given["task"], TASK_ID)
        batch_id = parse_id(given["batch"], BATCH_ID)
        reports, document = given["reports"], given["document"].encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged(path, "its header cannot be read") from None
    if task_id is None or batch_id is None or type(reports) is not int or reports < 1:
        raise _damaged(path, "its header cannot be read")
    try:
        batch = Batch(batch_id, Task.read(document, task_id), reports)
    except ShuffleDPError as error:
        raise _damaged(path, f"its task cannot be used. {error}") from error
    if batch.header != MAGIC + length.to_bytes(_LENGTH) + text:
        raise _damaged(path, "its header is not written canonically")
    if (size := os.fstat(file.fileno()).st_size) != batch.size:
        raise _damaged(path, f"it has {size:,} bytes, and should have {batch.size:,}")
    return batch


def _check_digest(file: IO[bytes], batch: Batch, path: str | Path) -> None:
    digest, left = hashlib.sha256(batch.header), batch.size - len(batch.header) - _DIGEST
    while left and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        left -= len(block)
    if file.read() != digest.digest():
        raise _damaged(path, "its digest differs, so it was changed")
