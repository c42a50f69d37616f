"""Deployments and questions from named settings, as the command line and the page give them."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.accounting.protocols.shapes import Aggregated, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers.catalogue import Parameter, build
from shuffledp.accounting.randomizers.noise import NoiseShare, noise
from shuffledp.errors import ParameterError

CROWD = {
    "n": Parameter(int, "Number of users"),
    "colluders": Parameter(int, "Users who tell the analyst their reports"),
    "minimum_batch": Parameter(int, "Fewest reports ever released together"),
}
SHAPE = {
    "only_sums": Parameter(bool, "Only the sum of all reports is released (secure aggregation)"),
    "neighbours": Parameter(str, "What may change: 'replace' a user's value, or 'remove' it"),
    "noise": Parameter(
        str,
        "Noise of each user (noise-share), or fake reports per value (dummies), such as"
        " poisson:rate=42.7",
    ),
    "by_users": Parameter(bool, "Each user adds the dummies, not the shuffler (dummies)"),
    "rate": Parameter(float, "Probability that a user reports (sample-threshold)"),
    "threshold": Parameter(int, "Smallest count that is shown (sample-threshold)"),
    "spread": Parameter(
        int, "The threshold is drawn from itself to this much more (sample-threshold)"
    ),
}
"""Of protocols whose analyst sees numbers, not reports."""
SHAPES = ("noise-share", "sample-threshold", "dummies")
"""Mechanisms that are such protocols."""
_SUMMED = (
    "rr, rappor, oue, discrete-laplace or noise-share where only sums are released, without"
    " --check-in or --drawn"
)
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


def deployment(
    mechanism: str, only_sums: bool | None = None, rounds: int | None = None, **given: Any
) -> Shuffled | Counted | Rounds:
    """As ``protocol``, or one whose analyst sees numbers only."""
    shape = {name: given.pop(name, None) for name in SHAPE if name != "only_sums"}
    if mechanism not in SHAPES and not only_sums:
        for name, value in shape.items():
            if value is not None:
                raise ParameterError(
                    name, "left out unless --only-sums or a mechanism that counts is given", value
                )
        return protocol(mechanism=mechanism, rounds=rounds, **given)
    made = _counted(mechanism, shape, given)
    return made if rounds is None else Rounds([(made, rounds)])


def _counted(mechanism: str, shape: dict[str, Any], given: dict[str, Any]) -> Counted:
    """The protocol, of parameters of which each is used or refused."""
    left = {name: value for name, value in (shape | given).items() if value is not None}

    def taken(*names: str, needed: bool = False) -> dict[str, Any]:
        for name in names:
            if needed and name not in left:
                raise ParameterError(name, f"given for {mechanism!r}", None)
        return {name: left.pop(name) for name in names if name in left}

    def crowd() -> dict[str, Any]:
        return taken("n", needed=True) | taken("neighbours", "colluders", "minimum_batch")

    made: Counted
    if mechanism == "sample-threshold":
        sampled = taken("rate", "threshold", needed=True) | taken("spread", "n", "neighbours")
        made = SampleThreshold(**sampled)
    elif mechanism == "dummies":
        drawn = noise(**taken("noise", needed=True))
        made = WithDummies(drawn, **crowd(), **taken("by_users"))
    elif mechanism == "noise-share":
        share = NoiseShare(noise(**taken("noise", needed=True)), **taken("k", "levels"))
        made = Aggregated(share, **crowd())
    else:
        known = crowd()
        kept = {name: left.pop(name) for name in list(left) if name in given}
        try:
            made = Aggregated(build(mechanism, **kept), **known)
        except ParameterError as error:
            if error.parameter != "randomizer":
                raise
            raise ParameterError("mechanism", _SUMMED, error.value) from None
    for name, value in left.items():
        raise ParameterError(name, f"left out for {mechanism!r}", value)
    return made


def settings(deployment: Shuffled | Counted | Rounds) -> dict[str, Any]:
    """What was asked about, for JSON output."""
    if not isinstance(deployment, Shuffled):
        return {"protocol": str(deployment)} | _counts(deployment)
    eps0 = deployment.eps0
    return {
        "n": deployment.n,
        "crowd": deployment.crowd,
        "mechanism": str(deployment.randomizer),
        "eps0": eps0 if math.isfinite(eps0) else None,
    }


def _counts(deployment: Counted | Rounds) -> dict[str, Any]:
    if isinstance(deployment, Rounds):
        return {"rounds": deployment.count}
    local = deployment.eps0
    return {
        "n": deployment.n,
        "neighbours": deployment.neighbours,
        "eps0": local if math.isfinite(local) else None,
    }


def question(**given: float | None) -> dict[str, float]:
    """The one question asked."""
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1:
        raise ParameterError(
            "question",
            "exactly one of " + ", ".join(f"--{name}" for name in QUESTIONS),
            " and ".join(f"--{name}" for name in asked) or "none of them",
        )
    return asked
