"""Windows that slide along a line: reports inside are E = exp(eps0) times likelier.

A value moves its window; what is outside is a uniform floor under every report. Written as a
mixture: with probability gamma the report is uniform over the whole line of length B, else uniform
over the window of length w, E = 1 + (1 - gamma) B / (gamma w).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

from shuffledp import checks
from shuffledp.accounting.randomizers.finite import Kinds, Symmetric
from shuffledp.accounting.randomizers.swaps import Swap, windows
from shuffledp.errors import ParameterError

_LN_2, _LN_2_REST = math.log(2.0), 2.3190468138462996e-17


class Windows(Symmetric):
    """The window of a value begins anywhere in a line of some length, and is as long or shorter."""

    pair_argument = (
        "less overlap of the two windows is a mean-preserving spread; windows of values far apart"
        " do not overlap"
    )

    @property
    @abstractmethod
    def _line(self) -> tuple[float, float]:
        """How far a window moves, and its length."""

    @property
    def _middle(self) -> Fraction:
        """How far the window of the third value of data sets has moved."""
        return Fraction(self._line[0]) / 2

    def swaps(self) -> list[Swap]:
        length, window = self._line
        return list(windows(self.eps0, length - window, window))

    def part_swaps(self) -> list[Swap]:
        length, window = self._line
        return list(windows(self.eps0, length - window, window, overlaps=(0.0, 1.0)))

    def _triples(self) -> tuple[Kinds, float]:
        # x and x' at the two ends, x'' in the middle, whose window may reach into both others
        length, window = map(Fraction, self._line)
        left = max(window - self._middle, Fraction(0))
        right = max(self._middle + window - length, Fraction(0))
        alone = window - left - right
        sizes = {
            (1, 0, 1): left,
            (0, 1, 1): right,
            (1, 0, 0): window - left,
            (0, 1, 0): window - right,
            (0, 0, 1): alone,
            (0, 0, 0): length - window - alone,
        }
        unit = 1.0 / (float(window) * math.exp(self.eps0) + float(length))
        return {kind: float(size) for kind, size in sizes.items()}, unit


@dataclass(frozen=True)
class Piecewise(Windows):
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

    @property
    def _line(self) -> tuple[float, float]:
        window = 2.0 / math.expm1(0.5 * self.eps0)
        return 2.0 + window, window

    def swaps(self) -> list[Swap]:
        return list(windows(self.eps0, 2.0, self._line[1]))

    def part_swaps(self) -> list[Swap]:
        return list(windows(self.eps0, 2.0, self._line[1], overlaps=(0.0, 1.0)))

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
class DiscretePiecewise(Windows):
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
    window of 4 sliding on 0..8, eps0 = 1
    """

    levels: int
    window: int

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.store_size(self, "levels", 1)
        if checks.store_size(self, "window", 1) > self.levels:
            raise ParameterError("window", f"at most levels = {self.levels}", self.window)

    @property
    def _line(self) -> tuple[float, float]:
        return self.levels, self.window

    @property
    def _middle(self) -> Fraction:
        return Fraction(self.levels // 2)

    @property
    def _third_between(self) -> bool:
        return self.levels % 2 == 0

    def __str__(self) -> str:
        return f"window of {self.window} sliding on 0..{self.levels}, eps0 = {self.eps0:g}"


@dataclass(frozen=True)
class Plateau(Windows):
    """A window of any width above a uniform floor, for numbers x in [0, 1].

    The report is uniform over the window [x, x + width], or, with the probability ``floor`` that
    follows from eps0, over all of [0, 1 + width]. The piecewise mechanism is the one whose width is
    exp(-eps0 / 2) of the way its window moves.

    Parameters
    ----------
    width
        Of the window, as a share of the range, at most 1; unless given (2 / E)^(1/3), about the
        best for the hardest values (docs/proofs/plateau.md).
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import Plateau, Shuffled
    >>> round(Shuffled(Plateau(0.2, eps0=4.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    1.663
    """

    width: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.width
        if width is None:
            width = min(1.0, math.exp((_LN_2 - self.eps0) / 3.0))
        width = checks.real("width", width, "a share of the range in (0, 1]", 0.0, math.inf)
        if width > 1.0:
            raise ParameterError("width", "a share of the range in (0, 1]", width)
        object.__setattr__(self, "width", width)

    @property
    def _line(self) -> tuple[float, float]:
        assert self.width is not None
        return 1.0, self.width

    @property
    def floor(self) -> float:
        """Probability of a report that tells nothing: uniform over all there are."""
        length, window = self._line
        return 1.0 / (1.0 + math.expm1(self.eps0) * window / (length + window))

    def __str__(self) -> str:
        return f"plateau of width {self.width:g} on [0, 1], eps0 = {self.eps0:g}"
