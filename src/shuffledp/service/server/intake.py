"""Uploads of many requests are stored together by one thread, and answered once on disk.

While one group is written the next gathers. There is no more of it than a set number of reports:
beyond that a request is refused at once, before any work is done for it.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from shuffledp.service.store import Store, Upload
from shuffledp.service.wire import Problem, Refused

GROUP = 500
"""Reports stored in one transaction, about."""
WAITING = 20_000
"""Reports that may wait to be stored."""
log = logging.getLogger("shuffledp.service")
_Waiting = tuple[Upload, "asyncio.Future[Problem | None]"]


class Intake:
    """Belongs to one event loop; started in it and stopped in it."""

    def __init__(self, store: Store, *, waiting: int = WAITING, group: int = GROUP) -> None:
        self._store, self._most, self._group = store, waiting, group
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="intake", daemon=True)
        self.waiting = 0
        """Reports that came and were not answered yet."""
        self.failing = False
        """Whether the last group could not be stored."""

    def start(self) -> None:
        """Begin to store."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Store what is there, and end."""
        self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @contextmanager
    def room(self, reports: int) -> Iterator[None]:
        """A place for so many while they are opened and stored; if there is none, they are refused.

        A single upload has one, whatever its size, if nobody else does.
        """
        if self.waiting and self.waiting + reports > self._most:
            raise Refused(Problem.BUSY)
        self.waiting += reports
        try:
            yield
        finally:
            self.waiting -= reports

    def put(self, upload: Upload) -> asyncio.Future[Problem | None]:
        """What became of an upload, once it is on the disk."""
        future: asyncio.Future[Problem | None] = self._loop.create_future()
        self._queue.put((upload, future))
        return future

    def try_again(self) -> None:
        """After a failure: whether the store is there again. Whoever asks for our health before
        sending anything would otherwise never learn it."""
        if self.failing:
            self._store.add([])
            self.failing = False

    def _work(self) -> None:
        ending = False
        while not ending:
            first = self._queue.get()
            if first is None:
                return
            group, size = [first], len(first[0].reports)
            while size < self._group:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    ending = True
                    break
                group.append(more)
                size += len(more[0].reports)
            self._store_group(group)

    def _store_group(self, group: Sequence[_Waiting]) -> None:
        outcomes: Sequence[Problem | None]
        try:
            outcomes = self._store.add([upload for upload, _ in group])
            self.failing = False
        except Exception as error:
            log.error("reports cannot be stored: %s", error)
            outcomes = [Problem.UNAVAILABLE] * len(group)
            self.failing = True
        self._loop.call_soon_threadsafe(self._answer, group, outcomes)

    def _answer(self, group: Sequence[_Waiting], outcomes: Sequence[Problem | None]) -> None:
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if not future.done():  # its client may have left
                future.set_result(outcome)
