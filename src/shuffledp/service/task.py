"""The task: all that devices, shuffler and analyst must agree on, in one immutable document.

Its name is the SHA-256 of its bytes, so nobody can be shown another one. Whoever has it can compute
the guarantee again before anything is reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting.protocols import Shuffled, describe
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import ResponseDevice, UnaryDevice
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.numeric import LaplaceDevice, OneBitDevice
from shuffledp.collection.pipeline import Job
from shuffledp.errors import ParameterError, ServiceError
from shuffledp.files import write_whole
from shuffledp.labels import Interval, Status, in_full, outward
from shuffledp.numerics.rounding import up
from shuffledp.service.sealing import PublicKey
from shuffledp.service.wire import Format

PROTOCOL = "shuffledp-task-1"
LONGEST_REPORT = 1 << 14
LONGEST_DOCUMENT = 1 << 20
MOST_KEYS = 8
_PADDED = 16
"""Reports are padded to a multiple of this, unless another length is asked for."""
_ROUNDED_OTHERWISE = 1e-9
"""Relative, of an epsilon that another machine or version computes."""
_QUESTION = (
    *("task", "columns", "categories", "other", "low", "high", "bins", "norm", "letters", "most"),
)
_MOST_BINS = 1 << 16
_ENDS = 4_102_444_800
"""Times are before the year 2100."""


@dataclass(frozen=True)
class Stated:
    """A guarantee as a task states it: epsilon at the task's delta, and what a data set leaks."""

    epsilon: float
    status: str
    theorem: str
    leaked: float
    leaked_by: str

    @classmethod
    def of(cls, known: Interval, promised: float) -> Stated:
        """A little more than is proven here: devices compute it again, and round otherwise."""
        return cls(
            *(min(up(known.upper, _ROUNDED_OTHERWISE), promised), known.status.value),
            known.theorem,
            *(known.lower, known.lower_end.theorem),
        )


