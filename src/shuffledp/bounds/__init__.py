"""Theorems: one family per file, each registered with its labels and its curve."""

from shuffledp.bounds import approximate, clones, datasets, hps, laws, personalized, published
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
    "hps",
    "laws",
    "personalized",
    "published",
]
