"""Speed of the shuffler service on this machine: one core for the server, the others for the devices.

    python bench/service.py [--json] [--reports 40000] [--largest 1000000] [--store postgresql://...] [--parts LIST]

singles    every report in a request of its own, on 256 connections: each is on the disk before it is answered.
           First as many as there can be, then 3,300 a second, timed from the moment each is due.
batched    a hundred reports to a request; then 8,800 a second.
overload   four times as many as were stored before, whether or not anybody answers: refused with 429 and
           Retry-After (timed from when each is due), within bounded memory; what was accepted, and nothing else, is in the batch released
           afterwards. Then new ones, as before.
release    batches of 10^5, 10^6, ... reports: time, and the largest memory the process ever had.

Every rate stands beside that of an empty handler in the same run: the same HTTP server, which reads the
body and answers. Rates per second of processor time do not depend on who else uses the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from figures import Figure, publish
from load import Load, drive

from shuffledp.collection.pipeline import Job
from shuffledp.ledger import Ledger
from shuffledp.service.batch import read_batch
from shuffledp.service.client import Client
from shuffledp.service.keys import KeyRing
from shuffledp.service.sealing import PrivateKey
from shuffledp.service.server.settings import Settings
from shuffledp.service.shuffler import LedgerBook, Shuffler
from shuffledp.service.store import open_store, tables
from shuffledp.service.task import Task
from shuffledp.service.wire import MEDIA_REPORTS

TICK = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
SINGLES, BATCHED, CROWD = 256, 16, 900
"""Connections."""
TOGETHER = 100
"""Reports to a request, where there are several."""
GOALS = {1: 3000.0, TOGETHER: 8000.0}
"""Reports per second that one core must store, alone or so many together, for as long as they come."""
OFFERED = 1.1
"""Times the goal: until the last answer there are a little fewer per second than are sent."""
EMPTY = """
import sys, uvicorn
from shuffledp.service.server.connections import connection_class
ANSWER = {"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"0")]}
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send(ANSWER)
    await send({"type": "http.response.body"})
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}", file=sys.stderr, flush=True)
Server(uvicorn.Config(app, port=0, loop="uvloop", http=connection_class(1000, 10.0), ws="none",
    lifespan="off", access_log=False, log_level="error")).run()
"""


@dataclass(frozen=True)
class Server:
    """A process of its own, on the first core."""

    port: int
    pid: int

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        after = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after[11]) + int(after[12])) / TICK

    def memory(self, what: str = "VmRSS") -> float:
        """MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(f"{what}:")[2].split()[0]) / 1024


@contextmanager
def running(*command: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, *command],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, CORES[:1]),
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", line)
        assert found, line + process.stderr.read()
        yield Server(int(found[1]), process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=60)


class Place:
    """A folder with everything a shuffler needs, and a task."""

    def __init__(self, folder: Path, store: str | None, minimum: int) -> None:
        self.analyst = PrivateKey.generate()
        self.config = folder / "shuffler.toml"
        where = "shuffler.db" if store is None else store
        self.config.write_text(f'listen = "127.0.0.1:0"\nstore = "{where}"\n')
        self.settings = Settings.read(self.config, {})
        self.settings.make_token()
        self.key = KeyRing(self.settings.keys).rotate()
        ledger = Ledger.open(self.settings.ledger)
        ledger.create("devices", "1000", "0.5")
        job = Job("histogram", ("value",), minimum, 1.0, 1e-6, "krr", categories=tuple("ABCDEFGH"))
        now = int(time.time()) // 3600 * 3600
        self.task = Task.create(
            job.calibrated(),
            title="Which?",
            largest=10**9,
            opens=now,
            expires=now + 86400,
            precision=3600,
            analyst=self.analyst.public,
            shuffler=[self.key],
            cohort="devices",
        )
        self.shuffler().open_task(self.task.document)

    def shuffler(self) -> Shuffler:
        return Shuffler(
            open_store(self.settings.store),
            KeyRing(self.settings.keys),
            self.settings.outbox,
            LedgerBook(Ledger.open(self.settings.ledger)),
        )

    def requests(self, reports: int, together: int, start: int = 0) -> list[bytes]:
        """Uploads, ready to be sent; the content of each report is its number."""
        form, path = self.task.format, f"/v1/tasks/{self.task.id.hex()}/reports"
        made = []
        for first in range(start, start + reports, together):
            body = b"".join(
                form.seal(number.to_bytes(form.length), os.urandom(16), self.key)
                for number in range(first, first + together)
            )
            head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: {MEDIA_REPORTS}\r\nContent-Length: {len(body)}\r\n\r\n"
            made.append(head.encode() + body)
        return made

    def numbers(self, batch: Path) -> list[int]:
        """What is in a batch."""
        form, found = self.task.format, []
        for block in read_batch(batch)[1]:
            for at in range(0, len(block), form.inner):
                report = self.analyst.open(block[at : at + form.inner], form.inner_info)
                found.append(int.from_bytes(report))
        return found


