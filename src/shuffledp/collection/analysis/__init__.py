"""The analyst: unbiased estimates from shuffled reports, with their errors."""

from shuffledp.collection.analysis.distribution import Distribution, Together
from shuffledp.collection.analysis.estimate import Estimate, combine, simplex
from shuffledp.collection.analysis.frequencies import Frequencies, MixedFrequencies
from shuffledp.collection.analysis.means import Means
from shuffledp.collection.analysis.prefixes import FrequentWords
from shuffledp.collection.analysis.quantiles import quantiles
from shuffledp.collection.analysis.tally import Tally, tally

__all__ = [
    "Distribution",
    "Estimate",
    "Frequencies",
    "FrequentWords",
    "Means",
    "MixedFrequencies",
    "Tally",
    "Together",
    "combine",
    "quantiles",
    "simplex",
    "tally",
]
