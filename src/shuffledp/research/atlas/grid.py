"""Where the atlas looks: mechanisms, budgets, crowds, and how much a data set leaks there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.randomizers.catalogue import build

_BUDGETS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)
_FEW_BUDGETS = (0.5, 1.0, 2.0, 4.0)
_DEVIATIONS = (1.0, 2.0, 5.0)
_LINE = {"sensitivity": 1.0, "scalar": True}
_BALL = {"sensitivity": 1.0, "ball": True}


@dataclass(frozen=True)
class ParameterSweep:
    """A mechanism with one parameter that varies."""

    title: str
    mechanism: str
    """Name in the catalogue."""
    parameter: str
    values: tuple[float, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    drawn: float = 1.0
    """Share of the users drawn each round."""


FAMILIES = (
    ParameterSweep("any eps0-LDP", "ldp", "eps0", _BUDGETS),
    ParameterSweep("10-RR", "krr", "eps0", _BUDGETS, {"k": 10}),
    ParameterSweep("Laplace", "laplace", "eps0", _BUDGETS),
    ParameterSweep("Gaussian", "gaussian", "sigma", _DEVIATIONS, _LINE),
    ParameterSweep(
        "Gaussian, check-in 0.1", "gaussian", "sigma", _DEVIATIONS, {**_LINE, "check_in": 0.1}
    ),
    ParameterSweep("Gaussian vectors in a ball", "gaussian", "sigma", _DEVIATIONS, _BALL),
    ParameterSweep("any (eps0, 1e-9)-LDP", "ldp", "eps0", _FEW_BUDGETS, {"delta0": 1e-9}),
    ParameterSweep("10-RR, a tenth drawn", "krr", "eps0", _FEW_BUDGETS, {"k": 10}, drawn=0.1),
    ParameterSweep("any eps0-LDP, 100 rounds", "ldp", "eps0", _FEW_BUDGETS, {"rounds": 100}),
)


@dataclass(frozen=True)
class Point:
    """One place of the grid: epsilon is chosen where a data set leaks at least ``leak``."""

    family: ParameterSweep
    value: float
    n: int
    leak: float

    @property
    def key(self) -> str:
        """The place in words, unique."""
        return (
            f"{self.family.title}, {self.family.parameter} = {self.value:g}, n = {self.n},"
            f" leak = {self.leak:g}"
        )

    @property
    def protocol(self) -> Shuffled:
        """What runs here."""
        family = self.family
        given = {**family.fixed, family.parameter: self.value}
        if family.drawn < 1.0:
            given["drawn"] = round(family.drawn * self.n)
        return Shuffled(build(family.mechanism, **given), self.n)


CROWDS = (100, 10_000, 1_000_000)
LEAKS = (1e-3, 1e-6)
FULL_CROWDS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
FULL_LEAKS = (1e-2, 1e-4, 1e-6, 1e-9)


def grid(full: bool = False) -> list[Point]:
    """Every point, family by family."""
    crowds, leaks = (FULL_CROWDS, FULL_LEAKS) if full else (CROWDS, LEAKS)
    return [
        Point(family, value, n, leak)
        for family in FAMILIES
        for value in family.values
        for n in crowds
        for leak in leaks
    ]