@contextmanager
def place(store: str | None, minimum: int = 1000) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="shuffledp-bench-") as folder:
        yield Place(Path(folder), store, minimum)


@contextmanager
def serving(mine: Place) -> Iterator[Server]:
    with running("-m", "shuffledp", "shuffler", "serve", "--config", str(mine.config)) as server:
        with Client(f"http://127.0.0.1:{server.port}") as client:
            client.task(mine.task.id)  # computes its guarantee
        yield server


def measured(
    server: Server, requests: list[bytes], connections: int, together: int
) -> tuple[Load, dict[str, float]]:
    before = server.cpu()
    load = drive(server.port, requests, connections)
    assert set(load.statuses) == {201}, set(load.statuses)
    reports = together * len(requests)
    return load, {
        "reports_per_second": reports / load.lasted,
        "reports_per_cpu_second": reports / max(server.cpu() - before, 1 / TICK),
        "p50_ms": 1000 * load.share(0.5),
        "p99_ms": 1000 * load.share(0.99),
    }


def uploads(reports: int, store: str | None, together: int) -> dict[str, float]:
    """Durable, beside an empty handler."""
    connections = SINGLES if together == 1 else BATCHED
    with place(store) as mine:
        requests = mine.requests(reports, together)
        warm = mine.requests(20 * together, together, start=reports)
        with running("-c", EMPTY) as server:
            drive(server.port, warm, 4)
            _, empty = measured(server, requests, connections, together)
        with serving(mine) as server:
            drive(server.port, warm, 4)
            half = len(requests) // 2
            _, found = measured(server, requests[:half], connections, together)
            steady = drive(
                server.port, requests[half:], connections, OFFERED * GOALS[together] / together
            )
            found["steady_per_second"] = together * (len(requests) - half) / steady.lasted
            found["steady_p99_ms"] = 1000 * steady.share(0.99)
            found["memory_mib"] = server.memory("VmHWM")
    found["empty_per_cpu_second"] = empty["reports_per_cpu_second"]
    return found


def overload(reports: int, store: str | None, times: float = 4.0) -> dict[str, float]:
    """More than fits, for a while; then as before."""
    with place(store) as mine:
        requests = mine.requests(reports, TOGETHER)
        third = len(requests) // 3
        with serving(mine) as server:
            drive(server.port, requests[:20], 4)
            _, before = measured(server, requests[20:third], BATCHED, TOGETHER)
            calm = server.memory("VmHWM")
            rate = times * before["reports_per_second"] / TOGETHER
            places = [third + i % third for i in range(int(15 * rate))]
            crowd = drive(server.port, [requests[place] for place in places], CROWD, rate)
            worst = server.memory("VmHWM")
            _, after = measured(server, requests[2 * third :], BATCHED, TOGETHER)
        (released,) = mine.shuffler().release(mine.task.id)
        inside = mine.numbers(released.path)
    stored = {places[number] for number in crowd.accepted}
    stored |= set(range(third)) | set(range(2 * third, len(requests)))
    accepted = [TOGETHER * place + each for place in stored for each in range(TOGETHER)]
    assert set(crowd.statuses) <= {201, 429}, set(crowd.statuses)
    refused = crowd.statuses.count(429)
    assert refused
    assert crowd.retry_after == refused
    assert sorted(inside) == sorted(accepted), "a report was lost, or entered twice"
    return {
        "offered_per_second": TOGETHER * len(places) / crowd.sending,
        "stored_per_second": TOGETHER * len(crowd.accepted) / crowd.lasted,
        "refused_429": refused / len(places),
        "p99_ms": 1000 * crowd.share(0.99),
        "p99_of_refusals_ms": 1000 * crowd.share(0.99, 429),
        "memory_before_mib": calm,
        "memory_mib": worst,
        "times": TOGETHER * len(places) / crowd.sending / before["reports_per_second"],
        "rate_after": after["reports_per_second"] / before["reports_per_second"],
        "work_after": after["reports_per_cpu_second"] / before["reports_per_cpu_second"],
    }


