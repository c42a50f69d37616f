"""Randomizers with finitely many kinds of outcomes.

Every outcome is grouped by its likelihoods for the victim's two values and for the base, so the
size of the domain never matters. E = exp(eps0).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import (
    Arrival,
    OtherLaw,
    Swap,
    channel_swap,
    two_levels,
    windows,
)
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array, down, roundings, up

Kinds = dict[tuple[int, ...], float]
"""(likely under x, x', x'') -> number or measure of such outcomes."""

_LEAST_BUDGET = 1e-13
"""Of a unary encoding: below, flipping bits with a probability next to 1/2 tells nothing sure."""
_LN_2, _LN_2_REST = math.log(2.0), 2.3190468138462996e-17
_MOST_SWAPPED = 5000
"""Laws times pairs times outcomes of a channel for which the swap bound is computed."""
_BY_SYMMETRY = "all pairs of inputs are alike by symmetry"


@dataclass(frozen=True)
class Symmetric(Randomizer):
    """Every outcome is E times likelier, or not, for each value, and all values are alike."""

    eps0: float = field(kw_only=True)
    pair_argument = _BY_SYMMETRY

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "eps0", checks.real("eps0", self.eps0, "a number in (0, 300)", 0.0, 300.0)
        )

    @abstractmethod
    def _triples(self) -> tuple[Kinds, float]:
        """Size of each kind of outcome (likely under x, x', x'') and the smaller likelihood."""

    def _outcomes(self, base: int | None, third: Kinds | None = None) -> Outcomes:
        """Base: the value of this index, or the blanket of the smaller likelihood."""
        sizes, unit = self._triples()
        sizes = third or sizes
        if base != 2:  # the third value does not matter
            pairs: Kinds = {}
            for kind, size in sizes.items():
                pairs[kind[:2]] = pairs.get(kind[:2], 0.0) + size
            sizes = pairs
        present = {kind: size for kind, size in sizes.items() if size > 0.0}
        likely, measure = np.array(list(present)).T == 1, np.array(list(present.values()))
        first, second, *others = measure * unit * np.where(likely, math.exp(self.eps0), 1.0)
        if base is None:  # what x has beyond the smaller likelihood
            rest = math.fsum(measure[likely[0]]) * unit * math.expm1(self.eps0)
            return Outcomes.discrete(first, second, measure * unit, rest)
        return Outcomes.discrete(first, second, (first, second, *others)[base])

    def blankets(self) -> list[VictimPair]:
        return [VictimPair("x against x'", "blanket", self._outcomes(None), symmetric=True)]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        # "all at x" mirrors "all at x'": exchanging the victim's values covers it
        found = [VictimPair("x against x'", "all at x'", self._outcomes(1))]
        if self._only_two:
            return found
        between = self._third_between
        return found + [
            VictimPair(
                "x against x'", f"all at {words}", self._outcomes(2, third), symmetric=between
            )
            for words, third in self._thirds().items()
        ]

    def _thirds(self) -> dict[str, Kinds]:
        """Kinds of outcomes for each relation that a third value can have to x and x'."""
        return {"a third value": self._triples()[0]}

    def swaps(self) -> list[Swap]:
        unit, thirds = self._triples()[1], self._possible_thirds()
        return [two_levels(self.eps0, unit, thirds, not self._only_two)]

    def _possible_thirds(self) -> list[Kinds]:
        """Those that a guarantee must cover."""
        return list(self._thirds().values())

    @property
    def _only_two(self) -> bool:
        return False

    @property
    def _third_between(self) -> bool:
        """Whether the third value is to x as to x'."""
        return True


class _OneOfK(Symmetric):
    """Users hold one of k values."""

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", checks.whole("k", self.k, 2))

    @property
    def _only_two(self) -> bool:
        return self.k == 2


_SUM_OF_TWO: Kinds = {(1, 1, 1): 0.25, (1, 0, 0): 0.25, (0, 1, 0): 0.25, (0, 0, 1): 0.25}
"""A third codeword that is the sum of the two: likely where both are, or neither."""


def _independent(share: float) -> Kinds:
    """Kinds when each value finds an outcome likely with this share, independently."""
    return {
        kind: math.prod(share if likely else 1.0 - share for likely in kind)
        for kind in itertools.product((0, 1), repeat=3)
    }


