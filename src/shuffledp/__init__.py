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
from shuffledp.protocols import Calibration, Shuffled, calibrate
from shuffledp.randomizers import LDP

__version__ = "0.1.0"

__all__ = [
    "LDP",
    "Calibration",
    "ConversionError",
    "Direction",
    "Interval",
    "MissingExtraError",
    "ParameterError",
    "RegimeError",
    "ShuffleDPError",
    "Shuffled",
    "Status",
    "UnknownTheoremError",
    "Value",
    "calibrate",
]
