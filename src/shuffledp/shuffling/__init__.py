"""The shuffler: reports in, the same reports out, in an order that tells nothing."""

from shuffledp.shuffling.permutation import permutation
from shuffledp.shuffling.shuffler import Shuffler, shuffle

__all__ = ["Shuffler", "permutation", "shuffle"]
