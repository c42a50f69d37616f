"""The command line and the Python code that give the same number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from shuffledp.accounting.protocols import Rounds, Shuffled
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.named import Deployment
from shuffledp.accounting.randomizers.catalogue import OFFERED, WRAPPERS
from shuffledp.interfaces.web.fields import CROWD, MECHANISM

_NAME = re.compile(r"\b([A-Z]\w*)\(")


def command_line(command: str, given: Mapping[str, Any], asked: Mapping[str, float]) -> str:
    """A line for the terminal."""
    words = ["shuffledp", command]
    for name in (*MECHANISM, *CROWD):
        value = given.get(name)
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False and (name, value) != ("mechanism", "ldp"):
            words += [f"--{name.replace('_', '-')}", _number(value)]
    for name, value in asked.items():
        words += [f"--{name}", _number(value)]
    return " ".join(words)


def snippet(given: Mapping[str, Any], asked: Mapping[str, float], deployment: Deployment) -> str:
    """Lines for Python; the last is the interval."""
    if not isinstance(deployment, Shuffled):
        return _released(deployment, asked)
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
    return _asking(names, f"Shuffled({built}, {crowd})", asked)


def _released(deployment: Deployment, asked: Mapping[str, float]) -> str:
    """Of a protocol whose analyst sees numbers: as it is written, field by field."""
    times = ""
    if isinstance(deployment, Rounds):
        ((protocol, count),) = deployment.entries
        written, times = _written(protocol), f" ** {count}"
    else:
        written = _written(deployment)
    return _asking(set(_NAME.findall(written)), written + times, asked)


def _written(value: Any) -> str:
    """A value of ours as code, without what need not be said."""
    if not is_dataclass(value):
        return repr(value)
    said = [
        each for each in fields(value) if each.init and getattr(value, each.name) != each.default
    ]
    inside = (f"{each.name}={_written(getattr(value, each.name))}" for each in said)
    return f"{type(value).__name__}({', '.join(inside)})"


def _asking(names: set[str], written: str, asked: Mapping[str, float]) -> str:
    (question, value) = next(iter(asked.items()))
    return (
        f"from shuffledp import {', '.join(sorted(names))}\n\n"
        f"protocol = {written}\n"
        f"print(protocol.{QUESTIONS[question]}({question}={_number(value)}))"
    )


def _number(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
