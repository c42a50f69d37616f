"""Which randomizer is best for a task at a given central guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.collection.devices import Device, device
from shuffledp.collection.planning.limits import Limit, limits
from shuffledp.collection.planning.shape import Shape
from shuffledp.collection.planning.target import Builder, Target
from shuffledp.collection.planning.tasks import HeavyHitters, Task, Vector
from shuffledp.errors import ParameterError
from shuffledp.labels import Value
from shuffledp.shown import Drawn, Shown

NOBODY, CURATOR = "nobody", "curator"
"""Whom users trust in the rows that others are compared with."""
_NEAR = 1.5
"""What may be so much worse by a limit theorem is computed all the same."""
_FAR_BELOW = 0.5
"""A delta below such a share of its target was not what ended the search for less noise."""
_NEGLIGIBLE = 5.0
"""A local budget above which hardly anything is hidden: odds change 150-fold."""


@dataclass(frozen=True)
class Choice:
    """One way to do the task, and the error to expect of each round's estimate.

    Parameters
    ----------
    name
        Of the mechanism.
    trust
        Whom users have to trust.
    eps0, strength
        Local budget, if there is one, and the parameter found.
    error
        Expected root mean squared error of one estimate.
    achieved
        The guarantee, labelled.
    device
        What runs it, or each of its messages.
    messages
        Sent by each user.
    """

    name: str
    trust: str
    """Whom users must trust: a shuffler, nobody, or a curator who sees their values."""
    eps0: float | None
    """None where there is no pure local budget."""
    error: float
    achieved: Value | None = None
    """delta at the target epsilon, all rounds together."""
    device: Device | None = None
    strength: float = 0.0
    """Which of the task's randomizers of this name it is."""
    messages: int = 1
    """Sent by each user, each of them shuffled by itself and linked to no other."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "name": self.name,
            "trust": self.trust,
            "messages": self.messages,
            "eps0": self.eps0,
            "randomizer": None if self.device is None else str(self.device.randomizer),
            "error": self.error,
            "delta": None if self.achieved is None else self.achieved.to_dict(),
        }


@dataclass(frozen=True)
class Plan(Shown, Drawn):
    """All choices, the smallest error first; those that trust a shuffler, then the others."""

    task: Task
    target: Target
    choices: tuple[Choice, ...]
    baselines: tuple[Choice, ...]

    @classmethod
    def of(cls, task: Task, target: Target, name: str) -> Choice:
        """One randomizer, by name."""
        found = _shuffled(task, target, name)
        if found is None:
            raise ParameterError("mechanism", "one that can be run here", name)
        return found

    @property
    def best(self) -> Choice:
        """The randomizer to use."""
        return self.choices[0]

    def ranked(self, shapes: Sequence[Shape] = ()) -> list[Choice | Shape]:
        """All choices and these shapes, the smallest error first."""
        listed: list[Choice | Shape] = [*self.choices, *shapes]
        return sorted(listed, key=lambda choice: choice.error)

    @property
    def limits(self) -> list[Limit]:
        """Errors that nobody stays below, where they are known."""
        return limits(self.task, self.target)

    @property
    def left_out(self) -> list[str]:
        """Randomizers that are not ranked, and why, in words."""
        return [f"{name}: {why}" for name, why in self.task.left_out.items()]

    @property
    def advice(self) -> list[str]:
        """What the best choice means, in plain words."""
        best, users = self.best, f"{self.target.n:,} user{'s' if self.target.n > 1 else ''}"
        off = f"{100.0 * best.error:.2g} % of the range"
        if self.task.name in ("histogram", "heavy-hitters", "quantiles"):
            off = f"{best.error * self.target.n:,.3g} of {users}"
        rank = " in rank" if self.task.name == "quantiles" else ""
        of = "the count of a rare word" if isinstance(self.task, HeavyHitters) else "an estimate"
        said = [f"{best.name}: {of} is off by about {off}{rank}, each round"]
        if isinstance(self.task, HeavyHitters) and best.device is not None:
            share = 100.0 * self.task.found_from(best.device, self.target.n)
            said.append(
                f"a word of {share:.2g} % of the users is found with 95 % probability, unless"
                f" {self.task.most} others are as frequent"
                if share < 100.0
                else "no word is frequent enough to be found for sure: take more users"
            )
        if isinstance(self.task, Vector) and self.task.messages < self.task.dimensions:
            most = self.task.dimensions
            said.append(
                f"a message for each coordinate, shuffled separately and linked by nothing, may be"
                f" much better: --messages {most}"
            )
        said.append(local_warning(math.inf if best.eps0 is None else best.eps0, best.messages))
        said += [self._edge(choice) for choice in self.choices]
        return [words for words in said if words]

    def _edge(self, choice: Choice) -> str:
        """Said of noise that is more than the target needs, as less is not proven to be enough."""
        achieved = choice.achieved
        if choice.eps0 is not None or achieved is None:
            return ""
        if achieved.value > _FAR_BELOW * self.target.delta:
            return ""
        return (
            f"{choice.name}: more noise than the target needs, because {achieved.theorem} speaks"
            f" of no less; its epsilon is below {self.target.epsilon:g}"
        )

    def __str__(self) -> str:
        target, best = self.target, self.best
        budget = "" if best.eps0 is None else f" at eps0 = {best.eps0:.6g}"
        return "\n".join(
            [
                f"{self.task.name} of {target.n:,} users, epsilon {target.epsilon:g},"
                f" delta {target.delta:g}, {target.rounds:,} round{'s' * (target.rounds > 1)}:"
                f" {best.name}{budget}",
                *self.advice,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "task": self.task.name,
            "advice": self.advice,
            "error_of": self.task.error,
            "epsilon": self.target.epsilon,
            "delta": self.target.delta,
            "n": self.target.n,
            "rounds": self.target.rounds,
            "colluders": self.target.colluders,
            "choices": [choice.to_dict() for choice in self.choices],
            "baselines": [choice.to_dict() for choice in self.baselines],
            "limits": [limit.to_dict() for limit in self.limits],
            "left_out": self.left_out,
        }


def local_warning(eps0: float, messages: int = 1) -> str:
    """Said of a local guarantee that hides hardly anything; nothing of others, or of none."""
    if math.isinf(eps0) or messages * eps0 <= _NEGLIGIBLE:
        return ""
    each = f" for each of {messages} messages" if messages > 1 else ""
    return (
        f"if the shuffler fails or colludes, only the local guarantee is left:"
        f" eps0 = {eps0:.3g}{each} is next to none"
    )


def plan(
    task: Task,
    target: Target,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> Plan:
    """Rank the randomizers of a task by expected error, each at the largest budget allowed.

    Parameters
    ----------
    task
        ``Histogram(k)``, ``Quantiles(bins)``, ``Mean()``, ``Vector(dimensions, norm, messages)``,
        ``HeavyHitters(bits)``, or one of them ``Sometimes``.
    target
        The guarantee, the users, the rounds.
    progress
        Wraps the names of randomizers as they are tried, for a progress bar.

    Returns
    -------
    Plan
        All choices, the smallest error first.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target, plan
    >>> found = plan(Histogram(4), Target(epsilon=1.0, delta=1e-6, n=10_000))
    >>> found.choices[0].error <= found.choices[-1].error
    True
    """
    known = task.randomizers()
    builders = {
        name: known[name]
        for name in _worth_planning(task)
        # without a pure budget composing takes too long
        if target.apart(task.messages_of(name)).rounds == 1 or pure(known[name])
    }
    found = [_shuffled(task, target, name) for name in progress(builders)]
    if isinstance(task, Vector) and task.sent > 1:
        likely = task.likely_gaussian(target.mu / math.sqrt(target.rounds), target.n)
        if likely <= _NEAR * min(choice.error for choice in found if choice is not None):
            found.append(_shuffled(task, target, "gaussian-vector"))
    choices = [choice for choice in found if choice is not None]
    if not choices:
        raise ParameterError("task", "one that some randomizer does here", task.name)
    single = (name for name in known if task.messages_of(name) == 1)
    local = [_local(task, target, name) for name in single if pure(known[name])]
    baselines = [min(local, key=_error), _central(task, target)]
    return Plan(task, target, tuple(sorted(choices, key=_error)), tuple(baselines))


def _worth_planning(task: Task) -> list[str]:
    """Names of randomizers; of vectors that may be sent in several messages those alone."""
    known = list(task.randomizers())
    if isinstance(task, Vector) and task.sent > 1:
        return [name for name in known if task.messages_of(name) > 1]
    return known


def _error(choice: Choice) -> float:
    return choice.error


def pure(build: Builder) -> bool:
    """Whether its reports have a pure local budget."""
    return math.isfinite(build(1.0).eps0)


def _shuffled(task: Task, target: Target, name: str) -> Choice | None:
    """None where more or less noise would be needed than a device can add."""
    build, messages = task.randomizers()[name], task.messages_of(name)
    target = target.apart(messages)
    try:
        strength, found = target.largest(build)
    except ParameterError:
        if pure(build):
            raise
        return None
    eps0 = found.randomizer.eps0
    return Choice(
        name,
        "shuffler",
        eps0 if math.isfinite(eps0) else None,
        task.error_of(name, found, target.n),
        target.achieved(found.randomizer),
        found,
        strength,
        messages,
    )


def _local(task: Task, target: Target, name: str) -> Choice:
    """No shuffler: the local budget is all there is."""
    found = device(task.randomizers()[name](target.unshuffled()))
    eps0 = found.randomizer.eps0
    error = task.error_of(name, found, target.n) if math.isfinite(eps0) else math.inf
    return Choice(name, NOBODY, eps0, error, device=found)


def _central(task: Task, target: Target) -> Choice:
    """A curator who sees all values and adds Laplace or normal noise, composed over the rounds."""
    l1, l2 = task.sensitivities()
    laplace = math.sqrt(2.0) * l1 * target.rounds / (target.epsilon * target.n)
    mu = target.mu
    normal = l2 * math.sqrt(target.rounds) / (mu * target.n) if mu > 0.0 else math.inf
    kind = "Laplace noise" if laplace <= normal else "normal noise"
    return Choice(kind, CURATOR, None, min(laplace, normal))
