"""What a device runs, as small frozen descriptions. Nothing is sampled here."""

from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.channel import Channel
from shuffledp.accounting.randomizers.checkin import CheckIn
from shuffledp.accounting.randomizers.continuous import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    TruncatedLaplace,
)
from shuffledp.accounting.randomizers.coordinates import GaussianVector, OneCoordinate
from shuffledp.accounting.randomizers.discrete_gaussian import DiscreteGaussian
from shuffledp.accounting.randomizers.finite import (
    KRR,
    BinaryRR,
    HadamardResponse,
    LocalHashing,
    OneBitMean,
    RoundedResponse,
    SubsetSelection,
)
from shuffledp.accounting.randomizers.ldp import LDP
from shuffledp.accounting.randomizers.piecewise import (
    DiscretePiecewise,
    Piecewise,
    Plateau,
)
from shuffledp.accounting.randomizers.prefixes import OnePrefix
from shuffledp.accounting.randomizers.rounds import Repeated, Subsampled
from shuffledp.accounting.randomizers.unary import UnaryEncoding, optimised_unary, rappor

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
    "Plateau",
    "Randomizer",
    "Repeated",
    "RoundedResponse",
    "Subsampled",
    "SubsetSelection",
    "TruncatedLaplace",
    "UnaryEncoding",
    "VictimPair",
    "optimised_unary",
    "rappor",
]
