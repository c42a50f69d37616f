"""A device: one person's value goes in, one sealed report comes out."""

from __future__ import annotations

import math
import numbers
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from shuffledp.collection.devices import Stream, secure
from shuffledp.collection.pipeline.job import DISTRIBUTION
from shuffledp.errors import NOT_SHOWN, ParameterError, ServiceError
from shuffledp.service.task import Task
from shuffledp.service.wire import REPORT_ID


@dataclass(frozen=True)
class SealedReport:
    """A report on its way: to be sent until it is acknowledged, and again without harm.

    Parameters
    ----------
    task
        What it belongs to.
    inner
        Sealed to the analyst.
    report_id
        A random name: sent again, it counts once.
    """

    task: Task
    inner: bytes
    report_id: bytes

    def record(self, key: int = 0) -> bytes:
        """What is sent, sealed to that key of the shuffler; another time it looks different."""
        return self.task.format.wrap(self.inner, self.report_id, self.task.shuffler[key])


class Device:
    """Runs a task for one person, once: who reports twice takes part in two rounds.

    Making one computes the guarantee of the task again, and refuses if it is not what is stated.

    Parameters
    ----------
    task
        The task, or its document as bytes.
    stream
        Where randomness comes from; the operating system unless given.

    Raises
    ------
    ServiceError
        If the document states what does not hold.
    """

    def __init__(self, task: Task | bytes, stream: Stream | None = None) -> None:
        self.task = Task.read(task) if isinstance(task, bytes) else task
        self._stream = stream
        self._reported = False

    def randomize(self, value: Any) -> bytes:
        """The report of this value, padded, before it is sealed: what the analyst may read."""
        stream = _secure() if self._stream is None else self._stream
        return self.task.padded(self.task.job.device.encode(inputs(self.task, value), stream))

    def report(self, value: Any) -> SealedReport:
        """Randomized and sealed to the analyst, with a random name."""
        if self._reported:
            raise ServiceError(
                "This device has reported to the task already; twice would cost its user twice."
            )
        report = self.randomize(value)
        self._reported = True
        inner = self.task.analyst.seal(report, self.task.format.inner_info)
        return SealedReport(self.task, inner, secrets.token_bytes(REPORT_ID))


@cache
def _secure() -> Stream:
    return secure()


def inputs(task: Task, value: Any) -> np.ndarray:
    """A person's value as the device takes it, an array of one."""
    job = task.job
    if job.task == "histogram":
        if value not in job.categories and not job.other:
            raise ParameterError("value", "one of the task's categories", NOT_SHOWN)
        return np.array([job.categories.index(value if value in job.categories else job.other)])
    if job.task == "heavy-hitters":
        if not isinstance(value, str) or not value:
            raise ParameterError("value", "a text", NOT_SHOWN)
        return np.array([int.from_bytes(value.encode()[: job.letters].ljust(job.letters, b"\0"))])
    if job.task == "vector":
        if not isinstance(value, Sequence) or len(value) != len(job.columns):
            raise ParameterError("value", f"{len(job.columns)} numbers", NOT_SHOWN)
        return np.array([[_share(task, each) for each in value]])
    share = _share(task, value)
    if job.task == "mean" or job.task in DISTRIBUTION:
        return np.array([share])
    return np.array([min(math.floor(share * job.bins), job.bins - 1)])


def _share(task: Task, value: object) -> float:
    """Of the declared range."""
    low, high = task.job.low, task.job.high
    try:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError
        number = float(value)
        if math.isnan(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise ParameterError("value", "a number up to 1e308", NOT_SHOWN) from None
    return min(max((number - low) / (high - low), 0.0), 1.0)
