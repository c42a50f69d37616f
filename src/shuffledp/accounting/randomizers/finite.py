"""Randomizers of two levels: every outcome is likely for a value or not, and all values are alike.

Every outcome is grouped by its likelihoods for the victim's two values and for the base, so the
size of the domain never matters. E = exp(eps0).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import (
    Swap,
    two_levels,
)
from shuffledp.errors import ParameterError

Kinds = dict[tuple[int, ...], float]
"""(likely under x, x', x'') -> number or measure of such outcomes."""

_MANY_LEVELS = 36.0
"""Beyond this budget no more levels, a quarter of a million, are of use."""
BY_SYMMETRY = "all pairs of inputs are alike by symmetry"


@dataclass(frozen=True)
class Symmetric(Randomizer):
    """Every outcome is E times likelier, or not, for each value, and all values are alike."""

    eps0: float = field(kw_only=True)
    pair_argument = BY_SYMMETRY

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
        checks.store_size(self, "k", 2)

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
    eps0: float = field(kw_only=False)

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
class RoundedResponse(KRR):
    """A number of [0, 1] rounded at random to one of k levels, then k-ary randomized response.

    Balle et al. 2019, for means: the rounding keeps the mean, and costs no privacy.

    Parameters
    ----------
    k
        Number of levels, 0 and 1 among them; unless given 1 + (1.5 E)^(1/3), rounded: about the
        best for the hardest values (docs/proofs/plateau.md).
    eps0
        Local budget, E = exp(eps0).

    Examples
    --------
    >>> from shuffledp import RoundedResponse
    >>> RoundedResponse(eps0=6.0).k
    9
    """

    k: int = None  # type: ignore[assignment]  # a number once it is made
    pair_argument = (
        "a law is a mixture of those of the levels, so by joint convexity two levels are worst, and"
        " all pairs of them are alike"
    )

    def __post_init__(self) -> None:
        Symmetric.__post_init__(self)
        asked: int | None = self.k
        if asked is None:
            best = math.exp((math.log(1.5) + min(self.eps0, _MANY_LEVELS)) / 3.0)
            object.__setattr__(self, "k", round(1.0 + best))
        super().__post_init__()

    def __str__(self) -> str:
        return f"rounding to {self.k} levels, {super().__str__()}"


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
        object.__setattr__(self, "g", checks.size("g", g, 2))

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
        object.__setattr__(self, "d", checks.size("d", d, 1))
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
