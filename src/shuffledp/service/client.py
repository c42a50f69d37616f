"""Talking to a shuffler: fetch a task, send reports until they are acknowledged, administer."""

from __future__ import annotations

import http.client
import ipaddress
import json
import random
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from shuffledp.errors import (
    BudgetExceededError,
    LedgerError,
    LostKeyError,
    ParameterError,
    ServiceError,
    ShuffleDPError,
    TooFewError,
)
from shuffledp.service import binary_http
from shuffledp.service.device import SealedReport
from shuffledp.service.oblivious import MEDIA_REQUEST, encapsulate
from shuffledp.service.sealing import CannotOpen, PublicKey
from shuffledp.service.task import LONGEST_DOCUMENT, Task
from shuffledp.service.wire import MEDIA_REPORTS, MEDIA_TASK, PATH, TASK_ID, Problem, parse_id

ATTEMPTS = 8
_LONGEST_ANSWER = LONGEST_DOCUMENT + 1024
_AGAIN = {408, 429, 500, 502, 503, 504}
"""Answers after which the same may be sent again."""
_URN = "urn:shuffledp:problem:"
_KNOWN: dict[str, type[ShuffleDPError]] = {
    kind.__name__: kind for kind in (BudgetExceededError, LedgerError, LostKeyError, TooFewError)
}
"""Errors of the shuffler that are the same here."""
_BROKEN = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes
    retry_after: str = ""

    @property
    def problem(self) -> dict[str, Any]:
        """What it says went wrong; nothing if it says nothing."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def code(self) -> str:
        """The name of the problem."""
        return str(self.problem.get("type", "")).removeprefix(_URN)


def split_task(url: str) -> tuple[str, bytes]:
    """The address of a shuffler and the name of a task, of the address of a task."""
    base, found, name = url.partition(f"{PATH}/tasks/")
    task_id = parse_id(name, TASK_ID)
    if not found or task_id is None:
        raise ParameterError(
            "task", f"an address such as https://host{PATH}/tasks/<64 digits>", url
        )
    return base, task_id


class Client:
    """A connection to a shuffler, which is made anew when it breaks. For one thread."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 30.0,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ParameterError("url", "an address such as https://host", url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise ParameterError("url", "an address such as https://host", url)
        self.url, self._base = url, parts.path.rstrip("/")
        self._host, self._port, self._tls = parts.hostname, port, parts.scheme == "https"
        self._timeout, self._attempts, self._sleep = timeout, attempts, sleep
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Once. Raises OSError or HTTPException if no answer came."""
        if self._connection is None:
            self._connection = (
                http.client.HTTPSConnection(
                    self._host,
                    self._port,
                    timeout=self._timeout,
                    context=ssl.create_default_context(),
                )
                if self._tls
                else http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            )
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with suppress(BrokenPipeError):  # it may have been answered before it was read
                self._connection.request(method, self._base + path, body, sent)
            answer = self._connection.getresponse()
            content = answer.read(_LONGEST_ANSWER + 1)
            if len(content) > _LONGEST_ANSWER:
                raise http.client.HTTPException("an answer that is too long")
            return Answer(answer.status, content, answer.getheader("retry-after") or "")
        except BaseException:
            self.close()
            raise

    def patiently(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> Answer:
        """Again and again, with growing pauses, until there is an answer that settles it."""
        reason = ""
        for attempt in range(self._attempts):
            pause = 0.05 * 2**attempt * (1.0 + random.random())
            try:
                answer = self.request(method, path, body, **headers)
            except _BROKEN as error:
                reason = str(error) or type(error).__name__
            else:
                if answer.status not in _AGAIN:
                    return answer
                reason = answer.code or f"status {answer.status}"
                if answer.retry_after.isdigit():
                    pause = max(pause, min(float(answer.retry_after), 60.0))
            if attempt + 1 < self._attempts:
                self.close()  # a server does not keep it for that long, and others need the place
                self._sleep(pause)
        raise ServiceError(
            f"{self.url} gave no answer after {self._attempts} attempts ({reason}). The same may be"
            " sent again."
        )

    def task(self, task_id: bytes) -> Task:
        """A task, checked: its bytes have that name, and its guarantee is what it states."""
        answer = self.patiently("GET", f"{PATH}/tasks/{task_id.hex()}")
        if answer.status != 200:
            raise _unexpected(self.url, answer)
        return Task.read(answer.body, task_id)

    def send(self, *reports: SealedReport) -> None:
        """Send reports of one task until they are acknowledged; each enters once."""
        left, key = list(reports), 0
        while left:
            task = left[0].task
            if key >= len(task.shuffler):
                raise ServiceError(
                    "The shuffler accepts none of the keys of the task:"
                    " it has retired or lost them."
                )
            body = b"".join(each.record(key) for each in left)
            path = f"{PATH}/tasks/{task.id.hex()}/reports"
            answer = self.patiently("POST", path, body, content_type=MEDIA_REPORTS)
            if answer.status == 201:
                return
            left, key = _with_next_key(self.url, answer, left), key + 1

    def administer(
        self, token: str, method: str, path: str, body: bytes | None = None
    ) -> dict[str, Any]:
        """As the administrator, once."""
        if not self._tls and not _is_near(self._host):
            raise ParameterError(
                "url", "https://, or on this machine: a token is not sent in the clear", self.url
            )
        try:
            answer = self.request(
                method, path, body, authorization=f"Bearer {token}", content_type=MEDIA_TASK
            )
        except _BROKEN as error:
            raise ServiceError(f"No shuffler answers at {self.url}: {error}.") from error
        if answer.status not in (200, 201):
            raise _unexpected(self.url, answer)
        return answer.problem


class ObliviousClient(Client):
    """Talks to a shuffler through somebody else's Oblivious HTTP relay (RFC 9458), so that the
    shuffler sees the relay's address, and the relay sees nothing of what is said."""

    def __init__(self, relay: str, shuffler: str, key: PublicKey, **more: Any) -> None:
        super().__init__(relay, **more)
        self._shuffler, self._key = urlsplit(shuffler), key

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Once. An answer that the gateway did not seal is an error, whatever it says."""
        asked = binary_http.Request(
            method.encode(),
            self._shuffler.scheme.encode(),
            self._shuffler.netloc.encode(),
            (self._shuffler.path.rstrip("/") + path).encode(),
            tuple((k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()),
            body or b"",
        )
        sealed, exchange = encapsulate(asked.encode(), self._key)
        answer = super().request("POST", "", sealed, content_type=MEDIA_REQUEST)
        if answer.status != 200:
            raise http.client.HTTPException(f"the relay says {answer.status} {answer.code}".strip())
        try:
            response = binary_http.Response.decode(exchange.open(answer.body))
        except (CannotOpen, binary_http.Malformed):
            raise http.client.HTTPException("an answer that the gateway did not seal") from None
        again = dict(response.headers).get(b"retry-after", b"").decode("latin-1")
        return Answer(response.status, response.content, again)

    def administer(
        self, token: str, method: str, path: str, body: bytes | None = None
    ) -> dict[str, Any]:
        """Never: an administrator has nothing to hide from the shuffler."""
        raise ParameterError("url", "the shuffler's own, not that of a relay", self.url)


def _is_near(host: str) -> bool:
    """Whether it is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_next_key(url: str, answer: Answer, sent: Sequence[SealedReport]) -> list[SealedReport]:
    """Those that are to be sealed to the next key of their task, if that is all that is wrong."""
    refused = answer.problem.get("refused")
    if answer.code not in (Problem.UNKNOWN_KEY.code, Problem.UNOPENABLE.code) or not refused:
        raise _unexpected(url, answer)
    try:
        if any(code != Problem.UNKNOWN_KEY.code for _, code in refused):
            raise _unexpected(url, answer)
        return [sent[place] for place, _ in refused]
    except (TypeError, ValueError, IndexError):
        raise _unexpected(url, answer) from None


def _unexpected(url: str, answer: Answer) -> ShuffleDPError:
    """In the shuffler's words, as far as it has any; its own errors by their name."""
    problem = answer.problem
    said = problem.get("detail") or problem.get("title") or f"status {answer.status}"
    kind = _KNOWN.get(str(problem.get("error", "")), ServiceError)
    return kind(f"{url} refuses: {said}")
