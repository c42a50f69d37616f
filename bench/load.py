"""Sends prepared HTTP requests as fast as one core can, on many connections; notes what became of each."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import uvloop


@dataclass
class Load:
    """What was sent and what came back."""

    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """To the answer: from the first byte sent, or from when it was due, if there is a rate."""
    accepted: list[int] = field(default_factory=list)
    """Which requests were answered with 201."""
    retry_after: int = 0
    """How many refusals said when to come again."""
    sending: float = 0.0
    """Seconds until the last one was sent."""
    lasted: float = 0.0
    """Seconds until all were answered."""

    def share(self, quantile: float, status: int = 201) -> float:
        """The time within which so many of the answers came."""
        times = sorted(
            s for s, found in zip(self.seconds, self.statuses, strict=True) if found == status
        )
        return times[min(int(quantile * len(times)), len(times) - 1)] if times else float("nan")


class _Connection(asyncio.Protocol):
    def __init__(self, driver: _Driver) -> None:
        self.driver, self.buffer, self.number, self.began = driver, b"", 0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.driver.idle(self)

    def send(self, number: int, request: bytes, began: float) -> None:
        self.number, self.began = number, began
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        head = head.lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self.buffer = b""
        self.driver.answered(self, int(head[9:12]), b"retry-after" in head)

    def connection_lost(self, exc: Exception | None) -> None:
        self.driver.lost(self)


class _Driver:
    def __init__(self, port: int, requests: Sequence[bytes], rate: float | None) -> None:
        self.port, self.requests, self.rate = port, requests, rate
        self.transports: list[asyncio.BaseTransport] = []
        self.connecting: list[asyncio.Future[None]] = []
        self.next, self.open, self.load = 0, 0, Load()
        self.resting: deque[_Connection] = deque()
        self.done = asyncio.get_running_loop().create_future()
        self.start = time.perf_counter()

    def due(self) -> bool:
        """Whether a request is to be sent now."""
        if self.next >= len(self.requests):
            return False
        return self.rate is None or self.next <= self.rate * (time.perf_counter() - self.start)

    def idle(self, connection: _Connection) -> None:
        self.resting.append(connection)
        if self.rate is None:
            self.feed()

    def feed(self) -> None:
        while self.resting and self.due():
            self.open += 1
            now = time.perf_counter()
            began = now if self.rate is None else self.start + self.next / self.rate
            self.resting.popleft().send(self.next, self.requests[self.next], began)
            self.next += 1
            self.load.sending = now - self.start

    def answered(self, connection: _Connection, status: int, again: bool) -> None:
        self.open -= 1
        self.load.statuses.append(status)
        self.load.seconds.append(time.perf_counter() - connection.began)
        self.load.retry_after += again
        if status == 201:
            self.load.accepted.append(connection.number)
        self.idle(connection)
        if not self.open and self.next >= len(self.requests) and not self.done.done():
            self.done.set_result(None)

    def lost(self, connection: _Connection) -> None:
        """Closed while it rested, as servers do: another takes its place."""
        if self.done.done():
            return
        if connection in self.resting:
            self.resting.remove(connection)
            self.connecting.append(asyncio.ensure_future(self.connect()))
        else:
            self.done.set_exception(ConnectionError("the server closed a connection in use"))

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(
            lambda: _Connection(self), "127.0.0.1", self.port
        )
        self.transports.append(transport)


def drive(
    port: int, requests: Sequence[bytes], connections: int, rate: float | None = None
) -> Load:
    """Send all of them: each connection its next one when the last is answered; or so many a second,
    as far as a connection is free."""

    async def run() -> Load:
        driver = _Driver(port, requests, rate)
        for _ in range(connections):
            await driver.connect()
        driver.start = time.perf_counter()
        while rate is not None and driver.next < len(requests) and not driver.done.done():
            driver.feed()
            await asyncio.sleep(0.001)
        await driver.done
        driver.load.lasted = time.perf_counter() - driver.start
        await asyncio.gather(*driver.connecting)
        for transport in driver.transports:
            transport.close()
        return driver.load

    return uvloop.run(run())