@dataclass(frozen=True)
class KRR(_OneOfK):
    """k-ary randomized response: the true value with probability E / (E + k - 1).

    Parameters
    ----------
    k
        Number of values.
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> round(Shuffled(KRR(16, eps0=2.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.23
    """

    k: int

    def __str__(self) -> str:
        return f"{self.k}-ary randomized response, eps0 = {self.eps0:g}"

    def _triples(self) -> tuple[Kinds, float]:
        sizes: Kinds = {(1, 0, 0): 1.0, (0, 1, 0): 1.0}
        sizes |= {(0, 0, 0): 0.0} if self.k == 2 else {(0, 0, 1): 1.0, (0, 0, 0): self.k - 3.0}
        return sizes, 1.0 / (math.exp(self.eps0) + self.k - 1.0)


@dataclass(frozen=True)
class BinaryRR(KRR):
    """Binary randomized response.

    Parameters
    ----------
    eps0
        Local budget: the true bit with probability E / (E + 1), E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import BinaryRR, Shuffled
    >>> round(Shuffled(BinaryRR(eps0=1.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.149
    """

    k: int = field(default=2, init=False)

    def __str__(self) -> str:
        return f"binary randomized response, eps0 = {self.eps0:g}"


@dataclass(frozen=True)
class OneBitMean(BinaryRR):
    """Duchi et al.'s one-bit mean on [-1, 1]: a coin biased by the value, then +-1.

    Parameters
    ----------
    eps0
        Local budget.

    Examples
    --------
    >>> from shuffledp import OneBitMean, Shuffled
    >>> round(Shuffled(OneBitMean(eps0=1.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.149
    """

    pair_argument = (
        "the law is linear in the value, so by joint convexity the end points -1 and 1 are worst"
    )

    def __str__(self) -> str:
        return f"one-bit mean on [-1, 1], eps0 = {self.eps0:g}"


@dataclass(frozen=True)
class LocalHashing(_OneOfK):
    """Local hashing: a public random hash to g values, then g-ary randomized response.

    Parameters
    ----------
    g
        Hash range; the optimum, round(E) + 1, unless given. Hashes collide with probability 1/g.
    k
        Number of values; it matters only to data sets, which have no third value if 2.
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import LocalHashing
    >>> LocalHashing(k=100, eps0=2.0).g
    8
    """

    g: int | None = None
    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        g = min(round(math.exp(min(self.eps0, 30.0))) + 1, 2**31) if self.g is None else self.g
        object.__setattr__(self, "g", checks.whole("g", g, 2))

    def __str__(self) -> str:
        return f"local hashing to {self.g} values, eps0 = {self.eps0:g}"

    def _triples(self) -> tuple[Kinds, float]:
        assert self.g is not None
        g = float(self.g)
        same, pair, apart = 1.0 / g**2, (g - 1.0) / g**2, (g - 1.0) * (g - 2.0) / g**2
        single = apart + pair  # one value's cell is its own: all apart, or the other two collide
        sizes: Kinds = {
            (1, 1, 1): same,
            (1, 1, 0): pair,
            (1, 0, 1): pair,
            (0, 1, 1): pair,
            (1, 0, 0): single,
            (0, 1, 0): single,
            (0, 0, 1): single,
            (0, 0, 0): same * (g - 1.0) + 3.0 * pair * (g - 2.0) + apart * max(g - 3.0, 0.0),
        }
        return sizes, 1.0 / (math.exp(self.eps0) + g - 1.0)


@dataclass(frozen=True)
class HadamardResponse(_OneOfK):
    """Hadamard response: half of the codewords are E times likelier, two halves cross evenly.

    Our devices give three values codewords of which none is the sum of two others; data sets know
    that, guarantees do not rely on it.

    Parameters
    ----------
    k
        Number of values.
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import HadamardResponse, Shuffled
    >>> round(Shuffled(HadamardResponse(5, eps0=1.0), n=1000).bound("blanket", delta=1e-6).value, 3)
    0.103
    """

    k: int = 3

    def __str__(self) -> str:
        return f"Hadamard response, eps0 = {self.eps0:g}"

    def _triples(self) -> tuple[Kinds, float]:
        return _independent(0.5), 2.0 / (math.exp(self.eps0) + 1.0)

    def _thirds(self) -> dict[str, Kinds]:
        thirds = super()._thirds()
        if self.k > 3:
            thirds["the value whose codeword is the sum of both"] = _SUM_OF_TWO
        return thirds

    def _possible_thirds(self) -> list[Kinds]:
        return [self._triples()[0], _SUM_OF_TWO]  # other codes of three values have it too


