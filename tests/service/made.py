"""Tasks, keys and reports for tests: small, and the same every time."""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Job
from shuffledp.errors import BudgetExceededError
from shuffledp.service.batch import read_batch
from shuffledp.service.device import Device
from shuffledp.service.keys import KeyRing, write_private
from shuffledp.service.sealing import PrivateKey, PublicKey
from shuffledp.service.shuffler import Shuffler
from shuffledp.service.store import Store
from shuffledp.service.task import Task

OPENS = 1_800_000_000
HOUR = 3600
STREAM = simulation(11)


@cache
def key(name: str) -> PrivateKey:
    """For tests only: everybody can compute it."""
    return PrivateKey.from_raw(hashlib.sha256(f"test key {name}".encode()).digest())


@cache
def _job(task: str, mechanism: str, minimum: int, epsilon: float, **more: Any) -> Job:
    return Job(task, ("value",), minimum, epsilon, 1e-6, mechanism, **more).calibrated()


def make_task(
    mechanism: str = "krr",
    *,
    task: str = "histogram",
    minimum: int = 10,
    largest: int = 1000,
    epsilon: float = 2.0,
    shuffler: Sequence[PublicKey] | None = None,
    cohort: str = "people",
    title: str = "Which?",
    hours: int = 24,
    length: int | None = None,
    **more: Any,
) -> Task:
    """A task of four categories, or of numbers from 0 to 1."""
    if task == "histogram":
        more.setdefault("categories", ("A", "B", "C", "D"))
    return Task.create(
        _job(task, mechanism, minimum, epsilon, **more),
        title=title,
        largest=largest,
        opens=OPENS,
        expires=OPENS + hours * HOUR,
        precision=HOUR,
        analyst=key("analyst").public,
        shuffler=[key("shuffler").public] if shuffler is None else shuffler,
        cohort=cohort,
        length=length,
    )


class Purse:
    """Pays for so many batches, each once."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.paid_for: dict[bytes, bytes] = {}
        """Batches, and whose they are."""

    def afford(self, task: Task) -> None:
        """Says nothing: another process may be faster than whoever asks."""
        assert task.cohort == "people"

    def paid(self, task: Task) -> set[str]:
        return {batch.hex() for batch, owner in self.paid_for.items() if owner == task.id}

    def told(self, task: Task) -> str:
        return f"{len(self.paid_for)} of {self.limit}"

    def spend(self, task: Task, batch_id: bytes) -> None:
        if batch_id not in self.paid_for and len(self.paid_for) >= self.limit:
            raise BudgetExceededError("The purse is empty.")
        self.paid_for[batch_id] = task.id


class Clock:
    """Stands still unless told."""

    def __init__(self, now: float = OPENS) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_ring(folder: Path, *names: str) -> KeyRing:
    """A shuffler's keys; the last one is current."""
    listed = [
        {"public": key(name).public.raw.hex(), "state": "accepted"} for name in reversed(names)
    ]
    listed[0]["state"] = "current"
    if folder.exists():
        return KeyRing(folder)
    folder.mkdir()
    for name in names:
        write_private(folder / f"{key(name).public.id.hex()}.pem", key(name))
    (folder / "ring.json").write_text(json.dumps({"protocol": "shuffledp-keys-1", "keys": listed}))
    return KeyRing(folder)


def make_shuffler(folder: Path, store: Store, **more: Any) -> Shuffler:
    """With a clock that stands still at the opening of tasks, and a purse."""
    return Shuffler(
        store,
        more.pop("ring", None) or make_ring(folder / "keys", "shuffler"),
        folder / "outbox",
        more.pop("book", None) or Purse(),
        **{"clock": Clock(), "stream": simulation(5), **more},
    )


def records(task: Task, number: int, value: Any = "A", using: str = "shuffler") -> list[bytes]:
    """What so many devices send."""
    place = task.shuffler.index(key(using).public)
    return [Device(task, STREAM).report(value).record(place) for _ in range(number)]


def contents(path: Path) -> list[bytes]:
    """The reports in a batch as the analyst reads them, in order."""
    batch, blocks = read_batch(path)
    step, info = batch.task.format.inner, batch.task.format.inner_info
    return [
        key("analyst").open(block[start : start + step], info)
        for block in blocks
        for start in range(0, len(block), step)
    ]
