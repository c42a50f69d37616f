"""Protocols: what happens to the reports, and the questions one may ask about it."""

from shuffledp.protocols.calibrate import Calibration, calibrate
from shuffledp.protocols.gaussian import SigmaCalibration, calibrate_sigma, pair_values
from shuffledp.protocols.refute import Refutal, refute
from shuffledp.protocols.shuffled import Shuffled

__all__ = [
    "Calibration",
    "Refutal",
    "Shuffled",
    "SigmaCalibration",
    "calibrate",
    "calibrate_sigma",
    "pair_values",
    "refute",
]
