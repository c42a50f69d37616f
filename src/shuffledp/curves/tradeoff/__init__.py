"""Trade-off functions to compute with: build, transform, mix, compose, compare, convert."""

from shuffledp.curves.tradeoff.advanced import (
    Split,
    advanced,
    advanced_of_laws,
    best_split,
    crossed,
    lemma_6_2,
    lemma_6_3,
    lemma_6_3_equal,
    proposition_6_4,
    stronger,
)
from shuffledp.curves.tradeoff.compare import Comparison
from shuffledp.curves.tradeoff.compose import compose, tensor
from shuffledp.curves.tradeoff.conjugate import Conjugate, combine
from shuffledp.curves.tradeoff.densities import DensityTradeoff, from_densities
from shuffledp.curves.tradeoff.function import TradeoffFunction
from shuffledp.curves.tradeoff.mixture import JointPoint, Mixture, average, joint
from shuffledp.curves.tradeoff.smooth import (
    Gaussian,
    Laplace,
    SmoothTradeoff,
    approximate,
    identity,
)

__all__ = [
    "Comparison",
    "Conjugate",
    "DensityTradeoff",
    "Gaussian",
    "JointPoint",
    "Laplace",
    "Mixture",
    "SmoothTradeoff",
    "Split",
    "TradeoffFunction",
    "advanced",
    "advanced_of_laws",
    "approximate",
    "average",
    "best_split",
    "combine",
    "compose",
    "crossed",
    "from_densities",
    "identity",
    "joint",
    "lemma_6_2",
    "lemma_6_3",
    "lemma_6_3_equal",
    "proposition_6_4",
    "stronger",
    "tensor",
]
