"""Deployments and questions from named settings, as the command line and the page give them."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers.catalogue import Parameter, build
from shuffledp.errors import ParameterError

CROWD = {
    "n": Parameter(int, "Number of users"),
    "colluders": Parameter(int, "Users who tell the analyst their reports"),
    "minimum_batch": Parameter(int, "Fewest reports ever released together"),
}
QUESTION = {
    "delta": Parameter(float, "Asks epsilon at this delta"),
    "epsilon": Parameter(float, "Asks delta at this epsilon"),
    "order": Parameter(float, "Asks the Rényi divergence of this order"),
    "alpha": Parameter(float, "Asks the smallest type II error at this type I error"),
}


def protocol(
    n: int | None, colluders: int | None = None, minimum_batch: int | None = None, **mechanism: Any
) -> Shuffled:
    """The protocol the options describe."""
    if n is None:
        raise ParameterError("n", "given", None)
    return Shuffled(build(**mechanism), n, colluders or 0, minimum_batch)


def settings(deployment: Shuffled) -> dict[str, Any]:
    """What was asked about, for JSON output."""
    eps0 = deployment.eps0
    return {
        "n": deployment.n,
        "crowd": deployment.crowd,
        "mechanism": str(deployment.randomizer),
        "eps0": eps0 if math.isfinite(eps0) else None,
    }


def question(**given: float | None) -> dict[str, float]:
    """The one question asked."""
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1:
        raise ParameterError(
            "question",
            "exactly one of " + ", ".join(f"--{name}" for name in QUESTIONS),
            sorted(asked),
        )
    return asked
