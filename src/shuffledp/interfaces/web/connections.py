"""Connections of the page: none holds a place while it keeps the server waiting."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from shuffledp.interfaces.web.headers import HEADERS, NOT_KEPT

PATIENCE = 10.0
"""Seconds to send a whole request, or to take a whole answer."""
_MOST = 1000


def most_connections() -> int:
    """A quarter of the files this process may open: each may read one, and workers need some."""
    try:
        import resource
    except ImportError:
        return _MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(min(_MOST, soft // 4), 1)


def connection_class(most: int, patience: float = PATIENCE) -> type[H11Protocol]:
    """Connections of which there are at most ``most``.

    A connection owes us the rest of a request, a new one, or the reading of an answer; or we owe it
    an answer. Only in the first case does its clock run, however much trickles in; and when there
    are too many, the one that has owed longest makes room for the newcomer.
    """
    owing: dict[Connection, None] = {}  # in the order in which they began to

    class Connection(H11Protocol):
        clock: asyncio.TimerHandle | None = None
        unread = gone = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.turn()
            if len(self.connections) > most:
                next(iter(owing)).give_up()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.turn()

        def on_response_complete(self) -> None:
            self.stop()
            super().on_response_complete()
            self.turn()

        def pause_writing(self) -> None:
            super().pause_writing()
            self.unread = True
            self.turn()

        def resume_writing(self) -> None:
            super().resume_writing()
            self.unread = False
            self.turn()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.gone = True
            self.stop()

        def turn(self) -> None:
            """Let the clock run unless we owe the answer."""
            cycle = self.cycle
            owed = self.unread or cycle is None or cycle.response_complete or cycle.more_body
            if not owed:
                self.stop()
            elif self.clock is None and not self.gone:
                owing[self] = None
                self.clock = self.loop.call_later(patience, self.give_up)

        def stop(self) -> None:
            owing.pop(self, None)
            if self.clock is not None:
                self.clock.cancel()
                self.clock = None

        def give_up(self) -> None:
            self.gone = True
            self.stop()
            self.connections.discard(self)
            self.transport.abort()  # a mere close waits until everything is read

        def send_400_response(self, msg: str) -> None:
            headers = [
                *HEADERS,
                NOT_KEPT,
                (b"content-type", b"text/plain"),
                (b"connection", b"close"),
            ]
            answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (answer, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Connection
