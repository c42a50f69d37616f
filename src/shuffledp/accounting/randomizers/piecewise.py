"""Piecewise mechanisms: reports in a window about the value are E = exp(eps0) times likelier."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from shuffledp import checks
from shuffledp.accounting.randomizers.finite import Kinds, Symmetric
from shuffledp.accounting.randomizers.swaps import Swap, windows
from shuffledp.errors import ParameterError

_LN_2, _LN_2_REST = math.log(2.0), 2.3190468138462996e-17


@dataclass(frozen=True)
class Piecewise(Symmetric):
    """Piecewise mechanism of Wang et al. 2019 on [-1, 1]: a window E times likelier than the rest.

    Parameters
    ----------
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import Piecewise, Shuffled
    >>> round(Shuffled(Piecewise(eps0=1.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.136
    """

    eps0: float = field(kw_only=False)
    pair_argument = (
        "less overlap of the two windows is a mean-preserving spread; windows of values far apart"
        " do not overlap"
    )

    def swaps(self) -> list[Swap]:
        return windows(self.eps0, 2.0, 2.0 / math.expm1(0.5 * self.eps0))

    def part_swaps(self) -> list[Swap]:
        return windows(self.eps0, 2.0, 2.0 / math.expm1(0.5 * self.eps0), overlaps=(0.0, 1.0))

    def __str__(self) -> str:
        return f"piecewise mechanism on [-1, 1], eps0 = {self.eps0:g}"

    def _triples(self) -> tuple[Kinds, float]:
        root, rise = math.exp(0.5 * self.eps0), math.expm1(0.5 * self.eps0)
        window = 2.0 / rise
        density = root * rise / (2.0 * root + 2.0)
        # x = -1, x' = 1, x'' = 0: the middle window covers the gap of length 2 between the outer
        # ones, and reaches into them where it is longer
        # rise - 1 = 2 (exp(eps0/2 - ln 2) - 1), in full
        excess = 2.0 * math.expm1((0.5 * self.eps0 - _LN_2) - _LN_2_REST)
        into, gap = max(-excess / rise, 0.0), max(2.0 * excess / rise, 0.0)
        alone = 0.5 * window + 1.0 if into else window
        sizes: Kinds = {
            (1, 0, 1): into,
            (0, 1, 1): into,
            (1, 0, 0): alone,
            (0, 1, 0): alone,
            (0, 0, 1): 2.0 if into else window,
            (0, 0, 0): gap,
        }
        return sizes, density / (root * root)


@dataclass(frozen=True)
class DiscretePiecewise(Symmetric):
    """The piecewise mechanism on a grid: value x in 0..levels, report in 0..levels + window - 1.

    Parameters
    ----------
    levels
        Largest value.
    window
        How many reports, x to x + window - 1, are E = exp(eps0) times likelier than the others.
    eps0
        Local budget.

    Examples
    --------
    >>> print(DiscretePiecewise(8, 4, eps0=1.0))
    piecewise mechanism on 0..8, window 4, eps0 = 1
    """

    levels: int
    window: int
    pair_argument = Piecewise.pair_argument

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.store_size(self, "levels", 1)
        if checks.store_size(self, "window", 1) > self.levels:
            raise ParameterError("window", f"at most levels = {self.levels}", self.window)

    def swaps(self) -> list[Swap]:
        return windows(self.eps0, self.levels - self.window, self.window)

    def part_swaps(self) -> list[Swap]:
        return windows(self.eps0, self.levels - self.window, self.window, overlaps=(0.0, 1.0))

    def __str__(self) -> str:
        return (
            f"piecewise mechanism on 0..{self.levels}, window {self.window}, eps0 = {self.eps0:g}"
        )

    @property
    def _third_between(self) -> bool:
        return self.levels % 2 == 0

    def _triples(self) -> tuple[Kinds, float]:
        # x = 0, x' = levels, x'' = the middle, whose window may reach into both others
        middle = self.levels // 2
        left = max(self.window - middle, 0)
        right = max(middle + self.window - self.levels, 0)
        alone = self.window - left - right
        sizes: Kinds = {
            (1, 0, 1): left,
            (0, 1, 1): right,
            (1, 0, 0): self.window - left,
            (0, 1, 0): self.window - right,
            (0, 0, 1): alone,
            (0, 0, 0): self.levels - self.window - alone,
        }
        big = math.exp(self.eps0)
        return sizes, 1.0 / (self.window * big + self.levels)
