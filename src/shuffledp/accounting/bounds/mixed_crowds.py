"""Few reports of one bit: what the victim leaks where the others do not all hold the same.

With few users the worst crowd may be mixed (docs/proofs/identity.md). Every number of others on
each symbol is tried, and each law is computed whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shuffledp.accounting.bounds.blanket import WorstDataset
from shuffledp.accounting.bounds.scopes import one_round
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import ProfileCurve, PureEnd
from shuffledp.accounting.randomizers import KRR, LDP, Randomizer
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import Array, down, roundings, up

MOST_USERS = 50
"""With more, one symbol for all others is as bad, but for parts of a thousand."""
_LARGEST_BUDGET = 12.0
"""Masses of so many users do not underflow."""
_UNDERFLOW = 1e-300


@dataclass(frozen=True, eq=False)
class MixedCrowd:
    """Laws of the number of reports that are 1: the victim holds 0, or 1, among the same others."""

    ones: int
    """How many of the others hold 1."""
    absent: Array
    present: Array

    def delta(self, epsilon: float, exchanged: bool = False) -> Enclosure:
        """H(absent || present), or with the victim's values exchanged."""
        first, second = (self.present, self.absent) if exchanged else (self.absent, self.present)
        error, e = self._error, math.exp(epsilon)
        least = down(first, error) - e * (up(second, error) + _UNDERFLOW)
        most = up(first, error) + _UNDERFLOW - e * down(second, error)
        low, high = (math.fsum(np.maximum(x, 0.0).tolist()) for x in (least, most))
        return Enclosure(down(low, roundings(4.0)), min(up(high, roundings(4.0)), 1.0))

    def renyi(self, order: float) -> float:
        """At least the divergence of this order, the larger of both ways."""
        logs = np.log(self.absent), np.log(self.present)
        return max(self._renyi(order, *logs), self._renyi(order, *logs[::-1]), 0.0)

    def _renyi(self, order: float, first: Array, second: Array) -> float:
        terms = order * first - (order - 1.0) * second
        top = float(terms.max())
        total = top + math.log(float(np.exp(terms - top).sum()))
        size = order * float(np.abs(first).max() + np.abs(second).max())
        error = 2.0 * order * self._error + roundings(16.0) * (size + abs(total))
        return (total - error) / (order - 1.0)

    @property
    def _error(self) -> float:
        """Of each mass, relatively."""
        return roundings(8.0 * len(self.absent) + 32.0)


class WorstMixedCrowd(WorstDataset):
    """The worst of all crowds, for each question anew. Over rounds no mixed one is singled out."""

    def pairs(self) -> list[ProfileCurve]:
        return []


def mixed_crowds(eps0: float, n: int) -> list[MixedCrowd]:
    """Up to half of the others hold 1; exchanging the symbols gives the rest, directions too."""
    rare, common = 1.0 / (1.0 + math.exp(eps0)), 1.0 / (1.0 + math.exp(-eps0))
    ones, zeros = _sums(common, rare, n), _sums(rare, common, n)
    others = [np.convolve(ones[i], zeros[n - 1 - i]) for i in range((n - 1) // 2 + 1)]
    return [
        MixedCrowd(i, np.convolve(law, zeros[1]), np.convolve(law, ones[1]))
        for i, law in enumerate(others)
    ]


def _sums(chance: float, rest: float, most: int) -> list[Array]:
    """The laws of sums of 0, 1, ... bits that are 1 with this chance."""
    found = [np.ones(1)]
    for _ in range(most):
        found.append(np.convolve(found[-1], [rest, chance]))
    return found


def one_bit_budget(randomizer: Randomizer) -> float:
    """eps0 of reports of one bit, or of a class that has them."""
    one_round(randomizer)
    if not (isinstance(randomizer, LDP) or (isinstance(randomizer, KRR) and randomizer.k == 2)):
        raise RegimeError("reports of one bit", str(randomizer))
    if not randomizer.eps0 <= _LARGEST_BUDGET:
        raise RegimeError(f"eps0 <= {_LARGEST_BUDGET:g}", f"{randomizer.eps0:g}")
    return randomizer.eps0


@bound(
    Theorem(
        id="dataset-mixed",
        citation="exact computation",
        statement="binary randomized response, the worst number of others on each symbol,"
        " the victim on one or the other",
        validity=f"reports of one bit, 2 <= n <= {MOST_USERS}, eps0 <= {_LARGEST_BUDGET:g};"
        " a lower bound for the class of all eps0-LDP randomizers, too",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/identity.md",
    ),
    one_bit_budget,
    turn=3,
)
def dataset_mixed(eps0: float, n: int) -> WorstMixedCrowd:
    """Every crowd at the victim's two values."""
    if not 2 <= n <= MOST_USERS:
        raise RegimeError(f"2 <= n <= {MOST_USERS}", str(n))
    return WorstMixedCrowd([_curve(crowd, PureEnd(eps0)) for crowd in mixed_crowds(eps0, n)])


def _curve(crowd: MixedCrowd, end: PureEnd) -> ProfileCurve:
    def way(exchanged: bool) -> Callable[[float, float], Enclosure]:
        return lambda epsilon, _width: crowd.delta(epsilon, exchanged)

    return ProfileCurve(
        way(False),
        end=end,
        direction=Direction.LOWER,
        reverse=way(True),
        exact_renyi=crowd.renyi,
    )
