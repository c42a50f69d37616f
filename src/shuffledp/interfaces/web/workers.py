"""Processes that compute for the page: a deadline each, so that no question holds up the others."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from shuffledp.interfaces.web.outcome import Refused, answer

_MEMORY = 2 * 1024**3
_LOOK = 0.25
"""Seconds between looks whether others wait for a long question."""
_PLOTS = ("curve", "bounds")
"""Wait until every number asked for is there."""
_context = get_context("spawn")


def _serve(pipe: Connection) -> None:
    """In the worker: take jobs, send answers."""
    from shuffledp.interfaces.web.answers import JOBS

    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(EOFError, OSError):  # the server has ended
        pipe.send("ready")
        while True:
            job, given = pipe.recv()
            pipe.send(answer(JOBS[job], given))


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl+C is for the server, which ends its workers itself:
    a process begun here inherits that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Worker:
    def __init__(self) -> None:
        self.pipe, theirs = _context.Pipe()
        self.process: SpawnProcess = _context.Process(target=_serve, args=(theirs,), daemon=True)
        with _deaf_to_interrupts():
            self.process.start()
        theirs.close()
        self.ready = False

    def wait(self) -> None:
        """Until it has started up, or has failed to: the next question finds out."""
        if not self.ready:
            with contextlib.suppress(EOFError, OSError):
                self.ready = self.pipe.recv() == "ready"

    def run(self, job: str, given: Mapping[str, Any], deadline: float) -> Any:
        """The answer, None after the deadline; the time to start up does not count."""
        try:
            self.wait()
            self.pipe.send((job, dict(given)))
            return self.pipe.recv() if self.pipe.poll(deadline) else None
        except (EOFError, OSError):
            return Refused(422, "too large", "This question ended its process: too large.")

    def end(self) -> None:
        self.process.kill()
        self.pipe.close()
        self.process.join()


class Workers:
    """Processes that compute; one that misses its deadline is ended and replaced.

    For each of ``count`` there may be one more while it is busy with a question that takes longer
    than ``patience`` seconds.
    """

    def __init__(self, count: int, deadline: float, queue: int, patience: float = 1.0) -> None:
        self.deadline, self._queue, self._patience = deadline, queue, patience
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # they share the processors
        self._count = count
        self._threads = ThreadPoolExecutor(2 * count)
        self._all = [_Worker() for _ in range(count)]
        self._idle = list(self._all)
        self._waiting: list[tuple[bool, int, asyncio.Future[_Worker]]] = []
        self._tickets = itertools.count()

    async def run(self, job: str, given: Mapping[str, Any]) -> bytes:
        """The answer as JSON, or Refused. Who is cancelled while waiting leaves the queue."""
        worker = await self._next(job in _PLOTS)
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(self._threads, worker.run, job, given, self.deadline)
        loop.call_later(self._patience, self._one_more, worker, task)
        task.add_done_callback(lambda done: self._release(worker, done))
        answer = await asyncio.shield(task)
        if answer is None:
            raise Refused(
                422,
                "too long",
                f"This question takes more than {self.deadline:g} s, the limit of this page."
                " The command line has none.",
            )
        if isinstance(answer, Refused):
            raise answer
        assert isinstance(answer, bytes)
        return answer

    async def _next(self, patient: bool) -> _Worker:
        """An idle worker; plots wait for numbers, otherwise in order."""
        if self._idle:
            return self._idle.pop()
        if len(self._waiting) >= self._queue:
            self._waiting = [entry for entry in self._waiting if not entry[2].done()]
            heapq.heapify(self._waiting)
        if len(self._waiting) >= self._queue:
            raise Refused(429, "busy", "Too many questions are waiting. Try again in a moment.")
        place: asyncio.Future[_Worker] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (patient, next(self._tickets), place))
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._give(place.result())
            raise

    def _one_more(self, busy: _Worker, long: asyncio.Future[Any]) -> None:
        """So that nobody waits for a long question; a process that starts up is not yet at it."""
        if long.done() or len(self._all) == 2 * self._count:
            return
        loop = asyncio.get_running_loop()
        if not busy.ready:
            loop.call_later(self._patience, self._one_more, busy, long)
        elif any(not place.done() for _, _, place in self._waiting):
            spare = _Worker()
            self._all.append(spare)
            started = loop.run_in_executor(self._threads, spare.wait)
            started.add_done_callback(lambda _: self._give(spare))
        else:
            loop.call_later(_LOOK, self._one_more, busy, long)

    def _give(self, worker: _Worker) -> None:
        while self._waiting:
            place = heapq.heappop(self._waiting)[2]
            if not place.done():
                place.set_result(worker)
                return
        self._idle.append(worker)

    def _release(self, worker: _Worker, done: asyncio.Future[Any]) -> None:
        failed = done.cancelled() or done.exception() is not None or done.result() is None
        waited_for = any(not place.done() for _, _, place in self._waiting)
        spare = len(self._all) > self._count and not waited_for
        if failed or spare or not worker.process.is_alive():
            worker.end()
            self._all.remove(worker)
            if spare:
                return
            worker = _Worker()
            self._all.append(worker)
        self._give(worker)

    def close(self) -> None:
        """End all processes."""
        for worker in self._all:
            worker.end()
        self._threads.shutdown(wait=False, cancel_futures=True)
