"""The analyst: unbiased estimates from shuffled reports, with their errors."""

from shuffledp.analysis.estimate import Estimate, combine, simplex
from shuffledp.analysis.frequencies import Frequencies, MixedFrequencies
from shuffledp.analysis.means import Means
from shuffledp.analysis.prefixes import HeavyHitters
from shuffledp.analysis.quantiles import quantiles

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
