"""Theorems: one family per file, each registered with its labels and its curve."""

from shuffledp.accounting.bounds import (
    approximate,
    blanket,
    clones,
    composition,
    datasets,
    gaussian_proven,
    gaussian_rounds,
    hps,
    liew2023,
    personalized,
    published,
    shuffle_gaussian,
    subsampled,
    swap,
    swap_laplace,
)
from shuffledp.accounting.bounds.mixtures import THEOREMS as _MIXTURES
from shuffledp.accounting.bounds.theorem import (
    Bound,
    Refutation,
    Theorem,
    all_bounds,
    bound,
    get_bound,
)
from shuffledp.errors import UnknownTheoremError


def all_theorems() -> list[Theorem]:
    """The whole registry: theorems with a curve for every protocol, and those about mixtures."""
    return [bound.theorem for bound in all_bounds()] + list(_MIXTURES.values())


def get_theorem(theorem_id: str) -> Theorem:
    """The theorem of that id."""
    known = {theorem.id: theorem for theorem in all_theorems()}
    if theorem_id not in known:
        raise UnknownTheoremError(theorem_id, sorted(known))
    return known[theorem_id]


__all__ = [
    "Bound",
    "Refutation",
    "Theorem",
    "all_bounds",
    "all_theorems",
    "approximate",
    "blanket",
    "bound",
    "clones",
    "composition",
    "datasets",
    "gaussian_proven",
    "gaussian_rounds",
    "get_bound",
    "get_theorem",
    "hps",
    "liew2023",
    "personalized",
    "published",
    "shuffle_gaussian",
    "subsampled",
    "swap",
    "swap_laplace",
]
