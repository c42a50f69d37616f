"""What a request may say: one table for reading it, for OpenAPI and for the limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import named
from shuffledp.accounting.protocols.crowds import NEIGHBOURS
from shuffledp.accounting.randomizers.catalogue import OFFERED, PARAMETERS, WRAPPERS, Parameter
from shuffledp.errors import ParameterError

_KINDS = {float: "number", int: "integer", bool: "boolean", str: "string"}
"""The page reads no files."""
NAMES = [
    name
    for name, row in OFFERED.items()
    if all(PARAMETERS[each].kind in _KINDS for each in row.parameters)
]
_CROWD = ["n", "check_in", "rounds", "colluders"]
_TRUSTED: dict[str, list[str]] = {"allocation": [], "minibatches": ["n"]}
"""What the page asks about users: of a trusted server hardly anything."""
OFFERS = {
    **{
        name: {
            "title": OFFERED[name].title,
            "needs": OFFERED[name].needs,
            "takes": [*OFFERED[name].takes, *["only_sums"] * (name in named.ADDED_UP)],
            "crowd": _CROWD,
        }
        for name in NAMES
    },
    **{
        name: {
            "title": row.title,
            "needs": [*row.needs],
            "takes": [*row.takes],
            "crowd": _TRUSTED.get(name, _CROWD),
        }
        for name, row in named.SHAPES.items()
    },
}
"""What the page lists."""
_MOST_SYMBOLS, _MOST_USERS = 4096, 1e12
_LONGEST_VALUE = 40


@dataclass(frozen=True)
class Field:
    """One query parameter; its range is what the request may cost, the engine checks the rest."""

    kind: str
    description: str
    most: float | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        if self.kind in ("boolean", "string"):
            return {"type": self.kind}
        limits = {} if self.most is None else {"maximum": self.most}
        return {"type": self.kind, "minimum": 0, **limits}

    def read(self, name: str, text: str) -> Any:
        """The value, or an error in words."""
        if len(text) > _LONGEST_VALUE:
            raise ParameterError(name, f"at most {_LONGEST_VALUE} characters", text[:20] + "…")
        if self.choices:
            return checks.one_of(name, text, self.choices)
        if self.kind == "boolean":
            if text not in ("true", "false"):
                raise ParameterError(name, "true or false", text)
            return text == "true"
        if self.kind == "string":
            return text
        condition = "a whole number" if self.kind == "integer" else "a number"
        try:
            number = float(text)
        except ValueError:
            raise ParameterError(name, condition, text) from None
        whole = self.kind == "integer"
        if not math.isfinite(number) or (whole and number != math.floor(number)):
            raise ParameterError(name, condition, text)
        if self.most is not None and number > self.most:
            raise ParameterError(name, f"at most {self.most:g}", text)
        return int(number) if whole else number


def _fields(table: Mapping[str, Parameter], most: float = _MOST_USERS) -> dict[str, Field]:
    """Numbers of a table of parameters, whole ones up to this size."""
    return {
        name: Field(_KINDS[each.kind], each.help(name), most if each.kind is int else None)
        for name, each in table.items()
        if each.kind in _KINDS
    }


MECHANISM = {
    "mechanism": Field("string", "Name of the randomizer; default ldp.", choices=tuple(OFFERS)),
    **_fields(PARAMETERS, _MOST_SYMBOLS),
    **_fields({name: PARAMETERS[name] for name in WRAPPERS}),
    **_fields(named.SHAPE),
    "neighbours": Field("string", named.SHAPE["neighbours"].words, choices=tuple(NEIGHBOURS)),
}
CROWD = _fields(named.CROWD)
QUESTION = _fields(named.QUESTION)
CURVE = {
    "curve": Field(
        "string",
        "What to sweep: the number of users, epsilon, or the type I error.",
        choices=("users", "delta", "tradeoff"),
    ),
    "top": Field("number", "Largest epsilon of the delta curve.", 1e3),
    "start": Field("integer", "Points already received; `next` of the last answer.", 1e3),
}
TARGET = {
    "find": Field("string", "Which parameter to find.", choices=("eps0", "n", "sigma", "noise")),
    "epsilon": Field("number", "Target epsilon."),
    "delta": Field("number", "Target delta."),
}


def read(fields: Mapping[str, Field], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """All parameters of a request; empty ones count as not given."""
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in fields:
            raise ParameterError(name[:_LONGEST_VALUE], "one of " + ", ".join(fields), text[:20])
        if name in values:
            raise ParameterError(name, "given once", text[:20])
        if text != "":
            values[name] = fields[name].read(name, text)
    return values
