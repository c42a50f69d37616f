"""Theorems: one family per file, each registered with its labels and its curve."""

from shuffledp.bounds import (
    approximate,
    clones,
    datasets,
    gaussian_proven,
    laws,
    liew2022,
    published,
    shuffle_gaussian,
)
from shuffledp.bounds.theorem import Bound, Refutation, Theorem, all_bounds, get_bound

__all__ = [
    "Bound",
    "Refutation",
    "Theorem",
    "all_bounds",
    "approximate",
    "clones",
    "datasets",
    "gaussian_proven",
    "get_bound",
    "laws",
    "liew2022",
    "published",
    "shuffle_gaussian",
]
