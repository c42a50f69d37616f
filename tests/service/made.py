"""Tasks, keys and reports for tests: small, and the same every time."""

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from shuffledp.collection.pipeline import Job
from shuffledp.service.sealing import PrivateKey, PublicKey
from shuffledp.service.task import Task

OPENS = 1_800_000_000
HOUR = 3600


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
