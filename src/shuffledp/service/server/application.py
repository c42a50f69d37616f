"""The HTTP interface. Uploads go the short way;
everything else is a small Starlette application."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from shuffledp.errors import BusyError, ServiceError, ShuffleDPError
from shuffledp.service import binary_http
from shuffledp.service.oblivious import (
    GATEWAY,
    MEDIA_KEYS,
    MEDIA_REQUEST,
    MEDIA_RESPONSE,
    configuration,
    decapsulate,
)
from shuffledp.service.sealing import CannotOpen
from shuffledp.service.server.intake import GROUP, WAITING, Intake
from shuffledp.service.server.metrics import Metrics
from shuffledp.service.shuffler import Released, Shuffler
from shuffledp.service.store import Upload
from shuffledp.service.task import LONGEST_DOCUMENT, Task
from shuffledp.service.wire import (
    MEDIA_PROBLEM,
    MEDIA_REPORTS,
    MEDIA_TASK,
    PATH,
    TASK_ID,
    Problem,
    Refused,
    parse_id,
)

log = logging.getLogger("shuffledp.service")
BODY = 1 << 20
PATIENCE = 10.0
_HELD = 64 << 20
"""Bytes of bodies that are read or stored at one time."""
_START = f"{PATH}/tasks/"
_END = "/reports"
_ADMIN = "/admin/"
_AT_ONCE = 64
"""Reports opened before others have their turn."""
_LOOK_AGAIN = 1.0
"""Seconds before the store is asked again for an unknown task."""
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
STATIC = Path(__file__).parent / "static"
_FILES = {
    "survey.html": "text/html; charset=utf-8",
    "survey.css": "text/css; charset=utf-8",
    "survey.js": "text/javascript; charset=utf-8",
    "device.js": "text/javascript; charset=utf-8",
}
_PAGE = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ACCEPTED: Message = {
    "type": "http.response.start",
    "status": 201,
    "headers": [(b"content-length", b"0"), *_HEADERS],
}
_NOTHING: Message = {"type": "http.response.body", "body": b""}
_RETRY = {Problem.BUSY: b"1", Problem.FULL: b"60", Problem.UNAVAILABLE: b"5", Problem.FAULT: b"5"}
_WRONG_KEY = {
    "type": "https://iana.org/assignments/http-problem-types#ohttp-key",
    "title": "The key or the algorithms of the request are not accepted (any more).",
}
_CLOSING = {Problem.TOO_LARGE, Problem.TOO_SLOW, Problem.UNAUTHORIZED}
"""After these the rest of a request is not read."""
T = TypeVar("T")


class Application:
    """An ASGI application around a shuffler."""

    def __init__(
        self,
        shuffler: Shuffler,
        *,
        token: str | None = None,
        body: int = BODY,
        patience: float = PATIENCE,
        waiting: int = WAITING,
        group: int = GROUP,
        release_every: float = 0.0,
        sweep_every: float = 60.0,
    ) -> None:
        self.shuffler, self._token = shuffler, token
        self._body, self._patience = body, patience
        self._waiting, self._group = waiting, group
        self._release_every, self._sweep_every = release_every, sweep_every
        self.metrics, self._held = Metrics(), 0
        self._looked = -_LOOK_AGAIN
        self._rest = Starlette(
            routes=self.routes(),
            exception_handlers={
                Refused: _refused,
                _Left: _gone,
                HTTPException: _http_error,
                ShuffleDPError: _not_done,
                Exception: _fault,
            },
            lifespan=self._lifespan,
        )
        self._rest.router.redirect_slashes = False  # an address is right, or there is nothing

    def routes(self) -> list[Route]:
        """Everything but uploads."""
        return [
            Route(f"{PATH}/tasks/{{task}}", self._task),
            Route(f"{PATH}/keys", self._keys),
            Route(GATEWAY, self._gateway_keys, methods=["GET"]),
            Route(GATEWAY, self._gateway, methods=["POST"]),
            Route("/survey/{task}", self._survey),
            Route("/static/{name}", _static),
            Route("/healthz", self._healthy),
            Route("/metrics", self._metrics),
            Route("/admin/tasks", self._list, methods=["GET"]),
            Route("/admin/tasks", self._open, methods=["POST"]),
            Route("/admin/tasks/{task}/release", self._release, methods=["POST"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.startswith(_START) and path.endswith(_END):
                await self._upload(scope, receive, send)
                return
        await self._rest(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self.intake = Intake(self.shuffler.store, waiting=self._waiting, group=self._group)
        self.intake.start()
        chores = asyncio.create_task(self._chores())
        yield
        chores.cancel()
        with suppress(asyncio.CancelledError):
            await chores
        await self.intake.stop()
        self.shuffler.store.close()

    # uploads

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            refused = await self._taken(scope, receive)
        except Refused as error:
            self.metrics.add("shuffledp_requests_refused", reason=error.problem.code)
            await _send_problem(send, error.problem, {"detail": error.detail})
            return
        except _Left:
            return
        except Exception:
            log.exception("a fault")  # of ours: no content of a request is in its words
            await _send_problem(send, Problem.FAULT)
            return
        if not refused:
            await send(_ACCEPTED)
            await send(_NOTHING)
            return
        first = min((problem for _, problem in refused), key=list(Problem).index)
        listed = [[place, problem.code] for place, problem in refused]
        await _send_problem(send, first, {"refused": listed})

    async def _taken(self, scope: Scope, receive: Receive) -> list[tuple[int, Problem]]:
        """Store an upload; what is wrong with some of its reports."""
        if scope["method"] != "POST":
            raise Refused(Problem.METHOD)
        task = await self._found(scope["path"][len(_START) : -len(_END)])
        headers = dict(scope["headers"])
        if headers.get(b"content-type") != MEDIA_REPORTS.encode():
            raise Refused(Problem.MEDIA)
        if (problem := self.shuffler.closed(task)) is not None:
            raise Refused(problem)
        with self._holding(headers.get(b"content-length")):
            return await self._stored(task, await self._read(receive))

    async def _stored(self, task: Task, body: bytes) -> list[tuple[int, Problem]]:
        records = task.format.records(body)
        with self.intake.room(len(body) // task.format.record):
            reports, refused = [], []
            for place, record in enumerate(records):
                if place and place % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                try:
                    reports.append(self.shuffler.unwrap(task, record))
                except Refused as error:
                    refused.append((place, error.problem))
                    self.metrics.add("shuffledp_reports_refused", reason=error.problem.code)
            if reports:
                problem = await self.intake.put(Upload(task.id, reports))
                if problem is not None:
                    raise Refused(problem)
                self.metrics.add("shuffledp_reports_stored", len(reports))
        return refused

    async def _found(self, name: str) -> Task:
        task_id = parse_id(name, TASK_ID)
        if task_id is None:
            raise Refused(Problem.UNKNOWN_TASK)
        known = self.shuffler.known(task_id)
        if known is None:  # another process may have opened it
            now = asyncio.get_running_loop().time()
            if now < self._looked + _LOOK_AGAIN:
                raise Refused(Problem.UNKNOWN_TASK)
            self._looked = now
            known = await _in_thread(self.shuffler.task, task_id)
        return known

    @contextmanager
    def _holding(self, stated: bytes | None) -> Iterator[None]:
        """A place for a body of the stated length, while it comes and is stored: all bodies
        together fit into memory, however many connections send at once."""
        size = self._body
        if stated is not None:
            if not stated.isdigit() or len(stated) > 18 or int(stated) > self._body:
                raise Refused(Problem.TOO_LARGE)
            size = int(stated)
        if self._held and self._held + size > max(_HELD, self._body):
            raise Refused(Problem.BUSY)
        self._held += size
        try:
            yield
        finally:
            self._held -= size

    async def _read(self, receive: Receive) -> bytes:
        """A body that is not too long and does not take too long."""
        message = await self._received(receive)
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            if len(body) > self._body:
                raise Refused(Problem.TOO_LARGE)
            return body
        parts, size = [body], len(body)
        try:
            async with asyncio.timeout(self._patience):
                while message.get("more_body"):
                    message = await self._received(receive)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._body:
                        raise Refused(Problem.TOO_LARGE)
        except TimeoutError:
            raise Refused(Problem.TOO_SLOW) from None
        return b"".join(parts)

    async def _received(self, receive: Receive) -> Message:
        try:
            async with asyncio.timeout(self._patience):
                message = await receive()
        except TimeoutError:
            raise Refused(Problem.TOO_SLOW) from None
        if message["type"] == "http.disconnect":
            raise _Left
        return message

    # for everybody

    async def _task(self, request: Request) -> Response:
        task = await self._found(request.path_params["task"])
        return Response(
            task.document,
            media_type=MEDIA_TASK,
            headers={"cache-control": "public, max-age=86400, immutable", **_plain(_HEADERS[1:])},
        )

    async def _survey(self, request: Request) -> Response:
        """The page that asks people, for a task that is there."""
        await self._found(request.path_params["task"])
        return _file("survey.html")

    async def _keys(self, _request: Request) -> Response:
        ring = self.shuffler.ring
        await _in_thread(ring.refresh)
        return JSONResponse({"keys": ring.published()}, headers=_plain(_HEADERS))

    async def _healthy(self, _request: Request) -> Response:
        well = self.intake.alive and not self.intake.failing
        return JSONResponse({"storing": well}, 200 if well else 503, _plain(_HEADERS))

    async def _metrics(self, _request: Request) -> Response:
        text = self.metrics.text(storing=self.intake.alive and not self.intake.failing)
        return PlainTextResponse(text, headers=_plain(_HEADERS))

    # through a relay

    async def _gateway_keys(self, _request: Request) -> Response:
        keys = [key.public for key in self.shuffler.ring.accepted()]
        return Response(
            configuration(keys), media_type=MEDIA_KEYS, headers={"cache-control": "max-age=3600"}
        )

    async def _gateway(self, request: Request) -> Response:
        """A request inside a request (RFC 9458); only what devices ask for."""
        if request.headers.get("content-type") != MEDIA_REQUEST:
            raise Refused(Problem.MEDIA)
        stated = request.headers.get("content-length")
        with self._holding(None if stated is None else stated.encode()):
            sealed = await self._read(request.receive)
            try:
                message, exchange = decapsulate(sealed, self.shuffler.ring.accepted())
                asked = binary_http.Request.decode(message)
            except LookupError:
                return JSONResponse(_WRONG_KEY, 400, media_type=MEDIA_PROBLEM)
            except CannotOpen:
                raise Refused(Problem.UNOPENABLE) from None
            except binary_http.Malformed:
                raise Refused(Problem.MALFORMED) from None
            answer = await self._asked(asked)
        return Response(exchange.seal(answer.encode()), 200, _plain(_HEADERS), MEDIA_RESPONSE)

    async def _asked(self, asked: binary_http.Request) -> binary_http.Response:
        """The answer to a device, as if it had come by itself."""
        path = asked.path.decode("latin-1")
        if not path.startswith(f"{PATH}/"):
            path = "/"
        scope: Scope = {
            "type": "http",
            "method": asked.method.decode(),
            "path": path,
            "root_path": "",
            "query_string": b"",
            "headers": [*asked.headers, (b"content-length", b"%d" % len(asked.content))],
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": asked.content}

        async def send(message: Message) -> None:
            sent.append(message)

        await self(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return binary_http.Response(sent[0]["status"], tuple(sent[0]["headers"]), body)

    # for the administrator

    def _check_token(self, request: Request) -> None:
        """Before anything else is done for an address below ``_ADMIN``."""
        given = request.headers.get("authorization", "")
        wanted = f"Bearer {self._token}"
        if self._token is None or not hmac.compare_digest(given.encode(), wanted.encode()):
            raise Refused(Problem.UNAUTHORIZED)

    async def _open(self, request: Request) -> Response:
        self._check_token(request)
        document = b""
        async for part in request.stream():
            document += part
            if len(document) > LONGEST_DOCUMENT:
                raise Refused(Problem.TOO_LARGE)
        task = await _in_thread(self.shuffler.open_task, document)
        return JSONResponse({"task": task.id.hex(), "guarantee": task.said}, 201, _plain(_HEADERS))

    async def _list(self, request: Request) -> Response:
        self._check_token(request)
        return JSONResponse(await _in_thread(self._listed), headers=_plain(_HEADERS))

    def _listed(self) -> dict[str, Any]:
        store = self.shuffler.store
        batches = store.batches()
        return {
            "tasks": [
                {
                    "task": each.id.hex(),
                    "title": self.shuffler.task(each.id).title,
                    "waiting": each.waiting,
                    "minimum": each.minimum,
                    "largest": each.largest,
                    "ended": bool(each.ended),
                    "batches": [
                        {"batch": batch.id.hex(), "state": str(batch.state), "reports": batch.size}
                        for batch in batches
                        if batch.task == each.id
                    ],
                }
                for each in store.tasks()
            ]
        }

    async def _release(self, request: Request) -> Response:
        self._check_token(request)
        task = await self._found(request.path_params["task"])
        released = await _in_thread(self._released, task.id)
        answer = {
            "released": [_shown(each) for each in released],
            "guarantee": task.said,
            "ledger": await _in_thread(self.shuffler.book.told, task),
        }
        return JSONResponse(answer, 200, _plain(_HEADERS))

    def _released(self, task_id: bytes) -> list[Released]:
        try:
            released = self.shuffler.release(task_id)
        except ShuffleDPError:
            self.metrics.add("shuffledp_releases_refused")
            raise
        self.metrics.add("shuffledp_batches_released", len(released))
        return released

    # what happens by itself

    async def _chores(self) -> None:
        """What was begun is finished; tasks end; batches are released if there is a schedule."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._release_every
        while True:
            try:
                await _in_thread(self.intake.try_again)
                await _in_thread(self._resume)
                await _in_thread(self.shuffler.sweep)
                if self._release_every and loop.time() >= due:
                    due += self._release_every
                    await _in_thread(self._release_all)
            except Exception as error:
                log.error("left undone: %s", error)
            await asyncio.sleep(min(filter(None, (self._sweep_every, self._release_every))))

    def _resume(self) -> None:
        """Batches that this process or another left unfinished, unless somebody is at it."""
        with suppress(BusyError):
            self.metrics.add("shuffledp_batches_released", len(self.shuffler.resume()))

    def _release_all(self) -> None:
        for each in self.shuffler.store.tasks():
            if each.waiting >= each.minimum:
                try:
                    self._released(each.id)
                except ShuffleDPError as error:
                    log.error("task %s: no batch. %s", each.id.hex(), error)


