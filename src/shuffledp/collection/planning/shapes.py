"""Other shapes at the same guarantee: dummies, thresholds, secure sums, split messages.

Users send more than one message, or a vector that only a secure sum may see, or trust the shuffler
with more than an order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from shuffledp.collection.planning import shape_makers as make
from shuffledp.collection.planning.shape import Shape
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import Histogram, Mean, Task
from shuffledp.errors import ConversionError, ParameterError, RegimeError

SUMMED = {
    "gaussian-shares": "discrete-gaussian",
    "skellam-shares": "skellam",
    "binomial-shares": "binomial",
    "negbin-shares": "negative-binomial",
    "poisson-shares": "poisson",
}
"""Laws of noise that users add in shares, besides discrete Laplace noise."""
FAKED = {
    "dummies": "poisson",
    "binomial-dummies": "binomial",
    "negbin-dummies": "negative-binomial",
}
"""Laws of the numbers of dummies that a shuffler adds, or (``user-...``) all users together."""
SHAPES = (
    *FAKED,
    *(f"user-{name}" for name in FAKED),
    *("laplace-dummies", "paired-dummies", "krr-dummies", "krr-user-dummies", "noise-shares"),
    *SUMMED,
    *("split-and-mix", "sample-threshold", "summed-rappor", "summed-oue"),
)
"""What ``run`` and ``plan`` call those of a histogram."""
SHAPES_OF_MEANS = ("noise-shares", *SUMMED, "split-and-mix", "summed-laplace", "summed-gaussian")
ALL_SHAPES = frozenset((*SHAPES, *SHAPES_OF_MEANS))


def makers(task: Task, target: Target, users: int = 0) -> dict[str, Callable[[], Shape]]:
    """By name: what finds the best shape of this kind.

    Parameters
    ----------
    task
        A histogram or a mean.
    target
        The guarantee, the users, the rounds.
    users
        No more of them take part; n of the target unless given.
    """
    if not isinstance(task, Histogram | Mean):
        raise ParameterError("several_messages", "asked of a histogram or a mean", task.name)
    known: dict[str, Callable[[], Shape]] = {
        "noise-shares": partial(make.laplace_shares, task, target),
        **{name: partial(make.shares, task, target, name, law) for name, law in SUMMED.items()},
        "split-and-mix": partial(make.split, task, target, users or target.n),
    }
    if isinstance(task, Mean):
        return known | {
            f"summed-{name}": partial(make.summed, task, target, name)
            for name in ("laplace", "gaussian")
        }
    for name, law in FAKED.items():
        known[name] = partial(make.dummies, task, target, name, law)
        user = f"user-{name}"
        known[user] = partial(make.dummies, task, target, user, law, by_users=True)
    return known | {
        "laplace-dummies": partial(make.laplace_dummies, task, target),
        "paired-dummies": partial(make.paired_dummies, task, target),
        "krr-dummies": partial(make.randomized_dummies, task, target, "krr-dummies"),
        "krr-user-dummies": partial(
            make.randomized_dummies, task, target, "krr-user-dummies", by_users=True
        ),
        "sample-threshold": partial(make.thresholds, task, target),
        "summed-rappor": partial(make.summed, task, target, "rappor"),
        "summed-oue": partial(make.summed, task, target, "oue"),
    }


def shapes(
    task: Task,
    target: Target,
    progress: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> tuple[Shape, ...]:
    """All other shapes of a histogram or a mean, the smallest error first.

    Those that cannot meet the target, or not with laws that can be listed, are left out, and so
    are, where the target has a largest local budget, those with a larger one or none.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target
    >>> found = shapes(Histogram(4), Target(epsilon=1.0, delta=1e-6, n=1000))
    >>> found[-1].error > found[0].error
    True
    """
    made, found = makers(task, target), []
    for name in progress(made):
        try:
            found.append(made[name]())
        except (ParameterError, RegimeError, ConversionError):
            continue
    allowed = [each for each in found if (each.eps0 or math.inf) <= target.max_eps0]
    return tuple(sorted(allowed, key=lambda shape: shape.error))
