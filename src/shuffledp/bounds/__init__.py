"""Theorems: one family per file, each registered with its labels and its curve."""

from shuffledp.bounds import approximate, clones, datasets, laws, published, shuffle_gaussian
from shuffledp.bounds.theorem import Bound, Refutation, Theorem, all_bounds, get_bound

__all__ = [
    "Bound",
    "Refutation",
    "Theorem",
    "all_bounds",
    "approximate",
    "clones",
    "datasets",
    "get_bound",
    "laws",
    "published",
    "shuffle_gaussian",
]
