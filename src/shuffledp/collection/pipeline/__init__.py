"""From a table of users' values to estimates: encode, shuffle, analyze."""

from shuffledp.collection.pipeline.engines import Embedded, Engine
from shuffledp.collection.pipeline.job import TASKS, Job
from shuffledp.collection.pipeline.steps import (
    analyze,
    encode,
    run,
    shuffle,
    survey,
    write_estimate,
)

__all__ = [
    "TASKS",
    "Embedded",
    "Engine",
    "Job",
    "analyze",
    "encode",
    "run",
    "shuffle",
    "survey",
    "write_estimate",
]