@dataclass(frozen=True)
class Task:
    """A collection that is open to devices for some time: the document everybody agrees on.

    Parameters
    ----------
    title
        What people are asked, in words.
    job
        The question, the guarantee, and the randomizer; its n is the minimum batch.
    length
        Bytes of a padded report.
    opens, expires, precision
        Seconds since 1970 from which to which it takes reports, and what times are rounded to.
    analyst, shuffler
        Public keys.
    cohort
        Of the ledger that pays.
    stated
        The guarantee, computed again by every device.
    """

    title: str
    """For the people who are asked."""
    job: Job
    """The question, the randomizer and the promise; n is the minimum batch, users the largest."""
    length: int
    """Bytes of a report, padding included."""
    opens: int
    expires: int
    """In seconds since 1970; reports are taken from the first on, and before the second."""
    precision: int
    """Seconds: no time that leaves the shuffler is finer."""
    analyst: PublicKey
    shuffler: tuple[PublicKey, ...]
    """The first is to be used; if it is refused, the next."""
    cohort: str
    """Whose budget pays for each batch."""
    stated: Stated
    """What is said of a batch of the least size."""

    def __post_init__(self) -> None:
        _text("title", self.title, 500)
        _text("cohort", self.cohort, 200)
        if self.job.most_users < self.job.n:
            raise ParameterError("largest", f"at least the minimum {self.job.n}", self.job.users)
        if not self.payload <= checks.whole("length", self.length, 1) <= LONGEST_REPORT:
            raise ParameterError(
                "length", f"from {self.payload} to {LONGEST_REPORT} bytes", self.length
            )
        checks.whole("precision", self.precision, 1)
        for name in ("opens", "expires"):
            moment = checks.whole(name, getattr(self, name), 0)
            if moment % self.precision or moment > _ENDS:
                raise ParameterError(
                    name,
                    f"a multiple of the precision ({self.precision} s), before the year 2100",
                    moment,
                )
        if self.opens >= self.expires:
            raise ParameterError("expires", f"after the opening, {self.opens}", self.expires)
        if not 1 <= len(set(self.shuffler)) == len(self.shuffler) <= MOST_KEYS:
            raise ParameterError("shuffler", f"1 to {MOST_KEYS} different keys", len(self.shuffler))
        if self.analyst in self.shuffler:
            raise ParameterError(
                "analyst", "another key than the shuffler's", self.analyst.raw.hex()
            )
        if self.job.bins > _MOST_BINS:
            raise ParameterError("bins", f"at most {_MOST_BINS}", self.job.bins)
        self._check_guarantee()
        if len(self.document) > LONGEST_DOCUMENT:
            raise ParameterError(
                "task", f"a document of at most {LONGEST_DOCUMENT} bytes", len(self.document)
            )

    def _check_guarantee(self) -> None:
        """That what is stated is proven, here and now, and keeps the promise."""
        known = self.job.guarantee
        for name in ("theorem", "leaked_by"):
            _text(name, getattr(self.stated, name), 200)
        if known.status is not Status.PROVEN or self.stated.status != Status.PROVEN.value:
            raise ServiceError(f"Nothing is proven of this task: {known}.")
        if known.upper > self.stated.epsilon:
            raise ServiceError(
                f"The task states epsilon = {self.stated.epsilon!r} at delta ="
                f" {in_full(self.job.delta)}; only {known.upper!r} is proven of it."
            )
        if self.stated.epsilon > self.job.epsilon:
            raise ServiceError(
                f"The task promises epsilon = {in_full(self.job.epsilon)}, and states"
                f" {outward(self.stated.epsilon, up=True)}."
            )
        if not 0.0 <= self.stated.leaked <= self.stated.epsilon:
            raise ParameterError(
                "leaked", f"from 0 to epsilon = {self.stated.epsilon!r}", self.stated.leaked
            )

    @classmethod
    def create(
        cls,
        job: Job,
        *,
        title: str,
        largest: int,
        opens: int,
        expires: int,
        precision: int,
        analyst: PublicKey,
        shuffler: Sequence[PublicKey],
        cohort: str,
        length: int | None = None,
    ) -> Task:
        """A new task for a calibrated job; its n is the minimum batch."""
        asked = {name: getattr(job, name) for name in (*_QUESTION, *_PROMISE)}
        checks.count("largest", largest, job.n)
        plain = Job(**asked, users=largest).checked()
        if length is None:
            length = -(-_payload(plain.device) // _PADDED) * _PADDED
        return cls(
            *(title, plain, length, opens, expires, precision, analyst, tuple(shuffler), cohort),
            Stated.of(plain.guarantee, plain.epsilon),
        )

    @cached_property
    def document(self) -> bytes:
        """Canonical JSON: sorted, without spaces, in UTF-8."""
        job, device = self.job, self.job.device
        return _canonical(
            {
                "protocol": PROTOCOL,
                "title": self.title,
                "question": {name: getattr(job, name) for name in _QUESTION},
                "randomizer": {
                    "mechanism": job.mechanism,
                    "strength": job.strength,
                    "actual": _described(device),
                    "exact": exact(device),
                },
                "report": {
                    "columns": device.columns,
                    "type": device.dtype.name,
                    "length": self.length,
                },
                "batch": {"minimum": job.n, "largest": job.most_users},
                "time": {
                    "opens": self.opens,
                    "expires": self.expires,
                    "precision": self.precision,
                },
                "keys": {
                    "analyst": self.analyst.raw.hex(),
                    "shuffler": [key.raw.hex() for key in self.shuffler],
                },
                "cohort": self.cohort,
                "guarantee": {
                    "promised": job.epsilon,
                    "delta": job.delta,
                    **asdict(self.stated),
                },
            }
        )

    @cached_property
    def id(self) -> bytes:
        """The name of the task: 32 bytes."""
        return hashlib.sha256(self.document).digest()

    @property
    def payload(self) -> int:
        """Bytes of a report before it is padded."""
        return _payload(self.job.device)

    @cached_property
    def format(self) -> Format:
        """Its messages."""
        return Format(self.id, self.length, self.analyst)

    @property
    def protocol(self) -> Shuffled:
        """What a batch costs: a round of this."""
        return Shuffled(self.job.device.randomizer, self.job.n)

    @property
    def said(self) -> str:
        """The guarantee in words."""
        return (
            f"epsilon {outward(self.stated.epsilon, up=True)} at delta {in_full(self.job.delta)}"
            f" ({self.stated.status} by {self.stated.theorem}) in batches of at least"
            f" {self.job.n:,} reports, each {self.job.device.randomizer}"
        )

    def padded(self, report: Reports) -> bytes:
        """One report, an array of a row, as bytes of the fixed length."""
        dtype = self.job.device.dtype.newbyteorder("<")
        return np.ascontiguousarray(report, dtype).tobytes().ljust(self.length, b"\0")

    def unpadded(self, reports: bytes) -> tuple[Reports, np.ndarray]:
        """Many padded reports, one after another: those that can be read, and which can."""
        rows = np.frombuffer(reports, np.uint8).reshape(-1, self.length)
        good = np.asarray(~rows[:, self.payload :].any(axis=1))
        device = self.job.device
        dtype = device.dtype.newbyteorder("<")
        content = np.ascontiguousarray(rows[good, : self.payload])
        return content.view(dtype).reshape(-1, device.columns).astype(device.dtype), good

    @classmethod
    def read(cls, document: bytes, task_id: bytes | None = None) -> Task:
        """The task of a document: computed again, and refused if anything differs."""
        if len(document) > LONGEST_DOCUMENT:
            raise ParameterError(
                "task", f"a document of at most {LONGEST_DOCUMENT} bytes", len(document)
            )
        if task_id is not None and hashlib.sha256(document).digest() != task_id:
            raise ServiceError(
                f"This is not the task {task_id.hex()}: the digest of the document differs."
            )
        return _read(document)

    @classmethod
    def load(cls, path: str | Path) -> Task:
        """The task in a file."""
        try:
            with Path(path).open("rb") as file:
                return cls.read(file.read(LONGEST_DOCUMENT + 1))
        except OSError as error:
            raise ParameterError(
                "task", "a file that can be read", f"{path} ({error.strerror or error})"
            ) from error

    def save(self, path: str | Path) -> None:
        """Write the document, byte for byte."""
        write_whole("out", Path(path), self.document)


_PROMISE = ("n", "epsilon", "delta", "mechanism", "strength")


def exact(device: Device) -> dict[str, Any] | None:
    """The integers of a device that others can build, with probabilities in units of 2^-48."""
    if isinstance(device, ResponseDevice):
        return {"kind": "response", "k": device.k, "replace": device.response.beta}
    if isinstance(device, UnaryDevice):
        return {"kind": "unary", "k": device.k, "lose": device.lose, "flip": device.flip}
    if isinstance(device, OneBitDevice):
        return {"kind": "one-bit", "replace": device.response.beta}
    if isinstance(device, LaplaceDevice):
        return {
            "kind": "discrete-laplace",
            "levels": device.levels,
            "rate": [device.rate.numerator, device.rate.denominator],
            "clamped": device.clamped,
        }
    return None


def _payload(device: Device) -> int:
    return device.columns * device.dtype.itemsize


def _described(device: Device) -> dict[str, Any]:
    """What it really runs."""
    described: dict[str, Any] = describe(Shuffled(device.randomizer, 1))["randomizer"]
    return described


def _canonical(data: object) -> bytes:
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def _text(name: str, value: object, longest: int) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not value.isprintable():
        raise ParameterError(name, f"printable text of 1 to {longest} characters", value)
    return value


_NUMBER = (int, float)
_FIELDS: dict[str, Any] = {
    "protocol": str,
    "title": str,
    "question": dict,
    "randomizer": {
        "mechanism": str,
        "strength": _NUMBER,
        "actual": dict,
        "exact": (dict, type(None)),
    },
    "report": {"columns": int, "type": str, "length": int},
    "batch": {"minimum": int, "largest": int},
    "time": {"opens": int, "expires": int, "precision": int},
    "keys": {"analyst": str, "shuffler": list},
    "cohort": str,
    "guarantee": {
        "promised": _NUMBER,
        "delta": _NUMBER,
        "epsilon": _NUMBER,
        "leaked": _NUMBER,
        "status": str,
        "theorem": str,
        "leaked_by": str,
    },
}
"""Every field, and what it holds."""


def _wrong(condition: str, value: object) -> ParameterError:
    return ParameterError("task", condition, value)


def _parsed(document: bytes) -> dict[str, Any]:
    try:
        given = json.loads(document.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _wrong("a document in JSON", f"{len(document)} bytes of something else") from None
    _check("the document", given, _FIELDS)
    if given["protocol"] != PROTOCOL:
        raise _wrong(f"of the protocol {PROTOCOL}", given["protocol"])
    return dict(given)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _check(where: str, given: object, known: Any) -> None:
    """That a part has exactly these fields, of these types."""
    if not isinstance(known, dict):
        kinds = known if isinstance(known, tuple) else (known,)
        if not isinstance(given, kinds) or isinstance(given, bool):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise _wrong(f"a document with {where} of type {names}", type(given).__name__)
        return
    if not isinstance(given, dict):
        raise _wrong(f"a document with {where} of type dict", type(given).__name__)
    for name in sorted(known.keys() ^ given.keys()):
        said = "with" if name in known else "without"
        raise _wrong(f"a document {said} {name!r} in {where}", sorted(given))
    for name, kind in known.items():
        _check(repr(name), given[name], kind)


@lru_cache(maxsize=64)
def _read(document: bytes) -> Task:
    given = _parsed(document)
    task = _built(given)
    if task.document != document:
        raise ServiceError(f"The task is not what its numbers give: {_difference(task, given)}.")
    return task


def _built(given: dict[str, Any]) -> Task:
    question, chosen, batch = given["question"], given["randomizer"], given["batch"]
    promise = given["guarantee"]
    if sorted(question) != sorted(_QUESTION):
        known = ", ".join(sorted(_QUESTION))
        raise _wrong(f"a document with the question's {known}", sorted(question))
    plain = {field.name: field.default for field in fields(Job)}
    asked = plain | question
    asked |= {"mechanism": chosen["mechanism"], "strength": chosen["strength"]}
    asked |= {"n": batch["minimum"], "users": batch["largest"]}
    asked |= {"epsilon": promise["promised"], "delta": promise["delta"]}
    try:
        job = Job.from_json(json.dumps(asked)).checked()
    except ParameterError as error:
        raise _wrong(f"a document {error.condition}", error.value) from error
    keys, time = given["keys"], given["time"]
    return Task(
        given["title"],
        job,
        given["report"]["length"],
        *(time["opens"], time["expires"], time["precision"]),
        PublicKey.from_hex(keys["analyst"]),
        tuple(map(PublicKey.from_hex, keys["shuffler"])),
        given["cohort"],
        Stated(**{field.name: promise[field.name] for field in fields(Stated)}),
    )


def _difference(task: Task, given: dict[str, Any]) -> str:
    """The first field in which a document and what it should be differ."""
    meant = json.loads(task.document)
    for name, part in meant.items():
        if given[name] == part:
            continue
        if isinstance(part, dict):
            for field, value in part.items():
                if given[name].get(field) != value:
                    return f"{name}.{field} should be {value!r}, and is {given[name].get(field)!r}"
        return f"{name} should be {part!r}, and is {given[name]!r}"
    return "it is not written canonically"
