"""The shuffler: reports in, the same reports out, in an order that tells nothing."""

from shuffledp.collection.shuffling.permutation import permutation
from shuffledp.collection.shuffling.shuffler import Shuffler, shuffle

__all__ = ["Shuffler", "permutation", "shuffle"]