@dataclass(frozen=True)
class SubsetSelection(_OneOfK):
    """Subset selection: a subset of size d, E times likelier if it holds the true value.

    Parameters
    ----------
    k
        Number of values.
    d
        Size of the subset; the optimum, round(k / (E + 1)) and at least 1, unless given.
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import SubsetSelection
    >>> SubsetSelection(10, eps0=1.0).d
    3
    """

    k: int
    d: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        d = max(1, round(self.k / (math.exp(self.eps0) + 1.0))) if self.d is None else self.d
        object.__setattr__(self, "d", checks.whole("d", d, 1))
        if self.d is not None and self.d >= self.k:
            raise ParameterError("d", f"less than k = {self.k}", self.d)

    def __str__(self) -> str:
        return f"subset selection of {self.d} in {self.k}, eps0 = {self.eps0:g}"

    def _triples(self) -> tuple[Kinds, float]:
        assert self.d is not None
        k, d = self.k, self.d
        named = min(3, k)
        sizes: Kinds = {}
        for kind in itertools.product((0, 1), repeat=3):
            inside = sum(kind)
            if named == 2 and kind[2]:
                continue
            # share of the C(k, d) subsets that hold exactly these of the named values
            share = 1.0
            for j in range(inside):
                share *= max(d - j, 0) / (k - j)
            for j in range(named - inside):
                share *= max(k - d - j, 0) / (k - inside - j)
            sizes[kind] = share
        return sizes, k / (d * math.exp(self.eps0) + k - d)


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

    pair_argument = (
        "less overlap of the two windows is a mean-preserving spread; windows of values far apart"
        " do not overlap"
    )

    def swaps(self) -> list[Swap]:
        return windows(self.eps0, 2.0, 2.0 / math.expm1(0.5 * self.eps0))

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
        checks.whole("levels", self.levels, 1)
        if checks.whole("window", self.window, 1) > self.levels:
            raise ParameterError("window", f"at most levels = {self.levels}", self.window)

    def swaps(self) -> list[Swap]:
        return windows(self.eps0, self.levels - self.window, self.window)

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


