"""Unary encodings: one bit per value, each flipped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.randomizers.base import Randomizer, VictimPair
from shuffledp.accounting.randomizers.finite import BY_SYMMETRY
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.swaps import Arrival, OtherLaw, Swap
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import down, roundings, up

_LEAST_BUDGET = 1e-13
"""Below, flipping bits with a probability next to 1/2 tells nothing sure."""


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
    pair_argument = BY_SYMMETRY

    def __post_init__(self) -> None:
        checks.store_size(self, "k", 2)
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

    Returns
    -------
    UnaryEncoding
        A bit for each value.

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

    Returns
    -------
    UnaryEncoding
        A bit for each value.

    Examples
    --------
    >>> from shuffledp import optimised_unary
    >>> optimised_unary(8, eps0=2.0).keep
    0.5
    """
    return UnaryEncoding(k, 0.5, _flip(eps0, 1.0), "optimised unary encoding")
