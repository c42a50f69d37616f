"""The service as a process."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shuffledp.errors import MissingExtraError, ServiceError
from shuffledp.ledger import Ledger
from shuffledp.service.keys import KeyRing
from shuffledp.service.server.settings import Settings
from shuffledp.service.shuffler import LedgerBook, Shuffler
from shuffledp.service.store import open_store

_BACKLOG = 1024


def shuffler(settings: Settings, *, make: bool = True) -> Shuffler:
    """The shuffler that settings describe; its store is made unless it must exist."""
    ring = KeyRing(settings.keys)
    _ = ring.current  # there must be one
    return Shuffler(
        open_store(settings.store, make=make),
        ring,
        Path(settings.outbox),
        LedgerBook(Ledger.open(settings.ledger)),
        memory=settings.memory << 20,
        retention=settings.retention,
    )


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Until it is asked to end; requests that have begun are answered first."""
    try:
        import uvicorn
        import uvloop  # noqa: F401

        from shuffledp.service.server.application import Application
        from shuffledp.service.server.connections import connection_class
    except ImportError as error:
        raise MissingExtraError("service", "Running a shuffler") from error
    _log_to_stderr()
    app = Application(
        shuffler(settings),
        token=settings.token(),
        body=settings.body,
        patience=settings.patience,
        waiting=settings.waiting,
        release_every=settings.release_every,
    )
    for lost in app.shuffler.ring.lost:
        announce(f"warning: the key {lost.hex()} is lost; reports sealed to it cannot be opened")
    host, port = settings.address
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=connection_class(settings.connections, settings.patience),
        ws="none",
        access_log=False,
        log_config=None,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=int(settings.patience) + 5,
    )
    listening = _bound(host, port)
    shown = f"[{host}]" if ":" in host else host

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            listening.listen(_BACKLOG)
            if self.started:
                announce(f"http://{shown}:{listening.getsockname()[1]}")

    with suppress(KeyboardInterrupt):
        # the command line's own way to end is not for a server
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        Announcing(config).run([listening])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ServiceError(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    return listening


def _log_to_stderr() -> None:
    """Without times: when a report came is nobody's business."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("shuffledp.service").setLevel(logging.INFO)
