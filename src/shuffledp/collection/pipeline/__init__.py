"""From a table of users' values to estimates: encode, shuffle, analyze."""

from shuffledp.collection.pipeline.engines import Embedded, Engine
from shuffledp.collection.pipeline.job import TASKS, Job
from shuffledp.collection.pipeline.questionnaire import Question, Questionnaire
from shuffledp.collection.pipeline.steps import (
    analyze,
    encode,
    run,
    shuffle,
    survey,
    write_estimate,
    write_estimates,
)
from shuffledp.collection.pipeline.task_files import questionnaire

__all__ = [
    "TASKS",
    "Embedded",
    "Engine",
    "Job",
    "Question",
    "Questionnaire",
    "analyze",
    "encode",
    "questionnaire",
    "run",
    "shuffle",
    "survey",
    "write_estimate",
    "write_estimates",
]
