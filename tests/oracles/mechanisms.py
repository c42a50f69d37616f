"""Report laws of every mechanism, row by row, from its definition.

``rows[x][z]`` is the probability that a user holding the x-th input reports z, an Arb ball.
Outcomes whose likelihoods are proportional for all inputs listed are one outcome: how often each
of them came up tells nothing more. Where a mechanism has many inputs a few are listed, the
extreme ones among them; where its reports are real numbers they are cut into bins. Both leave out
attacks, so what these rows leak is at most the truth; for the mechanisms in ``BINNED`` it is less.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from flint import arb

Row = tuple[arb, ...]
Rows = list[Row]
Kinds = Iterable[tuple[tuple[int, ...], Any]]
"""(is the outcome likely under input 0, 1, ...) and how many, or how long, such outcomes are."""

BINNED = {"Laplace", "TruncatedLaplace", "Gaussian", "GaussianVector", "DiscreteGaussian"}


def two_level(kinds: Kinds, eps0: float) -> Rows:
    """Each outcome is e^eps0 times likelier, or not, for each input."""
    big = arb(eps0).exp()
    table = [(bits, arb(size)) for bits, size in kinds if size != 0]
    rows = []
    for x in range(len(table[0][0])):
        levels = [size * big if bits[x] else size for bits, size in table]
        total = sum(levels, arb(0))
        rows.append(tuple(level / total for level in levels))
    return rows


def order(a: arb, b: arb) -> int:
    """-1, 0, 1 as a is less than, about equal to, or greater than b."""
    return bool(a > b) - bool(a < b)


def _bits(inputs: int) -> Iterable[tuple[int, ...]]:
    return itertools.product((0, 1), repeat=inputs)


def krr(k: int, eps0: float) -> Rows:
    """The true value is e^eps0 times likelier than any other; values never held are alike."""
    held = min(k, 3)
    own = [(tuple(int(x == z) for x in range(held)), 1) for z in range(held)]
    return two_level([*own, ((0,) * held, k - held)], eps0)


def binary(eps0: float) -> Rows:
    return krr(2, eps0)


def one_bit_mean(eps0: float) -> Rows:
    """-1, 1 and 0: the last is a fair coin."""
    half = arb(1) / 2
    return [*krr(2, eps0), (half, half)]


def rounded_response(k: int, eps0: float) -> Rows:
    """The levels, and values between two of them."""
    levels = krr(k, eps0)
    between = [(levels[0], levels[1], arb(1) / 2), (levels[-1], levels[0], arb(1) / 3)]
    mixed = [tuple(t * x + (1 - t) * y for x, y in zip(a, b, strict=True)) for a, b, t in between]
    return [*levels, *mixed]


def local_hashing(eps0: float, g: int | None = None, k: int = 3, most: int = 3) -> Rows:
    """A report (hash function, y): likely for the values the function sends to y, each with 1/g."""
    if g is None:
        g = min(round(math.exp(min(eps0, 30.0))) + 1, 2**31)
    hit, miss = arb(1) / g, 1 - arb(1) / g
    return two_level(
        [
            (bits, math.prod((hit if bit else miss for bit in bits), start=arb(g)))
            for bits in _bits(min(k, most))
        ],
        eps0,
    )


def hadamard(eps0: float, k: int = 3) -> Rows:
    """A codeword: likely for the values whose rows it meets in an even number of places."""
    lines = [1, 2, 4] if k == 3 else list(range(1, min(k, 4) + 1))
    kinds: dict[tuple[int, ...], int] = {}
    for word in range(8):
        bits = tuple(int((word & line).bit_count() % 2 == 0) for line in lines)
        kinds[bits] = kinds.get(bits, 0) + 1
    return two_level(kinds.items(), eps0)


def subset_selection(k: int, eps0: float, d: int | None = None) -> Rows:
    """A subset of size d: likely for the values in it."""
    if d is None:
        d = max(1, round(k / (math.exp(eps0) + 1.0)))
    held = min(k, 3)
    kinds = []
    for bits in _bits(held):
        inside = sum(bits)
        possible = 0 <= d - inside <= k - held
        kinds.append((bits, math.comb(k - held, d - inside) if possible else 0))
    return two_level(kinds, eps0)


def piecewise(eps0: float) -> Rows:
    """-1, 1, 0 and 1/3 on [-1, 1]: a window of length C - 1 that moves with the value, in [-C, C]."""
    root = (arb(eps0) / 2).exp()
    c = (root + 1) / (root - 1)
    inputs = [arb(-1), arb(1), arb(0), arb(1) / 3]
    windows = []
    for x in inputs:
        left = (c + 1) / 2 * x - (c - 1) / 2
        windows.append((left, left + c - 1))
    edges = sorted([-c, c, *itertools.chain(*windows)], key=functools.cmp_to_key(order))
    kinds = []
    for a, b in itertools.pairwise(edges):
        middle, length = (a + b) / 2, b - a
        if length > 0:
            kinds.append((tuple(int(lo < middle and middle < hi) for lo, hi in windows), length))
    return two_level(kinds, eps0)


def discrete_piecewise(levels: int, window: int, eps0: float) -> Rows:
    """Value x, report in 0..levels + window - 1: likely are x, ..., x + window - 1."""
    inputs = sorted({0, levels, levels // 2, min(1, levels)})
    kinds: dict[tuple[int, ...], int] = {}
    for z in range(levels + window):
        bits = tuple(int(x <= z < x + window) for x in inputs)
        kinds[bits] = kinds.get(bits, 0) + 1
    return two_level(kinds.items(), eps0)


def plateau(width: float, eps0: float) -> Rows:
    """Windows of that length on a line one longer: at both ends, in the middle, near an end."""
    window = Fraction(width)
    starts = [Fraction(0), Fraction(1), Fraction(1, 2), window / 3]
    edges = sorted({edge for x in starts for edge in (x, x + window)} | {Fraction(0), 1 + window})
    kinds = []
    for low, high in itertools.pairwise(edges):
        bits = tuple(int(x <= low and high <= x + window) for x in starts)
        size = high - low
        kinds.append((bits, arb(size.numerator) / size.denominator))
    return two_level(kinds, eps0)


def unary(k: int, keep: float, flip: float, lose: float | None = None, name: str = "") -> Rows:
    """A bit per value: the own one is 1 with ``keep``, the others with ``flip``."""
    held = min(k, 3)
    off = 1 - arb(keep) if lose is None else arb(lose)
    own, other = (off, 1 - off), (1 - arb(flip), arb(flip))
    return [
        tuple(
            math.prod((own if i == x else other)[bit] for i, bit in enumerate(bits))
            for bits in _bits(held)
        )
        for x in range(held)
    ]


def channel(matrix: Sequence[Sequence[float]]) -> Rows:
    """The table itself, rows scaled to sum to 1."""
    rows = []
    for row in matrix:
        masses = [arb(float(mass)) for mass in row]
        total = sum(masses, arb(0))
        rows.append(tuple(mass / total for mass in masses))
    return rows


def _laplace_below(x: arb, centre: arb, rate: arb) -> arb:
    """Pr[centre + noise <= x]."""
    reach = rate * (x - centre)
    return reach.exp() / 2 if x <= centre else 1 - (-reach).exp() / 2


def laplace(eps0: float, bins: int = 5) -> Rows:
    """0, 1 and 1/2 on [0, 1]; outside [0, 1] all likelihood ratios of 0 and 1 are constant."""
    edges = [arb(i) / (bins - 2) for i in range(bins - 1)]
    return [
        _differences([_laplace_below(edge, centre, arb(eps0)) for edge in edges])
        for centre in (arb(0), arb(1), arb(1) / 2)
    ]


def _differences(below: list[arb]) -> Row:
    return (below[0], *(b - a for a, b in itertools.pairwise(below)), 1 - below[-1])


def discrete_laplace(levels: int, eps0: float) -> Rows:
    """Whole numbers; all reports beyond an end are as telling as the end itself."""
    decay = (-arb(eps0) / levels).exp()
    middle = range(1, levels) if levels <= 3 else [levels // 2]
    inputs = dict.fromkeys([0, levels, round(levels / 2), *middle])
    rows = []
    for x in inputs:
        masses = [decay ** abs(z - x) * (1 - decay) / (1 + decay) for z in range(levels + 1)]
        masses[0] /= 1 - decay
        masses[-1] /= 1 - decay
        rows.append(tuple(masses))
    return rows


def _normal_below(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian(
    sigma: float, sensitivity: float = 2.0, scalar: bool = False, spread: float | None = None
) -> Rows:
    """Both ends and the middle of an interval of that length; cuts inside it and ``spread`` beyond."""
    ratio = arb(sensitivity) / arb(sigma)
    beyond = 2 / ratio if spread is None else arb(spread)
    edges = [-beyond, arb(0), arb(1) / 2, arb(1), 1 + beyond]
    return [
        _differences([_normal_below((edge - centre) * ratio) for edge in edges])
        for centre in (arb(0), arb(1), arb(1) / 2)
    ]


def gaussian_vector(sigma: float, sensitivity: float = 2.0, dimensions: int = 1) -> Rows:
    """Vectors on a line."""
    return gaussian(sigma, sensitivity)


def discrete_gaussian(levels: int, variance: float) -> Rows:
    """Whole numbers; everything beyond the ends in two bins."""
    reach = math.ceil(60.0 * math.sqrt(variance)) + 2
    noise = {k: (-arb(k * k) / (2 * arb(variance))).exp() for k in range(-reach, reach + 1)}
    total = sum(noise.values(), arb(0))
    inputs = range(levels + 1) if levels <= 2 else (0, levels, levels // 2)
    rows = []
    for x in inputs:
        masses = [arb(0)] * (levels + 3)
        for k, mass in noise.items():
            masses[min(max(x + k, -1), levels + 1) + 1] += mass / total
        rows.append(tuple(masses))
    return rows


def one_coordinate(randomizer: Rows, dimensions: int) -> Rows:
    """A coordinate drawn at random is randomized and named.

    Vectors over the first two inner inputs, and those with the same input everywhere.
    """
    if dimensions == 1:
        return randomizer
    share = arb(1) / dimensions
    vectors = [*itertools.product(range(2), repeat=2), *((x, x) for x in range(2, len(randomizer)))]
    rows = []
    for vector in vectors:
        parts = (share, 1 - share)  # coordinates beyond the second are equal to it
        rows.append(
            tuple(
                part * mass for part, x in zip(parts, vector, strict=True) for mass in randomizer[x]
            )
        )
    return rows


def one_prefix(bits: int, step: int, eps0: float, g: int | None = None) -> Rows:
    """0 and words of a single bit: the first, the second, the last. Their hashes are independent.

    Half of the users tell of the whole word: as likely for every word as if it were to be found.
    """
    words = sorted({0, 1 << (bits - 1), 1 << max(bits - 2, 0), 1})
    lengths = range(step, bits + 1, step)
    rows: list[list[arb]] = [[] for _ in words]
    for length in lengths:
        prefixes = [word >> (bits - length) for word in words]
        distinct = sorted(set(prefixes))
        hashed = local_hashing(eps0, g, len(distinct), most=4)
        for row, prefix in zip(rows, prefixes, strict=True):
            share = (1 + (len(lengths) if length == bits else 0)) / arb(2 * len(lengths))
            row += [mass * share for mass in hashed[distinct.index(prefix)]]
    return [tuple(row) for row in rows]


def check_in(randomizer: Rows, rate: float) -> Rows:
    """Silence is one more symbol."""
    q = arb(rate)
    return [(*(q * mass for mass in row), 1 - q) for row in randomizer]


def any_ldp(eps0: float, delta0: float = 0.0) -> list[Rows]:
    """Some channels of that local budget, the extreme ones among them; delta0 shows the value."""
    channels = [
        krr(2, eps0),
        krr(3, eps0),
        two_level([((1, 1, 0), 1), ((1, 0, 1), 1), ((0, 1, 1), 1)], eps0),
        two_level([((1, 0, 1), 1), ((0, 1, 0), 1), ((1, 0, 0), 1), ((0, 1, 1), 1)], eps0),
    ]
    if not delta0:
        return channels
    shown = arb(delta0)
    return [
        [
            (*((1 - shown) * mass for mass in row), *(shown * (x == y) for y in range(len(rows))))
            for x, row in enumerate(rows)
        ]
        for rows in channels
    ]


ROWS: dict[str, Callable[..., Rows]] = {
    "KRR": krr,
    "BinaryRR": binary,
    "OneBitMean": one_bit_mean,
    "LocalHashing": local_hashing,
    "HadamardResponse": hadamard,
    "SubsetSelection": subset_selection,
    "Piecewise": piecewise,
    "DiscretePiecewise": discrete_piecewise,
    "Plateau": plateau,
    "RoundedResponse": rounded_response,
    "UnaryEncoding": unary,
    "Channel": channel,
    "Laplace": laplace,
    "TruncatedLaplace": laplace,
    "DiscreteLaplace": discrete_laplace,
    "Gaussian": gaussian,
    "GaussianVector": gaussian_vector,
    "DiscreteGaussian": discrete_gaussian,
    "OneCoordinate": one_coordinate,
    "OnePrefix": one_prefix,
    "CheckIn": check_in,
}
"""By the name of the class, with the names of its parameters."""
