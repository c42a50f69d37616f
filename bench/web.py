"""Speed of the calculator's HTTP interface, on this machine.

    python bench/web.py [--json] [--users 100] [--questions 20] [--repeated 0.3]

Alone: one user moves sliders, every position new. For each endpoint the processor time of the server
and its workers per request, and the latency with nobody else there: neither depends on a queue.

Together: all users at once, each on a connection of its own, each asking its next question as soon as the
last is answered, without a pause to look at it. A question is what the page asks for its number,
`/api/account`, at a position of its sliders (any eps0-LDP randomizer, eps0 and n as the sliders step); ``repeated`` is
the share of questions that find one of 20 positions many look at. All others are new, so nothing
remembers them. Wants: no error, p99 <= 1 s on 2 cores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Figure, publish

TICK = 1000.0 / os.sysconf("SC_CLK_TCK")
ENDPOINTS = {
    "account": "",
    "curve delta": "&curve=delta&top=0.2",
    "curve users": "&curve=users",
    "curve tradeoff": "&curve=tradeoff",
    "bounds": "",
}
MECHANISMS = {"ldp": "", "krr": "&k=16", "laplace": ""}
ALONE = 5


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A server of its own: address and process."""
    command = [sys.executable, "-m", "shuffledp", "web", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        found = re.match(r"http://(\S+)/", server.stderr.readline())
        assert found
        for n in (10, 11, 12, 13):  # both workers start
            ask(http.client.HTTPConnection(found[1]), f"/api/account?eps0=1&n={n}&delta=0.1")
        yield found[1], server.pid
    finally:
        server.terminate()
        server.wait()


def ask(connection: http.client.HTTPConnection, path: str) -> dict[str, object]:
    connection.request("GET", path)
    reply = connection.getresponse()
    content = reply.read()
    if reply.status != 200:
        raise OSError(f"{reply.status} {content[:200]!r}")
    return json.loads(content)  # type: ignore[no-any-return]


def cpu(pid: int) -> float:
    """Milliseconds of processor time of a process and its children."""
    total = 0.0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) == pid or int(after[1]) == pid:
            total += TICK * (int(after[11]) + int(after[12]))
    return total


def position(chance: random.Random) -> str:
    """What the sliders can say: eps0 to three digits, n to two."""
    eps0 = float(f"{0.1 + 9.9 * chance.randrange(1001) / 1000:.3g}")
    n = int(float(f"{10 ** (1 + 8 * chance.randrange(1001) / 1000):.2g}"))
    return f"eps0={eps0}&n={n}&delta=1e-6"


def alone() -> list[dict[str, object]]:
    """Processor time and latency of each endpoint for one user."""
    rows: list[dict[str, object]] = []
    with serving() as (address, pid):
        connection = http.client.HTTPConnection(address)
        for mechanism, more in MECHANISMS.items():
            for name, rest in ENDPOINTS.items():
                chance, times, parts, refused = random.Random(1), [], 0, 0
                before = cpu(pid)
                for _ in range(ALONE):
                    path = f"/api/{name.split()[0]}?mechanism={mechanism}{more}&{position(chance)}{rest}"
                    began, start = time.perf_counter(), 0
                    while start is not None:
                        try:
                            part = ask(
                                connection, f"{path}&start={start}" if "curve" in name else path
                            )
                        except OSError:
                            refused += 1
                            print(path, file=sys.stderr)
                            break
                        start, parts = part.get("next"), parts + 1  # type: ignore[assignment]
                    times.append(1000.0 * (time.perf_counter() - began))
                rows.append(
                    {
                        "mechanism": mechanism,
                        "endpoint": name,
                        # what a worker had used goes with it when it is ended at its deadline
                        "cpu": "unknown" if refused else f"{(cpu(pid) - before) / ALONE:.0f} ms",
                        "latency_ms": sorted(times)[ALONE // 2],
                        "slowest_ms": max(times),
                        "requests": parts / ALONE,
                        "refused": refused,
                    }
                )
    return rows


def together(users: int, questions: int, repeated: float) -> dict[str, float]:
    """All users at once."""
    popular = [position(random.Random(1000 + i)) for i in range(20)]
    times: list[float] = []
    errors: list[str] = []

    def user(address: str, number: int) -> None:
        chance, connection = random.Random(number), http.client.HTTPConnection(address, timeout=60)
        for _ in range(questions):
            where = chance.choice(popular) if chance.random() < repeated else position(chance)
            start = time.perf_counter()
            try:
                ask(connection, f"/api/account?{where}")
            except OSError as error:
                errors.append(str(error))
                connection.close()
            times.append(time.perf_counter() - start)

    with serving() as (address, pid):
        before, began = cpu(pid), time.perf_counter()
        crowd = [threading.Thread(target=user, args=(address, i)) for i in range(users)]
        for each in crowd:
            each.start()
        for each in crowd:
            each.join()
        total, spent = time.perf_counter() - began, cpu(pid) - before
    ranked = sorted(times)
    return {
        "requests": len(times),
        "repeated": repeated,
        "errors": len(errors),
        "requests_per_second": len(times) / total,
        "cpu_ms_per_request": spent / len(times),
        "cores_used": spent / 1000.0 / total,
        "p50": ranked[len(ranked) // 2],
        "p99": ranked[int(0.99 * len(ranked))],
        "slowest": ranked[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--repeated", type=float, default=0.3)
    given = parser.parse_args()
    figures = [
        Figure(
            f"{row['endpoint']} of {row['mechanism']}, one user",
            None,
            float(str(row["latency_ms"])) / 1e3,
            note=f"{row['cpu']} of processor, slowest {row['slowest_ms']:.0f} ms,"
            f" {row['refused']} refused",
        )
        for row in alone()
    ]
    load = together(given.users, given.questions, given.repeated)
    figures.append(
        Figure(
            "account of ldp, 99th of 100; users at once",
            given.users,
            load["p99"],
            note=f"median {load['p50']:.2f} s, {load['requests_per_second']:.0f} per second,"
            f" {load['cpu_ms_per_request']:.0f} ms of processor, {load['errors']:.0f} errors",
        )
    )
    publish("The calculator over HTTP", figures)


if __name__ == "__main__":
    main()
