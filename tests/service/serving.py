"""A service on a free port of this machine, in a thread of the test."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from shuffledp.service.server.application import Application
from shuffledp.service.server.connections import connection_class
from shuffledp.service.shuffler import Shuffler

PATIENCE = 120.0
"""Seconds for what takes a moment, however busy the machine."""
TOKEN = "a token that only tests know, and everybody who reads them"


@dataclass(frozen=True)
class Running:
    app: Application
    url: str
    port: int
    server: uvicorn.Server
    thread: threading.Thread


@contextmanager
def serving(
    shuffler: Shuffler,
    *,
    head: float = PATIENCE,
    body: float = PATIENCE,
    connections: int = 100,
    **more: Any,
) -> Iterator[Running]:
    """With so many seconds for the head of a request, and for its body."""
    app = Application(shuffler, token=TOKEN, patience=body, **more)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=connection_class(connections, head),
        ws="none",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=int(PATIENCE),
    )
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        ready = threading.Event()
        startup = server.startup

        async def announced(sockets: Any = None) -> None:
            await startup(sockets)
            ready.set()

        server.startup = announced  # type: ignore[method-assign]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield Running(app, f"http://127.0.0.1:{port}", port, server, thread)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


def until(true: Callable[[], object]) -> None:
    """Wait for it."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
