"""Files of reports: what was asked of the devices, what they sent, and a digest of both.

The digest finds files that were edited, cut short or damaged. It is no signature: whoever can write
a file can also compute its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline.engines import Advance
from shuffledp.collection.pipeline.job import Job, numbered, present, read_header
from shuffledp.collection.pipeline.tables import BYTES, ROWS, column_names, header, read, written
from shuffledp.errors import ParameterError

_DIGEST = "digest"


def _names(job: Job) -> list[str]:
    return [f"report_{i}" for i in range(job.device.columns)]


class _Digest:
    """Of the header and of every report, in order, whatever the blocks."""

    def __init__(self, job: Job) -> None:
        self._job, self._dtype = job, job.device.dtype.newbyteorder("<")
        self._hash = hashlib.sha256(job.to_json().encode() + b"\n")

    def add(self, block: Reports) -> None:
        self._hash.update(np.ascontiguousarray(block, self._dtype).tobytes())

    def __str__(self) -> str:
        return self._hash.hexdigest()

    @property
    def header(self) -> str:
        """What a file with these reports says about itself."""
        return json.dumps(json.loads(self._job.to_json()) | {_DIGEST: str(self)}, sort_keys=True)


def write_reports(job: Job, blocks: Iterable[Reports], out: str | Path) -> int:
    """A file of reports that its owner alone can read; how many."""
    number, digest = 0, _Digest(job)
    # in a CSV file the digest is filled in when all is written
    with written(out, _names(job), digest.header, private=True) as writer:
        for block in blocks:
            digest.add(block)
            writer.write(list(block.T))
            number += len(block)
        if number == 0:
            raise ParameterError("data", "with users who report", 0)
        writer.close(digest.header)
    return number


def read_reports(
    path: str | Path, advance: Advance = lambda _rows: None
) -> tuple[Job, Iterator[Reports]]:
    """The job a file of reports belongs to, and its reports;
    an error at their end if they were changed."""
    job, stated = _stated(header(path), path)
    names = _names(job)
    if sorted(column_names(path)) != sorted(names):
        raise ParameterError("reports", "with the columns " + ", ".join(names), str(path))

    def blocks() -> Iterator[Reports]:
        digest = _Digest(job)
        rows = max(1, min(ROWS, BYTES // (8 * len(names))))
        for row, batch in numbered(read(path, names, rows=rows)):
            if not batch.num_rows:
                continue
            columns = []
            for column in batch.columns:
                present(column, row)
                columns.append(_whole(np.asarray(column), job.device.dtype, path))
            block = np.stack(columns, axis=1)
            digest.add(block)
            yield block
            advance(batch.num_rows)
        if str(digest) != stated:
            raise ParameterError(
                "reports", "as they were written: this file was changed or cut short", str(path)
            )

    return job, blocks()


def _stated(text: str, path: str | Path) -> tuple[Job, str]:
    """The job, and the digest the header states."""
    given = read_header(text, path)
    stated = given.pop(_DIGEST, None)
    job = Job.from_json(json.dumps(given), path)
    if not isinstance(stated, str):
        raise ParameterError("reports", f"with '{_DIGEST}' in the header of {path} given", stated)
    return job, stated


def _whole(sent: np.ndarray, dtype: Any, path: str | Path) -> np.ndarray:
    """What a device can have sent, in its own type; a CSV file holds text."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    try:
        numbers = sent if sent.dtype.kind in "iuf" else sent.astype(np.int64)
    except (ValueError, OverflowError, TypeError):
        numbers = np.array([np.nan])
    if numbers.dtype.kind == "f" or numbers.min() < least or numbers.max() > most:
        raise ParameterError("reports", f"whole numbers from {least} to {most}", str(path))
    return np.asarray(numbers.astype(dtype))
