"""Exact, labelled privacy accounting in the shuffle model of differential privacy."""

from shuffledp.errors import (
    ConversionError,
    MissingExtraError,
    ParameterError,
    RegimeError,
    ShuffleDPError,
    UnknownTheoremError,
)
from shuffledp.labels import Direction, Interval, Status, Value
from shuffledp.protocols import Calibration, Refutal, Shuffled, calibrate, refute
from shuffledp.randomizers import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    CheckIn,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    Piecewise,
    SubsetSelection,
    TruncatedLaplace,
    UnaryEncoding,
    optimised_unary,
    rappor,
)

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "LDP",
    "BinaryRR",
    "Calibration",
    "Channel",
    "CheckIn",
    "ConversionError",
    "Direction",
    "DiscreteLaplace",
    "Gaussian",
    "HadamardResponse",
    "Interval",
    "Laplace",
    "LocalHashing",
    "MissingExtraError",
    "OneBitMean",
    "ParameterError",
    "Piecewise",
    "Refutal",
    "RegimeError",
    "ShuffleDPError",
    "Shuffled",
    "Status",
    "SubsetSelection",
    "TruncatedLaplace",
    "UnaryEncoding",
    "UnknownTheoremError",
    "Value",
    "calibrate",
    "optimised_unary",
    "rappor",
    "refute",
]
