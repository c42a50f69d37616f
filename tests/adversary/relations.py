"""Deployments of any size, compared with each other: the truth falls or rises, so must intervals.

Where ``more`` leaks at least as much as ``less``, what ``less`` is said to leak at least cannot
exceed what ``more`` is said to leak at most.
"""

from __future__ import annotations

import math
import random
import warnings
from dataclasses import dataclass

from shuffledp import ShuffleDPError
from shuffledp.errors import InternalError
from tests.adversary import shapes
from tests.adversary.deployments import Case, Spec, call, eps0, mechanism, question, rate
from tests.adversary.judge import Fault, ask, build, crash

ORDERED = {
    "LDP", "KRR", "BinaryRR", "OneBitMean", "Laplace", "TruncatedLaplace", "DiscreteLaplace",
    "HadamardResponse",
}  # fmt: skip
"""Mechanisms whose reports at a smaller eps0 are reports at a larger one with noise added."""


@dataclass(frozen=True)
class Relation:
    """Two questions of the same kind; the second has the larger truth."""

    less: Case
    more: Case

    def __str__(self) -> str:
        return f"{self.less} against {self.more}"


def _size(rng: random.Random, patience: float) -> int:
    large = [10**4, 10**6, 10**9, 10**12] if rng.random() < 0.2 + patience else []
    return rng.choice([1, 2, 3, 10, 100, 1000, *large])


def shaped_relation(rng: random.Random, patience: float) -> Relation:
    """A shape of any size, and the same of fewer users, with colluders, or asked otherwise."""
    deployment = shapes.shape(rng, 0.0)
    if deployment.name == "SampleThreshold":
        n = rng.choice([2, 5, 100])
        deployment = deployment.but(n=n)
    else:
        n = rng.choice([3, 10, 100, 1000])
        deployment = deployment.but(n=n, minimum_batch=None, colluders=0)
        if deployment.name == "SplitAndMix":
            deployment = deployment.but(messages=rng.randint(3, 8), modulus=4 * n + 1)
    patience = 0.0 if shapes.endless(deployment) else patience
    given, value = question(rng, deployment, patience)
    case = Case(deployment, given, value)
    ways = ["question", "users", "colluders"]
    way = rng.choice(ways[:1] if deployment.name == "SampleThreshold" else ways)
    if way == "colluders":
        return Relation(case, Case(deployment.but(colluders=rng.randint(0, n - 1)), given, value))
    if way == "users":
        return Relation(case, Case(deployment.but(n=rng.randint(1, n)), given, value))
    return _asked_otherwise(rng, deployment, given, value)


def relation(rng: random.Random, patience: float) -> Relation:
    """A random deployment, and one that must leak more."""
    spec, n = mechanism(rng, patience), _size(rng, patience)
    deployment = call("Shuffled", randomizer=spec, n=n)
    given, value = question(rng, deployment, patience)
    case = Case(deployment, given, value)
    ways = ["users", "colluders", "question"]
    if spec.name in ORDERED:
        ways.append("budget")
    if spec.name == "CheckIn":
        ways.append("rate")
    way = rng.choice(ways)
    if way == "users":
        fewer = rng.randint(1, n)
        return Relation(case, Case(deployment.but(n=fewer), given, value))
    if way == "colluders":
        return Relation(case, Case(deployment.but(colluders=rng.randint(0, n - 1)), given, value))
    if way == "budget":
        low, high = sorted([spec["eps0"], eps0(rng, 99.0)])
        return Relation(
            *(Case(_with(deployment, spec.but(eps0=x)), given, value) for x in (low, high))
        )
    if way == "rate":
        low, high = sorted([spec["rate"], rate(rng)])
        return Relation(
            *(Case(_with(deployment, spec.but(rate=x)), given, value) for x in (low, high))
        )
    return _asked_otherwise(rng, deployment, given, value)


def _asked_otherwise(rng: random.Random, deployment: Spec, given: str, value: float) -> Relation:
    small, large = sorted([value, _same_kind(rng, deployment, given)])
    if given == "order":
        return Relation(Case(deployment, given, small), Case(deployment, given, large))
    return Relation(Case(deployment, given, large), Case(deployment, given, small))


def _with(deployment: Spec, randomizer: Spec) -> Spec:
    return deployment.but(randomizer=randomizer)


def _same_kind(rng: random.Random, deployment: Spec, given: str) -> float:
    while True:
        kind, value = question(rng, deployment, 3.0)
        if kind == given:
            return value


def judge_relation(pair: Relation) -> Fault | None:
    """Both intervals may not contradict the order."""
    try:
        less, more = ask(pair.less)[0.0], ask(pair.more)[0.0]
    except InternalError as error:
        return crash(pair, error)
    except ShuffleDPError:
        return None
    except Exception as error:
        return crash(pair, error)
    if (
        pair.less.given == "alpha"
    ):  # a smaller trade-off is a larger loss, unless alpha itself moved
        if pair.less.value == pair.more.value:
            wrong = less.upper < more.lower
        else:
            wrong = less.lower > more.upper
    else:
        wrong = less.lower > more.upper
    return Fault("order", pair, f"{less} against {more}") if wrong else None


def judge_band(case: Case) -> Fault | None:
    """A picture's interval overlaps the answer's."""
    try:
        answer = ask(case)[0.0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lows, highs = build(case.deployment).band(**{case.given: [case.value]})
    except InternalError as error:
        return crash(case, error)
    except ShuffleDPError:
        return None
    except Exception as error:
        return crash(case, error)
    low, high = lows[0], highs[0]
    fine = low <= high and low <= answer.upper and answer.lower <= high
    if fine and not (math.isnan(low) or math.isnan(high)):
        return None
    return Fault(
        "band", case, f"band [{low!r}, {high!r}], answer [{answer.lower!r}, {answer.upper!r}]"
    )
