"""Protocols: what happens to the reports, and the questions one may ask about it."""

from shuffledp.protocols.calibrate import Calibration, calibrate
from shuffledp.protocols.description import describe, restore
from shuffledp.protocols.gaussian import SigmaCalibration, calibrate_sigma, pair_values
from shuffledp.protocols.personalized import Class, Guarantees, Personalized
from shuffledp.protocols.published_budgets import published_budgets, published_hps
from shuffledp.protocols.refute import Refutal, refute
from shuffledp.protocols.rounds import CentralMinibatches, Rounds, Stated
from shuffledp.protocols.shuffled import Shuffled

__all__ = [
    "Calibration",
    "CentralMinibatches",
    "Class",
    "Guarantees",
    "Personalized",
    "Refutal",
    "Rounds",
    "Shuffled",
    "SigmaCalibration",
    "Stated",
    "calibrate",
    "calibrate_sigma",
    "describe",
    "pair_values",
    "published_budgets",
    "published_hps",
    "refute",
    "restore",
]