class _Left(Exception):
    """The client has gone."""


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


def _plain(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}


def _shown(released: Released) -> dict[str, Any]:
    return {
        "batch": released.batch.hex(),
        "reports": released.reports,
        "file": str(released.path),
        "deleted": released.deleted,
    }


def _problem(
    problem: Problem, more: dict[str, Any] | None = None
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    data = {"type": problem.urn, "title": problem.title, "status": problem.status}
    body = json.dumps(data | {k: v for k, v in (more or {}).items() if v}).encode()
    headers = [
        (b"content-type", MEDIA_PROBLEM.encode()),
        (b"content-length", str(len(body)).encode()),
        *_HEADERS,
    ]
    if problem in _RETRY:
        headers.append((b"retry-after", _RETRY[problem]))
    if problem in _CLOSING:
        headers.append((b"connection", b"close"))
    return body, headers


async def _send_problem(send: Send, problem: Problem, more: dict[str, Any] | None = None) -> None:
    body, headers = _problem(problem, more)
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _response(problem: Problem, more: dict[str, Any] | None = None) -> Response:
    body, headers = _problem(problem, more)
    return Response(body, problem.status, _plain(headers))


async def _static(request: Request) -> Response:
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    """A file of the survey page; the device is there once it was bundled."""
    path = STATIC / name
    if name not in _FILES or not path.is_file():
        raise Refused(Problem.NOT_FOUND)
    return Response(path.read_bytes(), headers={"content-type": _FILES[name], **_PAGE})


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _response(error.problem, {"detail": error.detail})


async def _gone(_request: Request, _error: Exception) -> Response:
    """Nobody reads it."""
    return Response(status_code=400)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _response(Problem.METHOD if error.status_code == 405 else Problem.NOT_FOUND)


async def _not_done(request: Request, error: Exception) -> Response:
    """The administrator may know why; everybody else is told that it cannot be done now."""
    if not request.scope["path"].startswith(_ADMIN):
        log.error("a request was not answered: %s", error)
        return _response(Problem.UNAVAILABLE)
    name = type(error).__name__ if isinstance(error, ShuffleDPError) else ServiceError.__name__
    return _response(Problem.REFUSED, {"detail": str(error), "error": name})


async def _fault(_request: Request, _error: Exception) -> Response:
    return _response(Problem.FAULT)
