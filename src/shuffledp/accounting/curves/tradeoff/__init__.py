"""Trade-off functions to compute with: build, transform, mix, compose, compare, convert."""

from shuffledp.accounting.curves.tradeoff.advanced import (
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
from shuffledp.accounting.curves.tradeoff.compose import compose, tensor
from shuffledp.accounting.curves.tradeoff.conjugate import Conjugate, combine
from shuffledp.accounting.curves.tradeoff.densities import DensityTradeoff, from_densities
from shuffledp.accounting.curves.tradeoff.function import Comparison, TradeoffFunction
from shuffledp.accounting.curves.tradeoff.mixture import JointPoint, Mixture, average, joint
from shuffledp.accounting.curves.tradeoff.smooth import (
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
