"""What travels: sealed reports, and the words in which they are refused (docs/protocol.md).

record  = key id (8) || outer                  to the shuffler, of one length for a whole task
outer   = HPKE to the shuffler of  report id (16) || inner
inner   = HPKE to the analyst of   report, padded with zeros
upload  = record || record || ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from shuffledp.service.sealing import ID, OVERHEAD, CannotOpen, PrivateKey, PublicKey

VERSION = 1
PATH = "/v1"
MEDIA_REPORTS = "application/shuffledp-reports-1"
MEDIA_TASK = "application/json"
MEDIA_PROBLEM = "application/problem+json"
REPORT_ID = 16
"""Bytes of the random name of a report."""
TASK_ID = 32
"""Bytes of the name of a task: a SHA-256."""
_OUTER = b"shuffledp outer 1\0"
_INNER = b"shuffledp inner 1\0"


class Problem(Enum):
    """Why a request is refused: a name, an HTTP status, and the same words for everybody."""

    MALFORMED = ("malformed", 400, "The body is not a whole number of records of this task.")
    UNOPENABLE = ("unopenable", 400, "Some reports cannot be opened; the others were stored.")
    UNKNOWN_KEY = (
        "unknown-key",
        400,
        "Some reports are sealed to a key that is not accepted (any more); the others were stored.",
    )
    UNAUTHORIZED = ("unauthorized", 401, "This needs the token of the administrator.")
    NOT_OPEN = ("not-open", 403, "The task is not open yet.")
    ENDED = ("ended", 403, "The task takes no reports any more.")
    NOT_FOUND = ("not-found", 404, "There is nothing here.")
    UNKNOWN_TASK = ("unknown-task", 404, "This shuffler has no such task.")
    METHOD = ("method", 405, "This address does not take that method.")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time.")
    REFUSED = ("refused", 409, "Not done.")
    TOO_LARGE = ("too-large", 413, "The body is longer than allowed.")
    MEDIA = ("media-type", 415, "The body is of another media type than this address takes.")
    BUSY = ("busy", 429, "Too many reports are waiting. Send the same again later.")
    FULL = ("full", 429, "The batch is full until its release. Send the same again later.")
    FAULT = ("fault", 500, "The shuffler has a fault. Send the same again later.")
    UNAVAILABLE = ("unavailable", 503, "Nothing can be stored now. Send the same again later.")

    def __init__(self, code: str, status: int, title: str) -> None:
        self.code, self.status, self.title = code, status, title

    @property
    def urn(self) -> str:
        """As it stands in a problem document (RFC 9457)."""
        return f"urn:shuffledp:problem:{self.code}"


class Refused(Exception):
    """A message that is not taken, and why."""

    def __init__(self, problem: Problem, detail: str = "") -> None:
        super().__init__(problem.title)
        self.problem, self.detail = problem, detail


@dataclass(frozen=True)
class Format:
    """The messages of one task: all of the same length."""

    task: bytes
    """Its name."""
    length: int
    """Bytes of a report, padding included."""
    analyst: PublicKey

    @property
    def inner(self) -> int:
        """Bytes of what the analyst gets."""
        return self.length + OVERHEAD

    @property
    def record(self) -> int:
        """Bytes of what a device sends."""
        return ID + OVERHEAD + REPORT_ID + self.inner

    @property
    def inner_info(self) -> bytes:
        """Binds the inner layer to the task. Not to the report id,
        which the analyst never learns."""
        return _INNER + self.task + self.analyst.id

    def outer_info(self, key_id: bytes) -> bytes:
        """Binds the outer layer to the task and to the key."""
        return _OUTER + self.task + key_id

    def seal(self, report: bytes, report_id: bytes, key: PublicKey) -> bytes:
        """A record, of a padded report."""
        return self.wrap(self.analyst.seal(report, self.inner_info), report_id, key)

    def wrap(self, inner: bytes, report_id: bytes, key: PublicKey) -> bytes:
        """A record, of a report that is sealed to the analyst already."""
        assert len(report_id) == REPORT_ID
        assert len(inner) == self.inner
        return key.id + key.seal(report_id + inner, self.outer_info(key.id))

    def unwrap(self, record: bytes, key: PrivateKey) -> tuple[bytes, bytes]:
        """The report id and what is for the analyst, of a record sealed to this key."""
        key_id = key.public.id
        if len(record) != self.record or record[:ID] != key_id:
            raise CannotOpen
        message = key.open(record[ID:], self.outer_info(key_id))
        return message[:REPORT_ID], message[REPORT_ID:]

    def records(self, body: bytes) -> Iterator[bytes]:
        """The records of an upload; at least one."""
        step = self.record
        if not body or len(body) % step:
            raise Refused(Problem.MALFORMED)
        return (body[start : start + step] for start in range(0, len(body), step))


def parse_id(text: str, size: int) -> bytes | None:
    """A name in lower-case hexadecimal digits; None for anything else."""
    if len(text) != 2 * size or not text.isascii():
        return None
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if found.hex() == text else None