@dataclass(frozen=True)
class UnaryEncoding(Randomizer):
    """One bit per value: the true one is 1 with probability ``keep``, any other with ``flip``.

    RAPPOR's basic one-time form and optimised unary encoding are the two common settings.

    Parameters
    ----------
    k
        Number of values.
    keep, flip
        Probabilities of a 1 in the true place and in any other.
    name
        What it is called in words.
    lose
        1 - keep, where that says more than ``keep`` in doubles.

    Examples
    --------
    >>> from shuffledp import rappor
    >>> round(rappor(8, eps0=2.0).eps0, 6)
    2.0
    """

    k: int
    keep: float
    flip: float
    name: str = "unary encoding"
    lose: float | None = None
    """1 - keep, where it is known to more digits."""
    pair_argument = _BY_SYMMETRY

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.whole("k", self.k, 2))
        (checks.probability if self.lose is None else checks.unit)("keep", self.keep)
        checks.probability("flip", self.flip)
        if self.flip >= self.keep:
            raise ParameterError("flip", f"less than keep = {self.keep}", self.flip)
        if self.lose is None:
            object.__setattr__(self, "lose", 1.0 - self.keep)
        checks.probability("lose", self.lose)

    @property
    def _gain(self) -> float:
        """keep - flip to full precision; from 1 - lose where that is the more precise."""
        assert self.lose is not None
        if self.lose == 1.0 - self.keep:
            return self.keep - self.flip
        return math.fsum([1.0, -self.lose, -self.flip])

    @property
    def eps0(self) -> float:  # type: ignore[override]
        assert self.lose is not None
        excess = self._gain / self.flip / self.lose  # keep (1-flip) / (flip lose) - 1
        if math.isinf(excess):
            return up(-math.log(self.flip) - math.log(self.lose), roundings(8))
        return up(math.log1p(excess), roundings(32))

    def __str__(self) -> str:
        return f"{self.name} of {self.k} values, eps0 = {self.eps0:g}"

    def _bits(self, others: str) -> Outcomes:
        """Bits of x and x' (and, for others at a third value, its bit too)."""
        assert self.lose is not None
        on, off = self.keep / self.flip, self.lose / (1.0 - self.flip)
        above = self._gain / self.flip / (1.0 - self.flip)  # on - off
        rows, rest = [], 0.0
        bits = 3 if others == "third" else 2
        for code in range(2**bits):
            y = [(code >> j) & 1 for j in range(bits)]
            mass = math.prod(self.flip if bit else 1.0 - self.flip for bit in y)
            likely = [on if bit else off for bit in y]
            if others == "blanket":
                # all ones: every value is likely; otherwise some value's bit is 0
                every = self.flip ** (self.k - 2)
                some = -math.expm1((self.k - 2) * math.log(self.flip))
                parts = [(mass * some, off), (mass * every, on)] if all(y) else [(mass, off)]
                rest += above * parts[0][0] if y[0] else 0.0
            else:
                parts = [(mass, likely[2 if others == "third" else 1])]
            rows += [(m * likely[0], m * likely[1], m * base) for m, base in parts if m > 0.0]
        first, second, third = np.array(rows).T
        return Outcomes.discrete(first, second, third, rest)

    def blankets(self) -> list[VictimPair]:
        return [VictimPair("x against x'", "blanket", self._bits("blanket"), symmetric=True)]

    def swaps(self) -> list[Swap]:
        """rho: no bit is true; so rho / r depends on the bit of the other user's value alone."""
        assert self.lose is not None
        ratios = self.lose / (1.0 - self.flip), self.keep / self.flip
        masses = 1.0 - self.flip, self.flip
        laws = []
        for place in range(min(self.k, 3)):
            bits = list(itertools.product((0, 1), repeat=max(place + 1, 2)))
            rho = np.array([math.prod(masses[bit] for bit in code) for code in bits])
            first, second, own = (rho * [ratios[code[i]] for code in bits] for i in (0, 1, place))
            laws.append(OtherLaw.of(first, second, own, rho))
        arrivals = []
        for code in itertools.product((0, 1), repeat=2):
            partners = [(i, 1.0 / ratios[code[i]]) for i in (0, 1)]
            partners += [(2, 1.0 / ratio) for ratio in ratios if self.k >= 3]
            first, second = (np.array([ratios[bit]]) for bit in code)
            arrivals.append(
                Arrival(
                    np.array([masses[code[0]] * masses[code[1]]]),
                    first,
                    second,
                    tuple((i, g, g) for i, g in partners),
                )
            )
        return [Swap(tuple(laws), (tuple(arrivals),), symmetric=True)]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        found = [VictimPair("x against x'", "all at x'", self._bits("x'"))]
        if self.k >= 3:
            third = self._bits("third")
            found.append(VictimPair("x against x'", "all at a third value", third, symmetric=True))
        return found


def _flip(eps0: float, share: float) -> float:
    """1 / (e^(share eps0) + 1), rounded up and so that its complement is a number too."""
    if not checks.real("eps0", eps0, "a number in (0, 300)", 0.0, 300.0) >= _LEAST_BUDGET:
        raise ParameterError("eps0", f"at least {_LEAST_BUDGET:g} for unary encodings", eps0)
    decay = math.exp(-down(share * eps0, roundings(64)))
    flip = up(decay / (1.0 + decay), roundings(16))
    return math.ceil(flip * 2.0**53) * 2.0**-53 if flip > 0.25 else flip


def rappor(k: int, eps0: float) -> UnaryEncoding:
    """Basic one-time RAPPOR: every bit kept with probability e^(eps0/2) / (1 + e^(eps0/2)).

    Parameters
    ----------
    k
        Number of values.
    eps0
        Local budget of the whole report.

    Examples
    --------
    >>> from shuffledp import rappor
    >>> round(rappor(8, eps0=2.0).keep, 4)
    0.7311
    """
    flip = _flip(eps0, 0.5)
    return UnaryEncoding(k, 1.0 - flip, flip, "RAPPOR", lose=flip)


def optimised_unary(k: int, eps0: float) -> UnaryEncoding:
    """Optimised unary encoding: keep 1/2, flip 1 / (E + 1).

    Parameters
    ----------
    k
        Number of values.
    eps0
        Local budget of the whole report, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import optimised_unary
    >>> optimised_unary(8, eps0=2.0).keep
    0.5
    """
    return UnaryEncoding(k, 0.5, _flip(eps0, 1.0), "optimised unary encoding")


