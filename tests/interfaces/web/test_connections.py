"""Slow or silent senders hold up nobody; every answer carries the headers."""

import asyncio
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from shuffledp.interfaces.web.api import application
from shuffledp.interfaces.web.connections import connection_class, most_connections
from tests.interfaces.web.conftest import running

PATIENCE = 120.0
"""Seconds for what takes a moment, however busy the machine."""
PATIENT = f"""
from shuffledp.interfaces.web import connections
connections.connection_class.__defaults__ = ({4 * PATIENCE},)
from shuffledp.interfaces.cli import main
main()
"""
"""A calculator with which a connection is not over before the test is."""
QUESTION = "/api/account?eps0=1&n=100&delta=1e-3"
HEADERS = {
    "content-security-policy",
    "x-content-type-options",
    "x-frame-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "cache-control",
}


def _connect(address: str, data: bytes = b"") -> socket.socket:
    place = urlsplit(address)
    assert place.hostname is not None
    made = socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
    made.sendall(data)
    return made


def _whole(connection: socket.socket) -> bytes:
    """Everything until the other side closes or resets."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize(
    "begin", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"]
)
def test_half_open_connections_block_nobody(begin: bytes) -> None:
    """More of them than the server may open files."""
    with running(files=128, program=("-c", PATIENT)) as address, ExitStack() as stack:
        httpx.get(address + QUESTION, timeout=PATIENCE)  # workers have started
        for _ in range(400):
            stack.enter_context(_connect(address, begin))
        for n in range(200, 205):
            reply = httpx.get(f"{address}/api/account?eps0=1&n={n}&delta=1e-3", timeout=PATIENCE)
            assert reply.status_code == 200


def test_the_limit_leaves_files_for_the_rest() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert most_connections() == 64
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def _serving(most: int, patience: float = PATIENCE) -> Iterator[tuple[str, uvicorn.Server]]:
    async def app(scope: object, receive: object, send: object) -> None:
        body = b"x" * 30_000_000 if scope["path"] == "/large" else b"small"  # type: ignore[index]
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": body})  # type: ignore[operator]

    config = uvicorn.Config(
        app, port=0, http=connection_class(most, patience), lifespan="off", log_level="error"
    )
    listening = config.bind_socket()
    listening.listen()  # so that nobody comes too early
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", server
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET / HT",
    ],
)
def test_a_trickle_does_not_extend_the_time(begin: bytes) -> None:
    with _serving(50, 0.25) as (address, _), _connect(address, begin) as slow:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                slow.sendall(b"x")
            except ConnectionError:
                return
            time.sleep(0.02)
    pytest.fail("still connected after hundreds of times its time")


def test_who_does_not_read_the_answer_is_left() -> None:
    question = b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with _serving(50, 0.25) as (address, server), _connect(address, question) as deaf:
        assert deaf.recv(1) == b"H"  # it begins
        end = time.monotonic() + PATIENCE
        while server.server_state.connections:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert len(_whole(deaf)) < 29_000_000
    with _serving(50) as (address, _):
        assert len(httpx.get(address + "/large", timeout=PATIENCE).content) == 30_000_000


def test_the_longest_waiting_makes_room() -> None:
    with _serving(5) as (address, _), ExitStack() as stack:
        waiting = [stack.enter_context(_connect(address)) for _ in range(5)]
        assert httpx.get(address, timeout=PATIENCE).text == "small"
        assert _whole(waiting[0]) == b""  # closed
        waiting[1].settimeout(0.05)
        with pytest.raises(TimeoutError):  # still there
            waiting[1].recv(1)


def test_every_answer_carries_the_headers(server: str) -> None:
    with httpx.Client(base_url=server, timeout=PATIENCE) as client:
        page = client.get("/")
        replies = [
            page,
            client.get("/page.js"),
            client.get("/", headers={"if-none-match": page.headers["etag"]}),
            client.head("/"),
            client.get("/nothing-here"),
            client.post("/"),
            client.post("/api/account"),
            client.get("/", headers={"host": "evil.example"}),
            client.get(QUESTION),
            client.get("/api/account?n=x"),
            client.get(f"/api/account?eps0={'1' * 3000}"),
            client.get("/openapi.json"),
        ]
    statuses = [reply.status_code for reply in replies]
    assert statuses == [200, 200, 304, 200, 404, 405, 405, 400, 200, 422, 414, 200]
    for reply in replies:
        assert set(reply.headers) >= HEADERS, reply.url
    kept = [reply.headers["cache-control"] for reply in replies]
    assert kept == ["no-cache"] * 4 + ["no-store"] * 8
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_a_request_that_is_not_http_gets_them_too(server: str) -> None:
    with _connect(server, b"nonsense\r\n\r\n") as connection:
        answer = _whole(connection).decode().lower()
    assert answer.startswith("http/1.1 400 ")
    assert all(f"\n{name}: " in answer for name in HEADERS)


def test_a_bug_gets_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("shuffledp.interfaces.web.api.document", broken)
    transport = httpx.ASGITransport(application(), raise_app_exceptions=False)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/openapi.json")

    reply = asyncio.run(ask())
    assert (reply.status_code, reply.json()["error"]["kind"]) == (500, "bug")
    assert set(reply.headers) >= HEADERS
