"""Protocols: what happens to the reports, and the questions one may ask about it."""

from shuffledp.accounting.protocols.calibrate import Calibration, calibrate
from shuffledp.accounting.protocols.central import (
    CentralMinibatches,
    RandomAllocation,
    calibrate_allocation,
)
from shuffledp.accounting.protocols.check import Verdict, check
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.description import describe, restore
from shuffledp.accounting.protocols.gaussian import SigmaCalibration, calibrate_sigma, pair_values
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.personalized import BudgetClass, Guarantees, Personalized
from shuffledp.accounting.protocols.published_budgets import published_budgets, published_hps
from shuffledp.accounting.protocols.refute import RefutationAttempt, refute
from shuffledp.accounting.protocols.rounds import Rounds, Stated
from shuffledp.accounting.protocols.shapes import Aggregated, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.protocols.split import SplitAndMix

__all__ = [
    "Aggregated",
    "BudgetClass",
    "Calibration",
    "CentralMinibatches",
    "Counted",
    "Guarantees",
    "PairedDummies",
    "Personalized",
    "RandomAllocation",
    "RefutationAttempt",
    "Rounds",
    "SampleThreshold",
    "Shuffled",
    "SigmaCalibration",
    "SplitAndMix",
    "Stated",
    "Verdict",
    "WithDummies",
    "calibrate",
    "calibrate_allocation",
    "calibrate_sigma",
    "check",
    "describe",
    "pair_values",
    "published_budgets",
    "published_hps",
    "refute",
    "restore",
]
