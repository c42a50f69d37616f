"""A service on a free port of this machine, in a thread of the test."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from shuffledp.service.server.application import Application
from shuffledp.service.server.connections import connection_class
from shuffledp.service.shuffler import Shuffler

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
    shuffler: Shuffler, *, patience: float = 10.0, connections: int = 100, **more: Any
) -> Iterator[Running]:
    app = Application(shuffler, token=TOKEN, patience=patience, **more)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=connection_class(connections, patience),
        ws="none",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=5,
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
            assert ready.wait(30)
            yield Running(app, f"http://127.0.0.1:{port}", port, server, thread)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
