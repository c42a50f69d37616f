"""Which parameters are about the best, by a limit theorem: where to look, never an answer.

A round of many users is about as hard to see through as two normal laws at a distance mu, and the
squares of these distances add up over rounds. So a few values of mu, and of the error, tell how
exact a mechanism is at any share of a budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.protocols.likely import likely_mu
from shuffledp.collection.devices import device
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import Task, Vector
from shuffledp.numerics.rounding import Array

_STRENGTHS = tuple(float(x) for x in np.geomspace(0.1, 24.0, 12))


@dataclass(frozen=True, eq=False)
class Expected:
    """What a mechanism is about able to do, at growing budgets.

    Parameters
    ----------
    mu
        Distance of two normal laws, all messages of a user together.
    strengths
        Of the mechanism, at which that is so.
    errors
        Root mean squared, of one estimate.
    """

    mu: Array
    strengths: Array
    errors: Array

    def error(self, mu: Array) -> Array:
        """About, at other budgets."""
        return np.exp(np.interp(np.log(mu), np.log(self.mu), np.log(self.errors)))

    def strength(self, mu: float) -> float:
        """About, at another budget."""
        return float(np.exp(np.interp(math.log(mu), np.log(self.mu), np.log(self.strengths))))


@lru_cache(maxsize=256)
def expected(task: Task, name: str, n: int, colluders: int = 0) -> Expected:
    """Of a task's randomizer of this name, with a pure budget."""
    build, messages = task.randomizers()[name], task.messages_of(name)
    found: list[tuple[float, float, float]] = []
    for strength in _STRENGTHS:
        machine = device(build(strength))
        mu = likely_mu(Shuffled(machine.randomizer, n, colluders)) * math.sqrt(messages)
        if math.isinf(mu):
            break
        if mu > 0.0 and (not found or mu > found[-1][0]):
            found.append((mu, strength, math.sqrt(task.variance(machine, n))))
    return Expected(*np.array(found or [(math.inf, 1.0, math.inf)]).T)


def worth_planning(task: Task, target: Target) -> list[str]:
    """Names of randomizers: of vectors in several messages each with the best number of them."""
    names = list(task.randomizers())
    if not isinstance(task, Vector) or not task.splits:
        return names
    mu = np.array([target.mu / math.sqrt(target.rounds)])

    def error(name: str) -> float:
        return float(expected(task, name, target.n, target.colluders).error(mu)[0])

    split = [name for name in names if task.messages_of(name) > 1]
    inner = sorted({task.split(name)[0] for name in split})
    best = [
        min((name for name in [each, *split] if task.split(name)[0] == each), key=error)
        for each in inner
    ]
    # the limit of Gaussian reports: n mu^2 = exp(diameter^2 / sigma^2) - 1
    gaussian = task.diameter / math.sqrt(math.log1p(target.n * float(mu[0]) ** 2) * target.n)
    return best + ["gaussian-vector"] * (gaussian <= _NEAR * min(map(error, best)))


_NEAR = 1.5
"""What may be so much worse by the limit is computed exactly all the same."""
