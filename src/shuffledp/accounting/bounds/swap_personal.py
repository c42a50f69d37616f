"""The swap bound where users have hidden budgets of their own (docs/proofs/swap.md, 8 and 10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.swap import LEAST_BUDGET, MOST_BUDGET, swap, swap_curve
from shuffledp.accounting.bounds.swap_gaussian import swap_gaussian
from shuffledp.accounting.bounds.swap_laplace import swap_laplace
from shuffledp.accounting.bounds.swap_laplace_personal import laplace_classes_curve
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.families import Family, GaussianFamily, LaplaceFamily
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.rounding import Array

_CLASSES = 12
"""As many are told apart; of more, neighbours are counted as the strongest of them."""
_ROWS = 400
"""Of laws and pairs, above which nobody would wait."""
_NORMAL_CROWD = 300
"""Equal normal noise hides fewer users hardly better than a blanket does."""


def swap_of_equals(randomizer: Randomizer, n: int) -> Curve:
    """All of one budget: whichever swap bound speaks of the randomizer."""
    bounds = [swap, swap_laplace, swap_gaussian] if n >= _NORMAL_CROWD else [swap, swap_laplace]
    return Tightest.about(bounds, randomizer, n)


def swap_of_classes(
    family: Family, strength: float, others: Array, counts: NDArray[np.int64]
) -> Curve:
    """A victim of this strength among so many others of each strength."""
    if others.size == 0 or (others == strength).all():
        return swap_of_equals(family.member(strength), int(counts.sum()) + 1)
    if isinstance(family, GaussianFamily):  # reports with other noise are given away
        return swap_of_equals(family.member(strength), int(counts[others == strength].sum()) + 1)
    if isinstance(family, LaplaceFamily):
        return laplace_classes_curve(strength, others.tolist(), counts.tolist())
    strengths, users = _few(family, others, counts)
    own = int(np.searchsorted(strengths, strength))
    if own == strengths.size or strengths[own] != strength:
        strengths, users = np.insert(strengths, own, strength), np.insert(users, own, 0)
    users[own] += 1
    if not (LEAST_BUDGET <= strength <= MOST_BUDGET and strengths[0] >= LEAST_BUDGET):
        condition = f"budgets from {LEAST_BUDGET:g} to {MOST_BUDGET:g}"
        raise RegimeError(condition, f"{strengths[0]:g} to {strengths[-1]:g}")
    pairs = family.swaps([float(x) for x in strengths], own)
    if not pairs or sum(len(pair.laws) for pair in pairs) > _ROWS:
        raise RegimeError("few kinds of known laws that all allow every report", family.name)
    return swap_curve(pairs, tuple(int(x) for x in users), family.pure_epsilon(strength))


def _few(
    family: Family, strengths: Array, counts: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Few classes that hide the victim no better.

    Nobody beyond the budgets of the bound; where reports are mixtures of those of larger
    strengths, neighbours are taken for the strongest of them.
    """
    keep = strengths <= MOST_BUDGET
    strengths, counts = strengths[keep], counts[keep].copy()
    if not family.nested or strengths.size == 0:
        return strengths, counts
    strengths = np.maximum(strengths, LEAST_BUDGET)
    if strengths.size > _CLASSES:
        tops = np.quantile(strengths, np.linspace(0.0, 1.0, _CLASSES + 1)[1:], method="higher")
        strengths = np.unique(tops)[np.searchsorted(np.unique(tops), strengths)]
    found, at = np.unique(strengths, return_inverse=True)
    return found, np.bincount(at, weights=counts).astype(np.int64)


@bound(
    Theorem(
        id="swap-personal",
        citation="our own",
        statement="the swap bound with laws that differ from class to class: a product of suprema"
        " over what each class may hold inside the integral, partners weighted by how little they"
        " tell",
        validity="k-ary randomized response and channels of positive entries with budgets from 1e-4"
        " to 30, n >= 10; Laplace noise of up to six budgets from 0.01 to 6 not above the victim's,"
        " 100 such others; Gaussian noise among 299 others or more of the same noise; budgets not"
        " visible beside the reports, or only equals counted; what a user reports depends on"
        " that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    known_law,
    asked_of=False,
)
def of_own_budgets(randomizer: Randomizer, n: int) -> Curve:
    """Equal budgets: the swap bound."""
    return swap_of_equals(randomizer, n)
