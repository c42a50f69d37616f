"""The HTTP interface and the page, as one Starlette application."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from shuffledp.accounting.bounds import all_theorems
from shuffledp.errors import ParameterError
from shuffledp.interfaces.web.fields import OFFERS, Field, read
from shuffledp.interfaces.web.headers import HEADERS, NOT_KEPT, Headers
from shuffledp.interfaces.web.openapi import PATHS, document
from shuffledp.interfaces.web.outcome import Refused
from shuffledp.interfaces.web.workers import Workers

STATIC = Path(__file__).parent / "static"
_LONGEST_QUERY = 1500
_REMEMBERED = 4096
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def application(
    *,
    workers: int = 2,
    deadline: float = 10.0,
    queue: int = 256,
    hosts: Sequence[str] = ("localhost", "127.0.0.1", "[::1]"),
) -> Starlette:
    """The calculator. ``hosts`` are the names it answers to, so that no foreign page reaches it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        crew = Workers(workers, deadline, queue)
        app.state.answers = _Answers(crew)
        yield
        crew.close()

    routes = [Route(path, _endpoint(job, fields)) for job, (path, _, fields) in PATHS.items()]
    return Starlette(
        routes=[
            *routes,
            Route("/api/mechanisms", _mechanisms),
            Route("/api/theorems", _theorems),
            Route("/openapi.json", _openapi),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[
            Middleware(Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        ],
        exception_handlers={Refused: _refused, HTTPException: _http_error, Exception: _bug},
        lifespan=lifespan,
    )


def _endpoint(job: str, fields: dict[str, Field]) -> Endpoint:
    async def answer(request: Request) -> Response:
        if len(request.url.query) > _LONGEST_QUERY:
            raise Refused(414, "too long", f"A query has at most {_LONGEST_QUERY} characters.")
        try:
            given = read(fields, request.query_params.multi_items())
        except ParameterError as error:
            raise Refused(422, "parameter", str(error), error.parameter) from None
        found = await _unless_left(request, request.app.state.answers.get(job, given))
        return Response(found, media_type="application/json")

    return answer


async def _unless_left(request: Request, answer: Coroutine[Any, Any, bytes]) -> bytes:
    """The answer; nothing is computed for those who have gone: a page asks anew at every move."""
    asking, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else b""
    finally:
        asking.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _mechanisms(_request: Request) -> Response:
    return JSONResponse(OFFERS)


async def _theorems(_request: Request) -> Response:
    return JSONResponse([theorem.to_dict() for theorem in all_theorems()])


async def _openapi(_request: Request) -> Response:
    return JSONResponse(document())


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"retry-after": "1"} if error.status == 429 else None
    return JSONResponse(error.to_dict(), error.status, headers)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = Refused(error.status_code, "http", error.detail)
    return JSONResponse(answer.to_dict(), error.status_code, error.headers)


async def _bug(_request: Request, error: Exception) -> Response:
    """Answered outside all middleware, so it brings the headers itself."""
    answer = Refused(500, "bug", f"{type(error).__name__}: {error}")
    headers = {name.decode(): value.decode() for name, value in (*HEADERS, NOT_KEPT)}
    return JSONResponse(answer.to_dict(), 500, headers)


@dataclass(eq=False)
class _Known:
    """An answer known or on its way, and how many wait for it."""

    answer: asyncio.Task[bytes]
    waiting: int = 0


class _Answers:
    """Every question is computed once, also when many ask it at the same time."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._known: OrderedDict[object, _Known] = OrderedDict()

    async def get(self, job: str, given: Mapping[str, Any]) -> bytes:
        key = (job, tuple(sorted(given.items())))
        if key in self._known:
            self._known.move_to_end(key)
        else:
            self._known[key] = _Known(asyncio.create_task(self._workers.run(job, given)))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        known = self._known[key]
        known.waiting += 1
        try:
            return await asyncio.shield(known.answer)
        except Refused as refused:
            self._forget(key, known)
            raise Refused(*refused.args) from None
        finally:
            known.waiting -= 1
            if not known.waiting and not known.answer.done():
                known.answer.cancel()
                self._forget(key, known)

    def _forget(self, key: object, known: _Known) -> None:
        if self._known.get(key) is known:
            del self._known[key]
