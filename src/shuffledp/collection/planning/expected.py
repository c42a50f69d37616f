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
from shuffledp.collection.planning.tasks import Task
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
        return _between(mu, self.mu, self.errors)

    def strength(self, mu: float) -> float:
        """About, at another budget."""
        return float(_between(np.array([mu]), self.mu, self.strengths)[0])


def _between(x: Array, known: Array, values: Array) -> Array:
    """Powers of x between the known points, and below the first of them."""
    if len(known) == 1:
        return np.full_like(x, values[0])
    at, logs = np.log(known), np.log(values)
    found = np.interp(np.log(x), at, logs)
    below = np.minimum(np.log(x) - at[0], 0.0) * (logs[1] - logs[0]) / (at[1] - at[0])
    return np.asarray(np.exp(found + below))


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
            found.append((mu, strength, task.error_of(name, machine, n)))
    return Expected(*np.array(found or [(math.inf, 1.0, math.inf)]).T)
