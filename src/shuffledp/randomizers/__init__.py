"""What a device runs, as small frozen descriptions. Nothing is sampled here."""

from shuffledp.randomizers.base import Randomizer, Scene
from shuffledp.randomizers.checkin import CheckIn
from shuffledp.randomizers.continuous import DiscreteLaplace, Gaussian, Laplace, TruncatedLaplace
from shuffledp.randomizers.coordinates import GaussianVector, OneCoordinate
from shuffledp.randomizers.discrete_gaussian import DiscreteGaussian
from shuffledp.randomizers.finite import (
    KRR,
    BinaryRR,
    Channel,
    DiscretePiecewise,
    HadamardResponse,
    LocalHashing,
    OneBitMean,
    Piecewise,
    SubsetSelection,
    UnaryEncoding,
    optimised_unary,
    rappor,
)
from shuffledp.randomizers.ldp import LDP
from shuffledp.randomizers.prefixes import OnePrefix
from shuffledp.randomizers.rounds import Repeated, Subsampled

__all__ = [
    "KRR",
    "LDP",
    "BinaryRR",
    "Channel",
    "CheckIn",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscretePiecewise",
    "Gaussian",
    "GaussianVector",
    "HadamardResponse",
    "Laplace",
    "LocalHashing",
    "OneBitMean",
    "OneCoordinate",
    "OnePrefix",
    "Piecewise",
    "Randomizer",
    "Repeated",
    "Scene",
    "Subsampled",
    "SubsetSelection",
    "TruncatedLaplace",
    "UnaryEncoding",
    "optimised_unary",
    "rappor",
]
