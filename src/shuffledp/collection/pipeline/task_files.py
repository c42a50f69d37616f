"""Several questions about a table, in a file in TOML: one ``[[task]]`` for each."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shuffledp import checks
from shuffledp.collection.pipeline.job import DISTRIBUTION, TASKS, Job
from shuffledp.collection.pipeline.questionnaire import Question, Questionnaire
from shuffledp.errors import ParameterError

_Check = Callable[[object], bool]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


_KEYS: dict[str, tuple[str, _Check]] = {
    "task": ("a text", _text),
    "column": ("a text", _text),
    "columns": ("a list of texts", _texts),
    "categories": ("a list of texts", _texts),
    "other": ("a text", _text),
    "low": ("a number", _number),
    "high": ("a number", _number),
    "bins": ("a whole number", _whole),
    "windows": ("a whole number", _whole),
    "norm": ("a number", _number),
    "letters": ("a whole number", _whole),
    "most": ("a whole number", _whole),
    "mechanism": ("a text", _text),
    "weight": ("a number", _number),
    "messages": ("a whole number", _whole),
}
"""What a task may say, and how."""
_OF_NUMBERS = ("quantiles", "mean", *DISTRIBUTION, "vector")
_OF_TASK = {
    "categories": ("histogram",),
    "other": ("histogram",),
    "low": _OF_NUMBERS,
    "high": _OF_NUMBERS,
    "bins": ("quantiles", "mean,quantiles,histogram"),
    "windows": DISTRIBUTION,
    "norm": ("vector",),
    "messages": ("vector",),
    "columns": ("vector",),
    "letters": ("heavy-hitters",),
    "most": ("heavy-hitters",),
}
"""What only some tasks may say."""
_NEEDED = ("categories", "low", "high")


def questionnaire(tasks: str | Path, **promise: Any) -> Questionnaire:
    """The questions of a file, not calibrated yet.

    Parameters
    ----------
    tasks
        The file, in TOML: a ``[[task]]`` with ``task``, ``column`` (``columns`` of a vector), what
        the task needs (``categories``; ``low`` and ``high``), and, if wanted, ``other``, ``bins``,
        ``norm``, ``letters``, ``most``, ``mechanism``, ``weight``, ``messages`` (of a vector: how
        many a user may send; one for each column unless given).
    **promise
        What all of them share: n, users, epsilon, delta, bad_rows.

    Raises
    ------
    ParameterError
        If a task says what it may not, or leaves out what it needs; it names both.
    """
    listed = _read(tasks)
    return Questionnaire(tuple(_question(i, each, promise) for i, each in enumerate(listed, 1)))


def _read(tasks: str | Path) -> list[dict[str, Any]]:
    try:
        given = tomllib.loads(Path(tasks).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError("tasks", "a file that can be read", str(tasks)) from error
    except tomllib.TOMLDecodeError as error:
        raise ParameterError("tasks", f"a file in TOML ({error})", str(tasks)) from error
    for name in given:
        if name != "task":
            raise ParameterError("tasks", "a file of [[task]] and nothing else", name)
    listed = given.get("task")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ParameterError("tasks", "a file with at least one [[task]]", str(tasks))
    return listed


def _question(number: int, given: dict[str, Any], promise: dict[str, Any]) -> Question:
    def wrong(condition: str, value: object) -> ParameterError:
        return ParameterError("tasks", f"a file whose task {number} has {condition}", value)

    try:
        for name in given:
            checks.one_of("each key", name, _KEYS)
        kind = checks.one_of("'task'", given.get("task"), TASKS)
    except ParameterError as error:
        raise wrong(f"{error.parameter} {error.condition}", error.value) from None
    for name, value in given.items():
        said, holds = _KEYS[name]
        if not holds(value):
            raise wrong(f"{name!r} {said}", value)
        if kind not in _OF_TASK.get(name, (kind,)):
            raise wrong(f"{name!r} left out for {kind!r}", value)
    for name in _NEEDED:
        if name not in given and kind in _OF_TASK[name]:
            raise wrong(f"{name!r} given for {kind!r}", None)
    if ("column" in given) == ("columns" in given):
        raise wrong("'column' given, or 'columns' of a vector", None)
    given = dict(given)
    columns = tuple(given.pop("columns", ())) or (given.pop("column"),)
    if len(set(columns)) < len(columns):
        raise wrong("'columns' each given once", list(columns))
    weight = float(given.pop("weight", 1.0))
    limit = given.pop("messages", len(columns) if kind == "vector" else 1)
    given |= {name: float(given[name]) for name in ("low", "high", "norm") if name in given}
    known = tuple(given.pop("categories", ()))
    other = given.get("other", "")
    if other and other not in known:
        known = (*known, other)
    try:
        checks.positive("weight", weight)
        checks.whole("messages", limit, 1)
        settings = {"mechanism": "best", "categories": known, **given} | promise
        asked = Question(Job(columns=columns, **settings), weight, limit)
        asked.wanted.task.known(asked.asked.mechanism, "best")
    except ParameterError as error:
        if error.parameter in promise:
            raise
        raise wrong(f"{error.parameter!r} {error.condition}", error.value) from error
    return asked
