"""Several questions to the same users under one guarantee: how much of it each of them gets.

Every question is a message of its own, shuffled by itself; all of them compose. The split is chosen
by a limit theorem, which only decides what is tried; what is promised is computed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting.protocols import Rounds, Shuffled
from shuffledp.collection.devices import device
from shuffledp.collection.planning.expected import Expected, expected
from shuffledp.collection.planning.plan import Choice, Plan, plan, pure
from shuffledp.collection.planning.target import NEAR, Target
from shuffledp.collection.planning.tasks import MANY_ROUNDS, Mean, Task
from shuffledp.errors import ParameterError
from shuffledp.labels import Value
from shuffledp.numerics.rounding import Array
from shuffledp.numerics.search import bisect, grown, log_log_excess, steered
from shuffledp.shown import Shown

_SHARES = np.geomspace(1e-4, 1.0, 400)
"""Of the budget, that one question may get."""
_PRECISION = 1e-3


@dataclass(frozen=True)
class Wanted:
    """One question of several.

    Parameters
    ----------
    task
        What is asked.
    weight
        How much its error counts: the sum of weight times (error / error alone)^2 is made small,
        where alone means with the whole budget.
    mechanism
        The name of a randomizer, or ``best``.
    """

    task: Task
    weight: float = 1.0
    mechanism: str = "best"

    def __post_init__(self) -> None:
        checks.positive("weight", self.weight)

    def names(self) -> list[str]:
        """Of the randomizers to choose from: those that compose quickly."""
        known = self.task.randomizers()
        if self.mechanism != "best":
            name = self.task.known(self.mechanism, "best")
            if not pure(known[name]):
                raise ParameterError("mechanism", "with a pure budget, among several", name)
            return [name]
        slow = Mean().randomizers().keys() - MANY_ROUNDS
        return [name for name in known if name not in slow and pure(known[name])]


@dataclass(frozen=True)
class Together(Shown):
    """A randomizer for each question, and what all of them cost together.

    Parameters
    ----------
    wanted, target
        What was asked.
    choices
        One for each question.
    shares
        Of the budget, by the limit theorem: the squares of the distances mu.
    achieved
        delta at the target epsilon, all messages and rounds together, labelled.
    """

    wanted: tuple[Wanted, ...]
    target: Target
    choices: tuple[Choice, ...]
    shares: tuple[float, ...]
    achieved: Value

    def __str__(self) -> str:
        target = self.target
        return "\n".join(
            [
                f"{len(self.wanted)} questions to {target.n:,} users, epsilon {target.epsilon:g},"
                f" delta {target.delta:g} together",
                *(
                    f"{each.task.name}: {choice.name}, error {choice.error:.3g}"
                    for each, choice in zip(self.wanted, self.choices, strict=True)
                ),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "epsilon": self.target.epsilon,
            "delta": self.target.delta,
            "n": self.target.n,
            "rounds": self.target.rounds,
            "colluders": self.target.colluders,
            "achieved": self.achieved.to_dict(),
            "tasks": [
                {
                    "task": each.task.name,
                    "error_of": each.task.error,
                    "weight": each.weight,
                    "share": share,
                    **choice.to_dict(),
                }
                for each, share, choice in zip(self.wanted, self.shares, self.choices, strict=True)
            ],
        }


def together(
    wanted: Sequence[Wanted],
    target: Target,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> Together:
    """One randomizer for each question, the guarantee being for all of them together.

    Parameters
    ----------
    wanted
        The questions.
    target
        The guarantee, the users, the rounds.
    progress
        Wraps the names of the tasks as they are looked at, for a progress bar.

    Returns
    -------
    Together
        Nothing about the data decides any of it.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Mean, Target, Wanted, together
    >>> found = together(
    ...     [Wanted(Histogram(4)), Wanted(Mean(), weight=4.0)], Target(1.0, 1e-6, 10_000)
    ... )
    >>> found.achieved.value <= 1e-6, found.shares[1] > found.shares[0]
    (True, True)
    """
    if not wanted:
        raise ParameterError("tasks", "at least one", 0)
    names = [each.task.name for each in wanted]
    if len(wanted) == 1:
        return _alone(wanted[0], target, progress)
    tables = [_tables(each, target) for each, _ in zip(wanted, progress(names), strict=True)]
    mu = target.mu / math.sqrt(target.rounds)
    if not mu > 0.0:
        raise ParameterError("delta", "large enough to share", target.delta)
    shares = _shares([_best_errors(table, mu) for table in tables], [x.weight for x in wanted])
    chosen = [
        min(table, key=lambda name: float(table[name].error(np.array([mu * share**0.5]))[0]))
        for table, share in zip(tables, shares, strict=True)
    ]
    parts = [table[name] for table, name in zip(tables, chosen, strict=True)]
    return _scaled(wanted, target, chosen, parts, [mu * share**0.5 for share in shares], shares)


def _tables(wanted: Wanted, target: Target) -> dict[str, Expected]:
    """What each randomizer of a question is about able to do."""
    known = {
        name: expected(wanted.task, name, target.n, target.colluders) for name in wanted.names()
    }
    able = {name: table for name, table in known.items() if math.isfinite(table.errors[0])}
    if not able:
        raise ParameterError("task", "one that some randomizer does here", wanted.task.name)
    return able


def _alone(wanted: Wanted, target: Target, progress: Callable[[Any], Any]) -> Together:
    """A single question gets all."""
    if wanted.mechanism == "best":
        choice = plan(wanted.task, target, progress).best
    else:
        choice = Plan.of(wanted.task, target, wanted.task.known(wanted.mechanism, "best"))
    assert choice.achieved is not None
    return Together((wanted,), target, (choice,), (1.0,), choice.achieved)


def _best_errors(table: dict[str, Expected], mu: float) -> Array:
    """Of the best mechanism at each share of the budget."""
    found = [each.error(mu * np.sqrt(_SHARES)) for each in table.values()]
    return np.asarray(np.min(found, axis=0))


def _shares(errors: list[Array], weights: list[float]) -> list[float]:
    """What makes the weighted sum of squared relative errors least."""
    costs = np.array(
        [weight * (each / each[-1]) ** 2 for each, weight in zip(errors, weights, strict=True)]
    )

    def at(price: float) -> Array:
        """Of the budget, if it has this price."""
        return np.asarray(_SHARES[np.argmin(costs + price * _SHARES, axis=1)])

    price = bisect(lambda x: float(at(math.exp(x)).sum()) <= 1.0, 60.0, -60.0, share=1e-6).good
    found = at(math.exp(price))
    return [float(share) for share in found / found.sum()]


def _scaled(
    wanted: Sequence[Wanted],
    target: Target,
    names: Sequence[str],
    parts: Sequence[Expected],
    mu: Sequence[float],
    shares: Sequence[float],
) -> Together:
    """All budgets grown alike as far as the exact account allows."""
    builds = [each.task.randomizers()[name] for each, name in zip(wanted, names, strict=True)]
    messages = [each.task.messages_of(name) for each, name in zip(wanted, names, strict=True)]

    def strengths(scale: float) -> list[float]:
        found = (part.strength(scale * each) for part, each in zip(parts, mu, strict=True))
        return [min(each, target.max_eps0) for each in found]

    @lru_cache(maxsize=64)
    def achieved(scale: float) -> Value:
        rounds = []
        for build, strength, times in zip(builds, strengths(scale), messages, strict=True):
            protocol = Shuffled(device(build(strength)).randomizer, target.n, target.colluders)
            rounds.append((protocol, times * target.rounds))
        return Rounds(rounds).bound("composition", epsilon=target.epsilon)

    def excess(scale: float) -> float:
        return log_log_excess(achieved(scale).value, target.delta)

    low = 1.0
    while excess(low) > 0.0:
        low *= 0.75
        if low < _PRECISION:
            raise ParameterError("epsilon", "more, for so many questions", target.epsilon)
    high, low = grown(lambda x: excess(x) > 0.0, 1.1 * low, low, most=16.0)
    near = math.log1p(-NEAR / math.log(target.delta))
    scale = steered(excess, low, min(high, 16.0), share=_PRECISION, near=near).good
    choices = []
    for each, name, build, strength, times in zip(
        wanted, names, builds, strengths(scale), messages, strict=True
    ):
        machine = device(build(strength))
        error = each.task.error_of(name, machine, target.n)
        eps0 = machine.randomizer.eps0
        choices.append(Choice(name, "shuffler", eps0, error, None, machine, strength, times))
    return Together(tuple(wanted), target, tuple(choices), tuple(shares), achieved(scale))
