"""The command line and the Python code that give the same number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.randomizers.catalogue import OFFERED, WRAPPERS
from shuffledp.interfaces.web.fields import CROWD, MECHANISM


def command_line(command: str, given: Mapping[str, Any], asked: Mapping[str, float]) -> str:
    """A line for the terminal."""
    words = ["shuffledp", command]
    for name in (*MECHANISM, *CROWD):
        value = given.get(name)
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False and (name, value) != ("mechanism", "ldp"):
            words += [f"--{name.replace('_', '-')}", _number(value)]
    for name, value in asked.items():
        words += [f"--{name}", _number(value)]
    return " ".join(words)


def snippet(given: Mapping[str, Any], asked: Mapping[str, float]) -> str:
    """Lines for Python; the last is the interval."""
    row = OFFERED[given.get("mechanism", "ldp")]
    name = row.build.__name__
    inside = [key for key in row.parameters if key in given]
    built = f"{name}({', '.join(f'{key}={_number(given[key])}' for key in inside)})"
    names = {name, "Shuffled"}
    for key, wrapper in WRAPPERS.items():
        if key in given:
            name, (_, argument) = wrapper.kind.__name__, wrapper.needs
            built = f"{name}({built}, {argument}={_number(given[key])})"
            names.add(name)
    crowd = ", ".join(f"{key}={_number(given[key])}" for key in CROWD if key in given)
    (question, value) = next(iter(asked.items()))
    return (
        f"from shuffledp import {', '.join(sorted(names))}\n\n"
        f"protocol = Shuffled({built}, {crowd})\n"
        f"print(protocol.{QUESTIONS[question]}({question}={_number(value)}))"
    )


def _number(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
