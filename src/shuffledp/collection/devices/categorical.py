"""Devices of users who hold one of k values.

A report is a value (k-RR), k bits in bytes (unary encoding, subset selection of many), a few values
(subset selection of few), the coefficients of a hash and a hashed value (local hashing), or the
number of a codeword (Hadamard response).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.randomizers import (
    KRR,
    BinaryRR,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.collection.devices.coins import Coins
from shuffledp.collection.devices.device import Device, Reports, categories, runs
from shuffledp.collection.devices.dyadic import BITS, ONE, budget, exp_below, numerator_up
from shuffledp.collection.devices.integers import bernoulli, uniform
from shuffledp.collection.devices.stream import Stream


class Response:
    """k-ary randomized response: with probability beta a uniform value replaces the true one."""

    def __init__(self, k: int, eps0: float) -> None:
        self.k = k
        self.beta = numerator_up(Fraction(k) / (exp_below(eps0) + k - 1))
        self.ratio = 1 + (1 / Fraction(self.beta, ONE) - 1) * k
        self.eps0 = budget(eps0, self.ratio)
        self.replaced = self.beta / ONE
        self.kept = 1.0 - self.replaced * (1.0 - 1.0 / k)  # the true value, at last

    def answer(self, values: NDArray[Any], stream: Stream) -> NDArray[Any]:
        """The values, some replaced."""
        out = values.astype(np.min_scalar_type(self.k - 1))
        replaced = np.flatnonzero(bernoulli(stream, self.beta, BITS, out.size))
        out[replaced] = uniform(stream, self.k, replaced.size)
        return out


class Categorical(Device):
    """One of k values per user."""

    k: int

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        return categories(values, self.k)


@runs(KRR, BinaryRR)
class ResponseDevice(Categorical):
    """A value per report."""

    columns = 1

    def __init__(self, asked: KRR) -> None:
        self.k = asked.k
        self.response = Response(asked.k, asked.eps0)
        self.randomizer = replace(asked, eps0=self.response.eps0)
        self.dtype = np.min_scalar_type(asked.k - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        return self.response.answer(inputs, stream)


class Bitset(Categorical):
    """k bits per report, eight to a byte, the first value in the highest bit."""

    dtype = np.dtype(np.uint8)

    @property
    def columns(self) -> int:  # type: ignore[override]
        return -(-self.k // 8)


@runs(UnaryEncoding)
class UnaryDevice(Bitset):
    """Each bit of its own: the true value's kept with one probability, others set with another."""

    def __init__(self, asked: UnaryEncoding) -> None:
        self.k = asked.k
        assert asked.lose is not None
        self.lose = numerator_up(Fraction(asked.lose))
        self.flip = numerator_up(Fraction(asked.flip))
        self.width = 4 * self.columns
        self._coins = Coins(self.flip)
        keep = (ONE - self.lose) / ONE
        self.randomizer = replace(asked, keep=keep, flip=self.flip / ONE, lose=self.lose / ONE)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        n, columns = inputs.size, self.columns
        out = self._coins.draw(n * columns, stream)
        out[columns - 1 :: columns] &= 0xFF << (-self.k % 8) & 0xFF
        place = np.arange(0, n * columns, columns) + (inputs >> 3)
        bit = np.right_shift(128, inputs & 7).astype(np.uint8)
        kept = ~bernoulli(stream, self.lose, BITS, n)
        out[place] = out[place] & ~bit | bit * kept
        return out


class Subsets(Categorical):
    """A subset of d values, drawn among those that hold, or miss, the true one."""

    def __init__(self, asked: SubsetSelection) -> None:
        assert asked.d is not None
        self.k, self.d = asked.k, asked.d
        odds = Fraction(self.d, self.k - self.d)
        self.without = numerator_up(1 / (1 + odds * exp_below(asked.eps0)))
        ratio = (Fraction(ONE, self.without) - 1) / odds
        self.randomizer = replace(asked, eps0=budget(asked.eps0, ratio))


class SubsetBits(Subsets, Bitset):
    """A bit for each value; subsets are drawn by Floyd's method."""

    def __init__(self, asked: SubsetSelection) -> None:
        super().__init__(asked)
        self.width = asked.k

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        n, k = inputs.size, self.k
        users = np.arange(n)
        inside = ~bernoulli(stream, self.without, BITS, n)
        # the true value sits in the last place while the others are drawn, then goes home
        member = np.zeros((n, k), np.bool_)
        member[:, k - 1] = inside
        for step in range(self.d):
            # with the true value inside one fewer is drawn: those users join a step later
            top = k - 1 - self.d + step
            who = users if step else users[~inside]
            if step == 0 and who.size == 0:
                continue
            place = uniform(stream, top + 1, who.size)
            taken = member[who, place]
            member[who, np.where(taken, top, place)] = True
        at_home = member[users, inputs].copy()
        member[users, inputs] = member[:, k - 1]
        elsewhere = inputs != k - 1
        member[elsewhere, k - 1] = at_home[elsewhere]
        return np.packbits(member, axis=1)


