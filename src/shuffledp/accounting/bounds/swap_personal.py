"""The swap bound where users have hidden budgets of their own (docs/proofs/swap.md, 8 and 10)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.swap import LEAST_BUDGET, MOST_BUDGET, swap, swap_curve
from shuffledp.accounting.bounds.swap_gaussian import swap_gaussian
from shuffledp.accounting.bounds.swap_gaussian_personal import (
    gaussian_classes_curve,
    gaussian_classes_swap,
)
from shuffledp.accounting.bounds.swap_laplace import swap_laplace
from shuffledp.accounting.bounds.swap_laplace_personal import laplace_classes_curve
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.curves.gdp import gaussian_log_delta
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.families import Family, LaplaceFamily
from shuffledp.accounting.randomizers.triples import worst_separation
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.rounding import Array

_CLASSES = 12
"""As many are told apart; of more, neighbours are counted as the strongest of them."""
_ROWS = 400
"""Of laws and pairs, above which nobody would wait."""
_NORMAL_CROWD = 300
"""Equal normal noise hides fewer users hardly better than a blanket does."""
_SAME, _POOR = 0.98, 0.8
"""Users of other noise that add less are not counted; a bound is poor if its logarithm is less than
such a share of what is expected."""


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


def swap_of_noises(
    family: Family,
    strength: float,
    weakest: float,
    others: Array,
    counts: NDArray[np.int64],
    gone: int,
) -> Curve:
    """A victim of any strength down to the weakest, where noise was added to weaker reports.

    Among users of all levels of noise, or among equals alone: whichever hides the victim better.
    """
    equals = int(counts[others == strength].sum()) - gone
    alone: Curve | None = None
    if weakest == strength and equals + 1 >= _NORMAL_CROWD:
        alone = swap_of_equals(family.member(strength), equals + 1)
    if alone is not None and (others == strength).all():
        return alone
    try:
        swap = gaussian_classes_swap(strength, weakest, others, counts, gone)
    except RegimeError:
        if alone is None:
            raise
        return alone
    if alone is None:
        return gaussian_classes_curve(swap, coarse=weakest < strength)
    power = worst_separation("line", strength) / equals
    if swap.power > _SAME * power:
        return alone
    mixed, equal = gaussian_classes_curve(swap, coarse=False), alone

    def profile(epsilon: float, width: float) -> Enclosure:
        value = mixed.forward(epsilon, width)
        if math.log(max(value.upper, 1e-300)) > _POOR * gaussian_log_delta(swap.mu, epsilon):
            other = equal.enclose(epsilon, width)
            value = min(value, other, key=lambda x: x.upper)
        return value

    return replace(mixed, forward=profile)


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
        " 100 such others; Gaussian noise on numbers, of sigma 0.67 or more among 299 others of the"
        " same noise, of sigma 1 or more among 100 of about as much or more; budgets not visible"
        " beside the reports, or only equals counted; what a user reports depends on"
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