def _table(matrix: object) -> Array:
    """A matrix of floats, or an error naming the row at fault."""
    try:
        rows = [np.array(row, dtype=np.float64) for row in matrix]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        for i, row in enumerate(matrix if isinstance(matrix, list | tuple) else [], start=1):
            try:
                np.array(row, dtype=np.float64)
            except (TypeError, ValueError):
                raise ParameterError("matrix", f"numbers only in row {i}", row) from None
        raise ParameterError("matrix", "a table of numbers", matrix) from None
    for i, row in enumerate(rows, start=1):
        if row.ndim != 1:
            raise ParameterError("matrix", "at least two rows of numbers", row.tolist())
        if row.shape != rows[0].shape:
            raise ParameterError("matrix", f"as long in row {i} as in row 1", row.tolist())
    return np.array(rows)


@dataclass(frozen=True, eq=False)
class Channel(Randomizer):
    """Any finite channel: row x is the law of the report of a user with value x.

    Parameters
    ----------
    matrix
        One row of probabilities per value; rows are normalised if they sum to 1 up to rounding.

    Examples
    --------
    >>> from shuffledp import Channel
    >>> round(Channel([[0.75, 0.25], [0.25, 0.75]]).eps0, 4)
    1.0986
    """

    matrix: Array
    pair_argument = "all pairs of inputs are computed"

    def __post_init__(self) -> None:
        rows = _table(self.matrix)
        if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] < 1:
            raise ParameterError(
                "matrix", "at least two rows of equal length", f"shape {rows.shape}"
            )
        for i, row in enumerate(rows):
            if not np.all(np.isfinite(row)):
                raise ParameterError("matrix", f"finite in row {i + 1}", row.tolist())
            if np.any(row < 0.0):
                raise ParameterError("matrix", f"non-negative in row {i + 1}", row.tolist())
            if abs(math.fsum(row) - 1.0) > 1e-9:
                raise ParameterError("matrix", f"a law summing to 1 in row {i + 1}", math.fsum(row))
        object.__setattr__(self, "matrix", rows / [[math.fsum(row)] for row in rows])

    def __str__(self) -> str:
        inputs, outputs = self.matrix.shape
        return f"channel with {inputs} inputs and {outputs} outputs, eps0 = {self.eps0:g}"

    @property
    def eps0(self) -> float:  # type: ignore[override]
        low, high = self.matrix.min(axis=0), self.matrix.max(axis=0)
        if np.any((low == 0.0) & (high > 0.0)):
            return math.inf
        low, high = low[high > 0.0], high[high > 0.0]
        with np.errstate(over="ignore"):
            excess = (high - low) / low  # the ratio without 1, to full precision
        logs = np.where(np.isinf(excess), np.log(high) - np.log(low), np.log1p(excess))
        largest = float(logs.max(initial=0.0))
        # rows are meant to sum to 1: what two of them lack moves their ratios
        lack = max(abs(math.fsum([*row, -1.0])) for row in self.matrix.tolist())
        return up(largest, roundings(64)) + 2.02 * lack if largest else 0.0

    def _pairs(self) -> list[tuple[int, int]]:
        inputs = len(self.matrix)
        return [(x, y) for x in range(inputs) for y in range(x + 1, inputs)]

    @cached_property
    def _rest(self) -> float:
        """What the smallest likelihoods lack of 1, from the rows normalised in fractions."""
        laws = []
        for row in self.matrix.tolist():
            masses = [Fraction(x) for x in row]
            total = sum(masses)
            laws.append([mass / total for mass in masses])
        columns = zip(*laws, strict=True)
        return float(1 - sum(min(column) for column in columns))

    def blankets(self) -> list[VictimPair]:
        blanket = self.matrix.min(axis=0)
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                "blanket",
                Outcomes.discrete(self.matrix[x], self.matrix[y], blanket, self._rest),
            )
            for x, y in self._pairs()
        ]

    def swaps(self) -> list[Swap]:
        rows = self.matrix[:, self.matrix.max(axis=0) > 0.0]
        if not rows.min() > 0.0 or len(rows) ** 3 * rows.shape[1] > _MOST_SWAPPED:
            return []
        return [channel_swap(rows, x, y) for x, y in self._pairs()]

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return [
            VictimPair(
                f"{x + 1} against {y + 1}",
                f"all at {z + 1}",
                Outcomes.discrete(self.matrix[x], self.matrix[y], row),
            )
            for x, y in self._pairs()
            for z, row in enumerate(self.matrix)
        ]
