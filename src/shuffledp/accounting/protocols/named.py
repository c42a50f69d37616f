"""Deployments and questions from named settings, as the command line and the page give them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.central import CentralMinibatches, RandomAllocation
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.noise_families import DUMMIES, FAMILIES
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.rounds import Rounds
from shuffledp.accounting.protocols.shapes import Aggregated, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.protocols.smallest import (
    Goal,
    Smallest,
    dummies,
    laplace_dummies,
    noise_shares,
    noise_shares_of,
    paired_dummies,
    sample_threshold,
    split_and_mix,
    summed,
)
from shuffledp.accounting.protocols.split import SplitAndMix
from shuffledp.accounting.randomizers import KRR, Randomizer
from shuffledp.accounting.randomizers.catalogue import PARAMETERS, Parameter, build
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
        "Noise of each user (noise-share, split-and-mix, paired-dummies), or fake reports per"
        " value (dummies),"
        " such as poisson:rate=42.7",
    ),
    "messages": Parameter(
        int,
        "Messages of each user: of each sum (split-and-mix), or of a vector, shuffled separately"
        " and linked by nothing",
    ),
    "pairs": Parameter(str, "Pairs of messages for and against a value (paired-dummies)"),
    "modulus": Parameter(
        int, "Sums are taken modulo this, large enough unless given (split-and-mix)"
    ),
    "by_users": Parameter(bool, "Each user adds the dummies, not the shuffler (dummies)"),
    "rate": Parameter(float, "Probability that a user reports (sample-threshold)"),
    "threshold": Parameter(int, "Smallest count that is shown (sample-threshold)"),
    "spread": Parameter(
        int, "The threshold is drawn from itself to this much more (sample-threshold)"
    ),
    "steps": Parameter(int, "Steps of an epoch, of which an example joins k or one (allocation)"),
    "batch": Parameter(int, "Records in a batch of the shuffled data (minibatches)"),
    "epochs": Parameter(int, "Epochs (allocation, minibatches)"),
}
"""Of protocols whose analyst sees numbers, not reports."""


@dataclass(frozen=True)
class ShapeRow:
    """A mechanism that is such a protocol, for those who choose."""

    title: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]


SHAPES = {
    "noise-share": ShapeRow(
        "shares of noise, only sums released", ("noise",), ("k", "levels", "neighbours")
    ),
    "split-and-mix": ShapeRow(
        "numbers split into several messages",
        ("noise", "messages"),
        ("k", "levels", "modulus", "neighbours"),
    ),
    "sample-threshold": ShapeRow(
        "samples, small counts dropped", ("rate", "threshold"), ("spread", "neighbours")
    ),
    "dummies": ShapeRow(
        "true values among dummies", ("noise",), ("by_users", "k", "eps0", "neighbours")
    ),
    "paired-dummies": ShapeRow(
        "true values among dummies that cancel", ("noise", "pairs"), ("neighbours",)
    ),
    "allocation": ShapeRow(
        "central training, examples allocated to steps",
        ("sigma", "steps"),
        ("k", "epochs", "neighbours"),
    ),
    "minibatches": ShapeRow(
        "central training, shuffled batches", ("sigma", "batch"), ("epochs", "neighbours")
    ),
}
"""Mechanisms that are such protocols."""
ADDED_UP = ("rr", "rappor", "oue", "discrete-laplace")
"""Mechanisms whose reports can be summed."""
CENTRAL = ("allocation", "minibatches")
"""Those of a trusted server, whose rounds are epochs."""
_SUMMED = (
    "rr, rappor, oue, discrete-laplace or noise-share where only sums are released, without"
    " --check-in or --drawn"
)
Deployment = Shuffled | Counted | Rounds
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


def out_of_place(name: str) -> str:
    """When a parameter of such protocols is left out, in words."""
    takers = [each for each, row in SHAPES.items() if name in (*row.needs, *row.takes)]
    if not takers or name == "neighbours":
        takers = ["one whose analyst sees counts only (or --only-sums is given)"]
    return f"left out unless the mechanism is {' or '.join(takers)}"


def deployment(
    mechanism: str, only_sums: bool | None = None, rounds: int | None = None, **given: Any
) -> Deployment:
    """As ``protocol``, or one whose analyst sees numbers only."""
    shape = {name: given.pop(name, None) for name in SHAPE if name != "only_sums"}
    if mechanism not in SHAPES and not only_sums:
        messages = shape.pop("messages")
        for name, value in shape.items():
            if value is not None:
                raise ParameterError(name, out_of_place(name), value)
        once = protocol(mechanism=mechanism, rounds=rounds, **given)
        return once if messages is None else once ** checks.count("messages", messages)
    epochs = shape.pop("epochs")
    if epochs is not None and (rounds is not None or mechanism not in CENTRAL):
        other = (
            "--rounds" if rounds is not None else "a mechanism other than allocation, minibatches"
        )
        raise ParameterError("epochs", f"left out with {other}", epochs)
    made = _counted(mechanism, shape, given)
    times = rounds if epochs is None else checks.count("epochs", epochs)
    return made if times is None else Rounds([(made, times)])


@contextmanager
def _named_as_mechanism() -> Iterator[None]:
    """Errors about the randomizer are about the mechanism that was asked for."""
    try:
        yield
    except ParameterError as error:
        if error.parameter != "randomizer":
            raise
        raise ParameterError("mechanism", _SUMMED, error.value) from None


class _Given:
    """Parameters of which each is used or refused."""

    def __init__(self, mechanism: str, given: dict[str, Any]) -> None:
        self.mechanism = mechanism
        self.left = {name: value for name, value in given.items() if value is not None}

    def taken(self, *names: str, needed: bool = False) -> dict[str, Any]:
        """Those of these that are there."""
        for name in names:
            if needed and name not in self.left:
                raise ParameterError(name, f"given for {self.mechanism!r}", None)
        return {name: self.left.pop(name) for name in names if name in self.left}

    def done(self) -> None:
        """Refuse what nobody took."""
        for name, value in self.left.items():
            raise ParameterError(name, f"left out for {self.mechanism!r}", value)


def smallest(
    mechanism: str,
    *,
    epsilon: float,
    delta: float,
    only_sums: bool | None = None,
    **given: Any,
) -> Smallest:
    """The least noise, or the largest budget, of a protocol whose analyst sees numbers only."""
    if mechanism in CENTRAL:
        raise ParameterError("mechanism", "one that users run, or allocation", mechanism)
    known = _Given(mechanism, given)
    goal = Goal(epsilon, delta, **known.taken("rounds"))
    if mechanism == "sample-threshold":
        found = sample_threshold(goal, **known.taken("rate", needed=True), **known.taken("n"))
    elif mechanism == "dummies":
        found = _fewest_dummies(goal, known)
    elif mechanism == "paired-dummies":
        found = paired_dummies(goal, **known.taken("n", needed=True), **known.taken("colluders"))
    elif mechanism in SHAPES:
        who = known.taken("n", needed=True) | known.taken("k", "levels", "colluders")
        law = known.taken("noise").get("noise", "polya") if mechanism == "noise-share" else "polya"
        if checks.one_of("noise", law, ("polya", *FAMILIES)) != "polya":
            found = noise_shares_of(goal, family=law, **who)
        else:
            find = noise_shares if mechanism == "noise-share" else split_and_mix
            found = find(goal, **who)
    else:
        who = known.taken("n", needed=True) | known.taken("neighbours", "colluders")
        kept = known.taken(*PARAMETERS)

        def family(eps0: float) -> Randomizer:
            return build(mechanism, eps0=eps0, **kept)

        with _named_as_mechanism():
            found = summed(goal, family=family, **who)
    known.done()
    return found


def _fewest_dummies(goal: Goal, known: _Given) -> Smallest:
    law = known.taken("noise").get("noise", "poisson")
    who = known.taken("n", needed=True) | known.taken("colluders")
    if checks.one_of("noise", law, (*DUMMIES, "truncated-laplace")) == "truncated-laplace":
        return laplace_dummies(goal, **who)
    who |= known.taken("by_users")
    if "eps0" in known.left:
        who["randomizer"] = KRR(**known.taken("k", needed=True), **known.taken("eps0"))
    return dummies(goal, family=law, **who)


def _counted(mechanism: str, shape: dict[str, Any], given: dict[str, Any]) -> Counted:
    """The protocol, of parameters of which each is used or refused."""
    known_names = _Given(mechanism, shape | given)
    left, taken = known_names.left, known_names.taken

    def crowd() -> dict[str, Any]:
        return taken("n", needed=True) | taken("neighbours", "colluders", "minimum_batch")

    made: Counted
    if mechanism == "sample-threshold":
        sampled = taken("rate", "threshold", needed=True) | taken("spread", "n", "neighbours")
        made = SampleThreshold(**sampled)
    elif mechanism == "allocation":
        made = RandomAllocation(**taken("sigma", "steps", needed=True), **taken("k", "neighbours"))
    elif mechanism == "minibatches":
        noise_multiplier = taken("sigma", needed=True)["sigma"]
        records = taken("batch", "n", needed=True)
        made = CentralMinibatches(noise_multiplier, **records, **taken("neighbours"))
    elif mechanism == "paired-dummies":
        laws = {name: noise(text) for name, text in taken("noise", "pairs", needed=True).items()}
        made = PairedDummies(**laws, **crowd())  # type: ignore[arg-type]
    elif mechanism == "dummies":
        drawn = noise(**taken("noise", needed=True))
        who = crowd() | taken("by_users")
        if "eps0" in left:
            who["randomizer"] = KRR(**taken("k", needed=True), **taken("eps0"))
        made = WithDummies(drawn, **who)
    elif mechanism in ("noise-share", "split-and-mix"):
        share = NoiseShare(noise(**taken("noise", needed=True)), **taken("k", "levels"))
        if mechanism == "noise-share":
            made = Aggregated(share, **crowd())
        else:
            split = taken("messages", needed=True) | taken("modulus")
            made = SplitAndMix(share, **crowd(), **split)
    else:
        known = crowd()
        kept = {name: left.pop(name) for name in list(left) if name in given}
        with _named_as_mechanism():
            made = Aggregated(build(mechanism, **kept), **known)
    known_names.done()
    return made


def settings(deployment: Deployment) -> dict[str, Any]:
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
        parts = [each for each, _ in deployment.entries]
        changes = {each.neighbours for each in parts if isinstance(each, Counted)}
        told = {"neighbours": changes.pop()} if len(changes) == 1 else {}
        return {"rounds": deployment.count} | told
    local = deployment.eps0
    return {
        "n": deployment.n,
        "neighbours": deployment.neighbours,
        "eps0": local if math.isfinite(local) else None,
    }


_ANSWERS = {
    "delta": "to learn epsilon",
    "epsilon": "to learn delta",
    "order": "a Rényi divergence",
    "alpha": "a type II error",
}


def question(**given: float | None) -> dict[str, float]:
    """The one question asked."""
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1:
        raise ParameterError(
            "question",
            "exactly one of " + ", ".join(f"--{name} ({_ANSWERS[name]})" for name in QUESTIONS),
            " and ".join(f"--{name}" for name in asked) or "none of them",
        )
    return asked