class SubsetList(Subsets):
    """The d values, in rising order: few of very many."""

    def __init__(self, asked: SubsetSelection) -> None:
        super().__init__(asked)
        self.columns = self.d
        self.width = 2 * self.d
        self.dtype = np.min_scalar_type(asked.k - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        inside = ~bernoulli(stream, self.without, BITS, inputs.size)
        out = np.empty((inputs.size, self.d), np.int64)
        for who, known in ((np.flatnonzero(~inside), 0), (np.flatnonzero(inside), 1)):
            others = _different(stream, self.k - 1, self.d - known, who.size)
            true = inputs[who, None]
            out[who, known:] = others + (others >= true)
            out[who, :known] = true
        out.sort(axis=1)
        return out


def _different(stream: Stream, below: int, size: int, n: int) -> NDArray[np.int64]:
    """n subsets of this size of the numbers below: what was drawn already is drawn again, so each
    is the first different ones of a sequence, and all subsets are alike."""
    out = uniform(stream, below, n * size).astype(np.int64).reshape(n, size)
    users = np.arange(n)
    while users.size:
        rows = np.sort(out[users], axis=1)
        again = np.zeros(rows.shape, np.bool_)
        again[:, 1:] = rows[:, 1:] == rows[:, :-1]
        rows[again] = uniform(stream, below, int(again.sum()))
        out[users] = rows
        users = users[again.any(axis=1)]
    return out


@runs(SubsetSelection)
def subset_device(asked: SubsetSelection) -> Subsets:
    """In whichever form is shorter."""
    listed = SubsetList(asked)
    bits = -(-asked.k // 8)
    return listed if listed.columns * listed.dtype.itemsize < bits else SubsetBits(asked)


@runs(LocalHashing)
class HashingDevice(Categorical):
    """Coefficients a_0, a_1, ... of a random hash, then the hash of the value, randomized.

    The hash of x is the sum of the a_j over the binary digits j of x, modulo g. Differences of two
    hashes are exactly uniform, of three exactly independent (distinct non-zero binary vectors have
    an odd minor), for every g: what the accountant takes for granted holds.
    """

    def __init__(self, asked: LocalHashing) -> None:
        assert asked.g is not None
        self.k, self.g = asked.k, asked.g
        self.response = Response(asked.g, asked.eps0)
        self.randomizer = replace(asked, eps0=self.response.eps0)
        self.digits = (asked.k - 1).bit_length()
        self.columns = self.width = self.digits + 1
        self.dtype = np.min_scalar_type(self.g - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        n = inputs.size
        out = np.empty((n, self.columns), self.dtype)
        out[:, :-1] = uniform(stream, self.g, n * self.digits).reshape(n, self.digits)
        hashed = np.zeros(n, np.int64)
        for j in range(self.digits):
            hashed += np.where((inputs >> j) & 1, out[:, j].astype(np.int64), 0)
        out[:, -1] = self.response.answer(hashed % self.g, stream)
        return out


def hadamard_rows(k: int) -> NDArray[np.int64]:
    """The row of each value: non-zero, and for three values linearly independent."""
    return np.array([1, 2, 4]) if k == 3 else np.arange(1, k + 1)


@runs(HadamardResponse)
class HadamardDevice(Categorical):
    """The number of a codeword: its bits agree with the value's row an even number of times,
    or not."""

    columns = 1

    def __init__(self, asked: HadamardResponse) -> None:
        self.k = asked.k
        self._rows = hadamard_rows(asked.k)
        self.odd = numerator_up(1 / (1 + exp_below(asked.eps0)))
        ratio = Fraction(ONE, self.odd) - 1
        self.randomizer = replace(asked, eps0=budget(asked.eps0, ratio))
        self.word_bits = int(self._rows.max()).bit_length()
        self.dtype = np.min_scalar_type((1 << self.word_bits) - 1)

    def _encode(self, inputs: NDArray[Any], stream: Stream) -> Reports:
        rows = self._rows[inputs]
        word = stream.bits(inputs.size, self.word_bits).astype(np.int64)
        odd = np.bitwise_count(word & rows) & 1
        wanted = bernoulli(stream, self.odd, BITS, inputs.size)
        lowest = rows & -rows
        return np.where(odd == wanted, word, word ^ lowest)
