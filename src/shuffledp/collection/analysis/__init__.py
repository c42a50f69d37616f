"""The analyst: unbiased estimates from shuffled reports, with their errors."""

from shuffledp.collection.analysis.estimate import Estimate, combine, simplex
from shuffledp.collection.analysis.frequencies import Frequencies, MixedFrequencies
from shuffledp.collection.analysis.means import Means
from shuffledp.collection.analysis.prefixes import HeavyHitters
from shuffledp.collection.analysis.quantiles import quantiles

__all__ = [
    "Estimate",
    "Frequencies",
    "HeavyHitters",
    "Means",
    "MixedFrequencies",
    "combine",
    "quantiles",
    "simplex",
]
