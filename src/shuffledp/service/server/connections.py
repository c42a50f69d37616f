"""Connections of the service: none holds a place while it keeps the server waiting."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LONGEST_HEAD = 1 << 16
"""Bytes of a request before its body, beside what comes at once."""


def connection_class(most: int, patience: float) -> type[HttpToolsProtocol]:
    """Connections of which there are at most ``most``; each must send the head of a request, and
    read an answer, within ``patience`` seconds. Bodies are the application's."""

    class Connection(HttpToolsProtocol):
        clock: asyncio.TimerHandle | None = None
        head = 0

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.access_log = False  # addresses are not written down, however logging is set up

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most:
                self.give_up()
                return
            self.start()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self.idle():
                self.start()
                if self.head > _LONGEST_HEAD:
                    self.give_up()
                    return
                self.head += len(data)
            super().data_received(data)

        def idle(self) -> bool:
            """Whether the next bytes belong to the head of a request."""
            return self.cycle is None or self.cycle.response_complete

        def on_headers_complete(self) -> None:
            self.stop()
            self.head = 0
            super().on_headers_complete()

        def pause_writing(self) -> None:
            super().pause_writing()
            self.start()

        def resume_writing(self) -> None:
            super().resume_writing()
            self.stop()

        def connection_lost(self, exc: Exception | None) -> None:
            self.stop()
            super().connection_lost(exc)

        def start(self) -> None:
            if self.clock is None:
                self.clock = self.loop.call_later(patience, self.give_up)

        def stop(self) -> None:
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

        def give_up(self) -> None:
            self.stop()
            self.transport.abort()  # a mere close waits until everything is read

    return Connection