def releases(largest: int, store: str | None) -> list[dict[str, float]]:
    """Batches of growing size, each in a process of its own."""
    rows = []
    size = min(10**5, largest)
    while size <= largest:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            rows.append(alone.submit(one_release, size, store).result())
        size *= 10
    return rows


def one_release(size: int, store: str | None) -> dict[str, float]:
    with place(store, minimum=size) as mine:
        shuffler = mine.shuffler()
        fill(shuffler, mine.task, size)
        me, start = Server(0, os.getpid()), time.perf_counter()
        before, calm = me.cpu(), me.memory("VmHWM")
        (released,) = shuffler.release(mine.task.id)
        assert released.reports == size
        assert read_batch(released.path)[0].reports == size
        return {
            "reports": size,
            "seconds": time.perf_counter() - start,
            "cpu_seconds": me.cpu() - before,
            "memory_before_mib": calm,
            "memory_mib": me.memory("VmHWM"),
        }


def fill(shuffler: Shuffler, task: Task, size: int) -> None:
    """Reports that wait, 500 to a row as they come; their names, which no release reads, are left out."""
    width, (stored,) = task.format.inner, shuffler.store.tasks()
    left = size
    while left:
        with shuffler.store.transaction(kept=True) as execute:
            for _ in range(200):
                some = min(left, 500)
                if some:
                    sql = tables.ADD_CHUNK.format(number=stored.epoch)
                    execute(sql, os.urandom(8), some, os.urandom(width * some))
                    execute(tables.GROW_EPOCH, some, stored.epoch)
                    execute(tables.ADD_WAITING, some, stored.number)
                    left -= some


def shown(part: str, size: int, found: dict[str, float]) -> Figure:
    """Processor time of one report, beside that of the empty handler."""
    return Figure(
        f"{part}: a report stored",
        size,
        1.0 / found["reports_per_cpu_second"],
        beside="empty handler",
        theirs=1.0 / found["empty_per_cpu_second"],
        note=f"{found['reports_per_second']:,.0f} per second at most on one core (p99"
        f" {found['p99_ms']:.0f} ms); p99 {found['steady_p99_ms']:.0f} ms at"
        f" {found['steady_per_second']:,.0f} per second; {found['memory_mib']:.0f} MiB",
    )


def shown_overload(size: int, found: dict[str, float]) -> Figure:
    return Figure(
        f"overload: {found['times']:.1f} times as much as is stored",
        size,
        1.0 / found["stored_per_second"],
        note=f"{found['refused_429']:.0%} refused with 429 and Retry-After (p99"
        f" {found['p99_of_refusals_ms']:.0f} ms), {found['memory_mib']:.0f} MiB"
        f" ({found['memory_before_mib']:.0f} before), nothing accepted lost, afterwards"
        f" {found['rate_after']:.2f} of the rate before ({found['work_after']:.2f} by processor time)",
    )


def shown_release(row: dict[str, float]) -> Figure:
    return Figure(
        "release: a batch permuted, written, deleted",
        row["reports"],
        row["seconds"],
        note=f"{row['cpu_seconds']:.1f} s of processor, at most {row['memory_mib']:.0f} MiB"
        f" ({row['memory_before_mib']:.0f} before)",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--reports", type=int, default=40_000)
    parser.add_argument("--largest", type=float, default=1e6)
    parser.add_argument("--store")
    parser.add_argument("--parts", default="singles,batched,overload,release")
    given = parser.parse_args()
    os.sched_setaffinity(0, CORES[1:] or CORES)
    figures = []
    for part in given.parts.split(","):
        if part == "release":
            figures += map(shown_release, releases(int(given.largest), given.store))
        elif part == "overload":
            figures.append(shown_overload(given.reports, overload(given.reports, given.store)))
        else:
            together = {"singles": 1, "batched": TOGETHER}[part]
            found = uploads(given.reports, given.store, together)
            figures.append(shown(part, given.reports, found))
    publish("The shuffler service", figures)


if __name__ == "__main__":
    main()
