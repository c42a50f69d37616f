"""What is said of a release: whether anything is proven of it, and in which words."""

from __future__ import annotations

from shuffledp.collection.devices import SIMULATED
from shuffledp.labels import Interval, in_full, outward

FOUND = "NOT COVERED: the list of values, which was read from the data and is published as it is"
DROPPED = "NOT COVERED: how many rows were dropped"
UNSHUFFLED = "NOT SHUFFLED"
NOT_PRIVATE = f"NOT PRIVATE: {SIMULATED}"


def uncovered(*, simulated: bool, values_from_data: bool) -> str:
    """Why nothing is proven of a release; no words if something is."""
    return "; ".join([NOT_PRIVATE] * simulated + [FOUND] * values_from_data)


def privacy(known: Interval, delta: float, why_not: str) -> str:
    """A guarantee in words, or what it would be if it were not for ``why_not``."""
    epsilon = f"epsilon {outward(known.upper, up=True)} at delta {in_full(delta)}"
    if why_not:
        return f"{why_not}. Otherwise: {epsilon} (by {known.theorem})"
    return f"{epsilon} ({known.status.value} by {known.theorem})"
