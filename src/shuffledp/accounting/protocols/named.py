"""Deployments and questions from named settings, as the command line and the page give them."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.accounting.protocols.shuffled import QUESTIONS, Shuffled
from shuffledp.accounting.randomizers import CheckIn, Randomizer, Repeated, Subsampled
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.errors import ParameterError


def randomizer(
    mechanism: str,
    check_in: float | None = None,
    drawn: int | None = None,
    rounds: int | None = None,
    **given: Any,
) -> Randomizer:
    """The randomizer the options describe."""
    built = build(mechanism, given)
    if check_in is not None:
        built = CheckIn(built, check_in)
    if drawn is not None:
        built = Subsampled(built, drawn)
    return built if rounds is None else Repeated(built, rounds)


def protocol(
    n: int | None, colluders: int | None, minimum_batch: int | None, **mechanism: Any
) -> Shuffled:
    """The protocol the options describe."""
    if n is None:
        raise ParameterError("n", "given", None)
    return Shuffled(randomizer(**mechanism), n, colluders or 0, minimum_batch)


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
