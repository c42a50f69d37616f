"""Which randomizers a theorem applies to: a scope returns one as the theorem sees it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shuffledp.accounting.randomizers import (
    LDP,
    CheckIn,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    OneCoordinate,
    Randomizer,
    Repeated,
    Subsampled,
)
from shuffledp.accounting.randomizers.base import Wrapper
from shuffledp.errors import RegimeError

WIDEST_STEP = 0.05
"""Largest eps0 / levels of discrete Laplace noise that counts as Laplace noise."""
Scope = Callable[[Randomizer], Any]
"""Raises RegimeError where the theorem does not apply."""


def ldp(randomizer: Randomizer) -> LDP:
    """One round of anything, taken for any randomizer of the same local guarantee."""
    one_round(randomizer)
    if isinstance(randomizer, LDP):
        return randomizer
    if not 0.0 < randomizer.eps0 < math.inf:
        raise RegimeError("a finite eps0 > 0", f"eps0 = {randomizer.eps0:g}")
    return LDP(randomizer.eps0, sequential=_sequential(randomizer))


def _sequential(randomizer: Randomizer) -> bool:
    """Whether reports may depend on earlier ones, inside whatever is wrapped around them."""
    while isinstance(randomizer, Wrapper):
        randomizer = randomizer.randomizer
    return isinstance(randomizer, LDP) and randomizer.sequential


def pure_ldp(randomizer: Randomizer) -> LDP:
    """As ``ldp``, without a local delta."""
    found = ldp(randomizer)
    if found.delta0:
        raise RegimeError("a pure randomizer (delta0 = 0)", f"delta0 = {found.delta0:g}")
    return found


def approximate_ldp(randomizer: Randomizer) -> LDP:
    """As ``ldp``, with a local delta."""
    found = ldp(randomizer)
    if not found.delta0:
        raise RegimeError("an approximate randomizer (delta0 > 0)", "delta0 = 0")
    return found


def whole_class(randomizer: Randomizer) -> LDP:
    """The class of all randomizers with a local guarantee: a data set concerns its worst one."""
    one_round(randomizer)
    if not isinstance(randomizer, LDP):
        raise RegimeError("the class of all eps0-LDP randomizers", str(randomizer))
    return randomizer


def known_law(randomizer: Randomizer) -> Randomizer:
    """One round of a randomizer of which more is known than its local guarantee."""
    one_round(randomizer)
    if isinstance(randomizer, LDP):
        raise RegimeError("a randomizer with a known law", str(randomizer))
    return randomizer


def gaussian(randomizer: Randomizer) -> Randomizer:
    """Gaussian reports, of all users, checked in or drawn, in any number of rounds."""
    if not is_gaussian(randomizer):
        raise RegimeError("Gaussian reports, checked in or drawn", str(randomizer))
    return randomizer


def gaussian_round(randomizer: Randomizer) -> Randomizer:
    """One round of them."""
    if isinstance(randomizer, Repeated):
        raise RegimeError("one round", str(randomizer))
    return gaussian(randomizer)


def drawn(randomizer: Randomizer) -> Subsampled:
    """One round of users drawn without replacement."""
    if not isinstance(randomizer, Subsampled):
        raise RegimeError("users drawn without replacement", str(randomizer))
    return randomizer


def drawn_otherwise(randomizer: Randomizer) -> Subsampled:
    """As ``drawn``, and their reports are not Gaussian."""
    if is_gaussian(randomizer):
        raise RegimeError("reports that are not Gaussian", str(randomizer))
    return drawn(randomizer)


def several_rounds(randomizer: Randomizer) -> Repeated:
    """The same users in many rounds."""
    if not isinstance(randomizer, Repeated):
        raise RegimeError("several rounds", str(randomizer))
    return randomizer


def one_round(randomizer: Randomizer) -> Randomizer:
    """One round of all users."""
    if isinstance(randomizer, Repeated | Subsampled):
        raise RegimeError("one round of all users", str(randomizer))
    return randomizer


def is_gaussian(randomizer: Randomizer) -> bool:
    """Whether the reports are Gaussian, checked in, drawn or repeated or not."""
    while isinstance(randomizer, (Repeated, CheckIn, Subsampled)):
        randomizer = randomizer.randomizer
    return isinstance(randomizer, Gaussian)


def is_laplace(randomizer: Randomizer) -> bool:
    """Whether reports carry Laplace noise, also on a fine grid, of a number or of one coordinate,
    checked in or not."""
    inner = randomizer.randomizer if isinstance(randomizer, CheckIn) else randomizer
    inner = inner.randomizer if isinstance(inner, OneCoordinate) else inner
    if isinstance(inner, DiscreteLaplace):
        return inner.eps0 <= WIDEST_STEP * inner.levels
    return isinstance(inner, Laplace)
