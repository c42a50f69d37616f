"""What nobody can do better: least errors at a guarantee (docs/proofs/least_error.md)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import (
    Histogram,
    Mean,
    MeanQuantiles,
    Sometimes,
    Task,
    Vector,
)
from shuffledp.labels import Status
from shuffledp.numerics.rounding import down, roundings

_FINEST = 10_000
"""Levels, at most: any number of them gives a bound."""
_TRIED = 100
_STEEPEST = 600.0


@dataclass(frozen=True)
class Limit:
    """An error below which no protocol of a kind stays for all values.

    Parameters
    ----------
    protocols
        Which ones, in words.
    error
        Root mean square, of what the error of a plan is of, for the hardest values.
    status
        PROVEN, at this number of users.
    rate
        What is known besides as the number of users grows, without a constant.
    """

    protocols: str
    error: float
    status: str = Status.PROVEN.value
    rate: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    def __str__(self) -> str:
        """In words."""
        said = f"{self.protocols} errs by at least {self.error:.2g} for some values ({self.status})"
        return f"{said}; {self.rate}" if self.rate else said


_REALS = (
    "as n grows by order n^(1/6) more than with a trusted curator (Balle et al. 2019; no constant)"
)
_COUNTS = (
    "as n grows by order min(n^(1/4), k^(1/2)) more than with a trusted curator, but for logarithms"
    " and for the worst of k values (Ghazi et al. 2021; no constant)"
)


def limits(task: Task, target: Target) -> list[Limit]:
    """Least errors of each round, where they are known; none for quantiles in units of the range.

    Examples
    --------
    >>> from shuffledp.collection.planning import Mean
    >>> [f"{limit.error:.1e}" for limit in limits(Mean(), Target(0.5, 1e-7, 100_000))]
    ['6.9e-06', '2.3e-05']
    """
    asked = task.asked if isinstance(task, Sometimes) else task
    if isinstance(asked, MeanQuantiles):
        return []
    if isinstance(asked, Mean | Vector):
        span = 1.0 if isinstance(asked, Mean) or asked.norm is None else 2.0 * asked.norm
        least, one = _any(target), _one_message(target)
        found = [down(min(1.0, span) * each, roundings(2.0)) for each in (least, one)]
        rate = _REALS
    else:
        k = asked.k if isinstance(asked, Histogram) else 2  # with a word or not, below or above
        found, rate = [_any(target, k), _one_of_values(target, k)], _COUNTS
    least, one = found[0], max(found)
    return [
        Limit("any protocol, a trusted curator's too,", least),
        Limit("any shuffled protocol of one message per user", one, rate=rate),
    ]


def _any(target: Target, k: int = 2) -> float:
    """Data sets that differ in m users, which no analyst can tell apart: for each of two of k
    values at once, if there are users enough."""
    best, most = 0.0, max(1.0, min(3.0 / target.epsilon, float(target.n)))
    for m in {math.floor(most ** (i / _TRIED)) for i in range(_TRIED + 1)}:
        away = m * target.epsilon
        if away > _STEEPEST:
            continue
        delta = target.delta * math.expm1(away) / math.expm1(target.epsilon)
        touched = 2.0 * min(k // 2, target.n // m) / k
        best = max(best, touched * 0.25 * m * m * (1.0 - delta) / (1.0 + math.exp(away)))
    return down(math.sqrt(best) / target.n, roundings(64.0))


def _one_of_values(target: Target, k: int) -> float:
    """Users at one of k values, at random: what others never send gives one of them away."""
    hidden = target.n * math.exp(min(target.epsilon, _STEEPEST))
    wrong = (1.0 - target.delta) * (k - 1.0) / (hidden + k - 1.0)
    return down(math.sqrt(wrong / target.n / k), roundings(64.0))


def _one_message(target: Target) -> float:
    """Users at one of k levels, at random: every report has to be likely enough for all levels."""
    hidden = target.n * math.exp(min(target.epsilon, _STEEPEST))
    best, middle = 0.0, 1.0 + math.cbrt(1.5 * hidden)
    for share in (0.6, 0.8, 1.0, 1.2):
        k = max(2, min(round(share * middle), _FINEST))
        below = np.arange(k, dtype=np.float64)
        one_side = (below - 1.0) * below * (below + 1.0) / 3.0
        each = np.minimum(0.25, (one_side + one_side[::-1]) / hidden) / (k - 1.0) ** 2
        best = max(best, float(each.mean()))
    least = (1.0 - target.delta) * best / target.n
    return down(math.sqrt(least), roundings(float(_FINEST)))
