"""What a request may say: one table for reading it, for OpenAPI and for the limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.randomizers.catalogue import MECHANISMS
from shuffledp.errors import ParameterError

NAMES = [name for name in MECHANISMS if name != "channel"]
"""A channel is a file: the page reads none."""
_MOST_SYMBOLS = 4096
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
        if self.kind == "boolean":
            return {"type": "boolean"}
        limits = {} if self.most is None else {"maximum": self.most}
        return {"type": self.kind, "minimum": 0, **limits}

    def read(self, name: str, text: str) -> Any:
        """The value, or an error in words."""
        if len(text) > _LONGEST_VALUE:
            raise ParameterError(name, f"at most {_LONGEST_VALUE} characters", text[:20] + "…")
        if self.choices:
            if text not in self.choices:
                raise ParameterError(name, "one of " + ", ".join(self.choices), text)
            return text
        if self.kind == "boolean":
            if text not in ("true", "false"):
                raise ParameterError(name, "true or false", text)
            return text == "true"
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


MECHANISM = {
    "mechanism": Field("string", "Name of the randomizer; default ldp.", choices=tuple(NAMES)),
    "eps0": Field("number", "Local privacy budget of each user."),
    "delta0": Field("number", "Local delta, if approximate (ldp)."),
    "k": Field("integer", "Number of values (krr, rappor, oue, subset, ...).", _MOST_SYMBOLS),
    "g": Field("integer", "Hash range (olh).", _MOST_SYMBOLS),
    "d": Field("integer", "Subset size (subset).", _MOST_SYMBOLS),
    "levels": Field("integer", "Largest value (discrete-laplace).", _MOST_SYMBOLS),
    "sigma": Field("number", "Noise deviation (gaussian)."),
    "sensitivity": Field("number", "Largest distance of two values (gaussian)."),
    "scalar": Field("boolean", "Values are numbers, not vectors (gaussian)."),
    "check_in": Field("number", "Probability that a user reports."),
    "drawn": Field("integer", "Users drawn each round, without replacement.", 1e12),
    "rounds": Field("integer", "Rounds of reports by the same users.", 1e12),
}
CROWD = {
    "n": Field("integer", "Number of users.", 1e12),
    "colluders": Field("integer", "Users who tell the analyst their reports.", 1e12),
    "minimum_batch": Field("integer", "Fewest reports ever released together.", 1e12),
}
QUESTION = {
    "delta": Field("number", "Asks epsilon at this delta."),
    "epsilon": Field("number", "Asks delta at this epsilon."),
    "order": Field("number", "Asks the Rényi divergence of this order."),
    "alpha": Field("number", "Asks the smallest type II error at this type I error."),
}
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
    "find": Field("string", "Which parameter to find.", choices=("eps0", "n", "sigma")),
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
