"""The swap bound: the victim's report exchanged with one that is chosen by looking at the reports.

Symbols as in docs/proofs/swap.md: the victim's report has law a or b, another user's r;
g = w rho / r; V = w (a - e b) / r, e = exp(epsilon); T = w + the sum of g over the other reports.
Weights w are 1 unless users are of several classes; T is then near n.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.scopes import (
    is_laplace,
    known_law,
    one_round,
    pure_ldp,
    whole_class,
)
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd
from shuffledp.accounting.curves.convert import Profile, tradeoff_below
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.curves.gdp import gaussian_log_delta, gaussian_start
from shuffledp.accounting.curves.losses import Samples, renyi_above
from shuffledp.accounting.randomizers import KRR, LDP, CheckIn, Randomizer
from shuffledp.accounting.randomizers.staircases import staircases
from shuffledp.accounting.randomizers.swaps import Arrival, OtherLaw, Swap, padded
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.composed_losses import Losses
from shuffledp.numerics.enclosure import COARSE, QUICK, Enclosure
from shuffledp.numerics.rounding import Array, down, roundings, up
from shuffledp.numerics.several_laws import SeveralLaws, Sums

_CHARGED = 1e-4
"""Share of delta that is charged for T outside its window, about."""
_LEAST_CHARGE = 1e-305
_ATTEMPTS, _EASED = 8, 0.6
_NODES = 6
_MERGED = 2e-3
"""Kinds of arrivals are told apart as long as they move sums by such a share of their spread."""
_WINDOW_CELL = 1e-4
_MOST_CELLS = 50_000
_TILTS = np.geomspace(0.3, 3.0, 9)
_ENTRIES = 1 << 20
"""Of a table of laws, about as many are taken at once."""
_SLACK = 1e-11
"""Relative: covers the roundings of sums of positive terms here."""


_FINE, _MIDDLE, _COARSE, _ROUGH = 2e-3, 4e-3, 1e-2, 5e-2
"""Relative width of delta aimed at: for answers, one round of many, a direction, other pairs."""
_POOR, _RUNG, _RUNGS = 0.5, 1.25, 5
"""A bound is poor if its logarithm is less than such a share of what is expected; then so many
smaller epsilons are tried."""
_STEEP, _RARE = 4.0, 2e-3
"""Chords are drawn between neighbours that differ by less, where larger losses are so rare."""
_STRIDES, _LESS = (1.4, 1.15, 1.05), 0.8
"""Pairs that leak less are looked at in such steps of epsilon only, where a limit says that they
leak such a share there, or less."""
_DEEPEST = 1e-30
"""Where delta ends in a divergence."""
LEAST_BUDGET, MOST_BUDGET, _LEAST_RATE, _LEAST_USERS = 1e-4, 30.0, 1e-6, 10


def swap_curve(pairs: list[Swap], counts: tuple[int, ...], eps0: float) -> SwapCurve:
    """The largest over these pairs, for so many users of each class, the victim included."""
    if sum(counts) < _LEAST_USERS:
        raise RegimeError(f"n >= {_LEAST_USERS}", str(sum(counts)))
    ways = [
        way for pair in pairs for way in ([pair] if pair.symmetric else [pair, pair.reversed()])
    ]

    ways.sort(key=lambda way: limit_power(way, counts), reverse=True)
    mus = [math.sqrt(min(limit_power(way, counts), 1e4)) for way in ways]
    roughly = [way.merged for way in ways]

    @lru_cache(maxsize=256)
    def rough(number: int, epsilon: float) -> float:
        return swap_delta(roughly[number], counts, epsilon, _ROUGH)

    @lru_cache(maxsize=256)
    def delta(epsilon: float, width: float) -> float:
        worst = swap_delta(ways[0], counts, epsilon, width)
        for number, way in enumerate(ways[1:], 1):
            looks = (*before(epsilon, mus[number], worst), epsilon)
            if all(rough(number, at) > worst for at in looks):
                worst = max(worst, swap_delta(way, counts, epsilon, width))
        return worst

    def looked(epsilon: float, width: float) -> float:
        value = delta(epsilon, _MIDDLE if QUICK > width >= COARSE else _COARSE)
        if width < COARSE:  # no more than what a coarse look finds
            value = min(value, delta(epsilon, _FINE))
        return value

    return falling_curve(looked, limit_power(ways[0], counts), eps0)


def before(epsilon: float, mu: float, most: float) -> Iterator[float]:
    """A smaller epsilon, one of few, at which a limit's delta is well below ``most``, if there is
    one: what holds there holds at epsilon, too."""
    found = gaussian_start(mu, _LESS * most)
    if found is None or found.x >= epsilon:
        return
    if found.x == 0.0:
        yield 0.0
        return
    steps = (s ** math.ceil(math.log(found.x) / math.log(s)) for s in _STRIDES)
    yield from itertools.islice((at for at in steps if at < epsilon), 1)


def falling_curve(delta: Callable[[float, float], float], power: float, eps0: float) -> SwapCurve:
    """From upper bounds on delta at an epsilon, of some width; ``power``: see ``falling``."""
    mu = math.sqrt(min(power, 1e4))
    return SwapCurve(falling(delta, mu), PureEnd(eps0), guess=partial(gaussian_start, mu))


def falling(delta: Callable[[float, float], float], mu: float) -> Profile:
    """From upper bounds on delta at an epsilon, of some width.

    Deep in the tail a bound may fail: then those at smaller epsilons, which hold too, are asked.
    ``mu``: of the limit of many users.
    """

    def poor(value: float, epsilon: float) -> bool:
        return math.log(max(value, _LEAST_CHARGE)) > _POOR * gaussian_log_delta(mu, epsilon)

    def profile(epsilon: float, width: float) -> Enclosure:
        value = delta(epsilon, width)
        if epsilon > mu > 0.0 and poor(value, epsilon):
            top = math.ceil(math.log(epsilon / mu) / math.log(_RUNG)) - 1
            for rung in range(top, max(top - _RUNGS, -1), -1):
                found = delta(mu * _RUNG**rung, QUICK)
                value = min(value, found)
                if not poor(found, mu * _RUNG**rung):
                    break
        return Enclosure(value, value)

    return profile


class SwapCurve(ProfileCurve):
    """Each delta takes milliseconds: divergences are made of few of them, joined from above."""

    def sampled(self, epsilons: list[float]) -> tuple[Ends, Ends]:
        """Every second one, and chords between neighbours: a profile is convex in exp(epsilon)."""

        def delta(epsilon: float) -> float:
            return self.forward(epsilon, COARSE).upper

        last = len(epsilons) - 1
        values = {i: delta(epsilons[i]) for i in {*range(0, last, 2), last}}
        for i in range(1, last, 2):
            left, right = values[i - 1], values[i + 1]
            before, at, after = epsilons[i - 1 : i + 2]
            if left > _STEEP * right or left - right > _RARE * (math.exp(after) - math.exp(before)):
                values[i] = delta(epsilons[i])
                continue
            share = math.expm1(at - before) / math.expm1(after - before)
            values[i] = up(left + share * (right - left), roundings(16.0))
        found = np.array([values[i] for i in range(last + 1)])
        return (found, found), (found, found)

    def renyi(self, order: float) -> float:
        return renyi_above(self._joined, order, self.end.epsilon)

    @cached_property
    def _joined(self) -> Losses:
        return Samples.take(self.sampled, self.end, _DEEPEST).above()

    def tradeoff(self, alpha: float) -> float:
        return tradeoff_below(self.forward, alpha, self.end)


def limit_power(pair: Swap, counts: tuple[int, ...]) -> float:
    """The square of mu, in the limit of many users."""
    return sum(
        count * max(float(x.mass @ (x.first - x.second) ** 2) for x in pair.of_class(k))
        for k, count in enumerate(counts)
    ) / (_centre(pair, counts, max) ** 2)


def _centre(pair: Swap, counts: tuple[int, ...], end: Callable[[Iterable[float]], float]) -> float:
    """The mean of T, at least or at most."""
    return math.fsum(
        count * end(x.weight for x in pair.of_class(k)) for k, count in enumerate(counts)
    )


def in_regime(randomizer: Randomizer) -> Randomizer:
    """One round in which nobody nearly always tells the truth, or nearly never reports."""
    one_round(randomizer)
    rate = randomizer.rate if isinstance(randomizer, CheckIn) else 1.0
    if not (LEAST_BUDGET <= randomizer.eps0 <= MOST_BUDGET and rate >= _LEAST_RATE):
        condition = (
            f"eps0 from {LEAST_BUDGET:g} to {MOST_BUDGET:g}, check-in of at least {_LEAST_RATE:g}"
        )
        raise RegimeError(condition, str(randomizer))
    return randomizer


def _few_laws(randomizer: Randomizer) -> Randomizer:
    """A randomizer of few kinds of laws, all known."""
    if not known_law(in_regime(randomizer)).swaps():
        raise RegimeError("few kinds of known laws that all allow every report", str(randomizer))
    return randomizer


def _not_exact_already(randomizer: Randomizer) -> Randomizer:
    """All but k-ary response of three values and more, whose blanket is exact."""
    inner = randomizer.randomizer if isinstance(randomizer, CheckIn) else randomizer
    if isinstance(inner, KRR) and inner.k > 2:
        raise RegimeError("a randomizer whose blanket is not exact", str(randomizer))
    return randomizer


def _of_unknown_law(randomizer: Randomizer) -> Randomizer:
    """Randomizers of which no more is known, or of whose laws the swap bounds know no more."""
    _not_exact_already(randomizer)
    in_regime(randomizer)
    if not isinstance(randomizer, LDP) and (randomizer.swaps() or is_laplace(randomizer)):
        raise RegimeError("a randomizer without a swap bound of its own", str(randomizer))
    return randomizer


def _one_for_all(randomizer: Randomizer) -> LDP:
    """Any randomizer of that budget, the same for all users, who look at their own values only."""
    found = pure_ldp(in_regime(randomizer))
    if found.sequential:
        raise RegimeError("reports that depend on the user's own value alone", str(found))
    return found


def _curve(randomizer: Randomizer, n: int) -> SwapCurve:
    return swap_curve(randomizer.swaps(), (n,), randomizer.eps0)


@bound(
    Theorem(
        id="swap",
        citation="our own; near it: arXiv 2602.09029 (limits of fixed compositions),"
        " 2601.19154 (the gap it closes)",
        statement="delta(eps) <= E[(sum of V_K / T_K)+] after the victim's report changed places"
        " with one chosen by looking at the reports; the supremum over what others hold is inside"
        " the integral",
        validity="randomizers of few kinds of known laws, 1e-4 <= eps0 <= 30, n >= 10, check-in of"
        " at least 1e-6; what a user reports depends on that user's value alone, not on other"
        " reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _few_laws,
    asked_of=_not_exact_already,
    dear=True,
)
def swap(randomizer: Randomizer, n: int) -> Curve:
    """For every data set at once: no claim which one is worst."""
    return _curve(randomizer, n)


@bound(
    Theorem(
        id="swap-ldp",
        citation="our own",
        statement="the swap bound over all eps0-LDP randomizers: their ratios are staircases, laws"
        " of the ratios (a/r, b/r) mixtures of six",
        validity="one eps0-LDP randomizer, the same for all users, 1e-4 <= eps0 <= 30, n >= 10;"
        " what a user reports depends on that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _one_for_all,
    asked_of=_of_unknown_law,
    dear=True,
)
def swap_ldp(randomizer: LDP, n: int) -> Curve:
    """For any randomizer of that budget."""
    return _curve(randomizer, n)


_FEWEST, _MOST = 30.0, 1000.0
"""Users per e^eps0 between which what all laws have in common hides the victim better than the
middle of its two laws does, and by enough to be worth asking."""


def _whole_class(randomizer: Randomizer) -> LDP:
    found = _one_for_all(whole_class(randomizer))
    if not 1.5 <= found.eps0 <= 3.5:
        raise RegimeError("eps0 from 1.5 to 3.5", str(found))
    return found


@bound(
    Theorem(
        id="swap-staircase",
        citation="our own",
        statement="the swap bound over all eps0-LDP randomizers, with what all laws have in common"
        " in the victim's place; cells of how much that is",
        validity="one eps0-LDP randomizer, the same for all users, 1.5 <= eps0 <= 3.5, n from 30 to"
        " 1000 e^eps0; what a user reports depends on that user's value alone, not on other"
        " reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _whole_class,
    asked_of=False,
    dear=True,
)
def swap_staircase(randomizer: LDP, n: int) -> Curve:
    """For few users of any randomizer of that budget; by name only, as it takes seconds."""
    if not _FEWEST <= n / math.exp(randomizer.eps0) <= _MOST:
        raise RegimeError(f"n from {_FEWEST:g} to {_MOST:g} exp(eps0)", f"{n} users")
    return swap_curve(staircases(randomizer.eps0), (n,), randomizer.eps0)


def swap_delta(pair: Swap, counts: tuple[int, ...], epsilon: float, width: float) -> float:
    """Upper bound on delta(epsilon) for this order of the pair, whatever the others hold.

    ``counts``: users of each class, the victim among them.
    """
    e, n = math.exp(epsilon), sum(counts)
    nearest, farthest = (_centre(pair, counts, end) for end in (min, max))
    spread = max(float(np.ptp(x.swap)) for x in pair.laws) * (1.0 + _SLACK)
    if spread < _MERGED * nearest / math.sqrt(n):
        pair = pair.merged
    crowds = _crowds(pair, counts)
    least = min(kind_weight + _least(others) for kind_weight, others in crowds) * (1.0 - _SLACK)
    log_charge, best = expected_charge(limit_power(pair, counts), epsilon), 1.0
    for _ in range(_ATTEMPTS):
        half = log_charge - math.log(2.0)
        below, above = (
            max(deviation(others, half, sign) for _, others in crowds) for sign in (-1.0, 1.0)
        )
        low = max(nearest - below - spread, least) * (1.0 - _SLACK)
        high = (farthest + above + spread) * (1.0 + _SLACK)
        if not low > spread:  # a narrower window, of more charge, as at a smaller epsilon
            log_charge *= _EASED
            continue
        value = _inside_window(pair, counts, e, low, high, width)
        best = min(best, (value + math.exp(log_charge)) * (1.0 + _SLACK))
        aim = charge_aimed(value)
        if value >= 1.0 or aim - 10.0 <= log_charge <= aim + 3.0:
            break
        log_charge = aim
    return best


Others = Sequence[tuple[int, tuple[OtherLaw, ...]]]
"""How many users besides the victim may have which laws, class after class."""


def _crowds(pair: Swap, counts: tuple[int, ...]) -> list[tuple[float, Others]]:
    """For each class in whose place something may arrive: its weight, and the others."""
    slots = {kind.slot: kind.weight for kinds in pair.arrivals for kind in kinds}
    return [
        (weight, [(m, pair.of_class(k)) for k, m in enumerate(_without(counts, slot)) if m])
        for slot, weight in slots.items()
    ]


def _without(counts: tuple[int, ...], slot: int) -> tuple[int, ...]:
    """All users but the one whose place is taken."""
    return tuple(count - (k == slot) for k, count in enumerate(counts))


def _least(others: Others) -> float:
    """The least sum of g."""
    return sum(m * min(float(x.swap.min()) for x in laws) for m, laws in others)


def charge_aimed(value: float) -> float:
    """log of what may be charged for T outside its window beside this value."""
    return math.log(max(_CHARGED * value, _LEAST_CHARGE))


def expected_charge(power: float, epsilon: float) -> float:
    """log of the charge to begin with: that of the limit of many users (mu^2 = power), or less."""
    mu = math.sqrt(max(power, 1e-300))
    depth = epsilon / mu
    about = min(math.log(mu), 0.0) - 0.5 * depth * depth - 2.0 * math.log1p(depth)
    return min(max(about + math.log(_CHARGED) + 1.0, -690.0), -5.0)


def deviation(others: Others, log_chance: float, sign: float) -> float:
    """s such that sign (sum of g - its mean) > s has at most this chance, whatever their laws."""
    reach = max(float(np.abs(x.swap - x.weight).max()) for _, laws in others for x in laws)
    if reach == 0.0:
        return 0.0
    power = sum(
        m * max(float(x.mass @ (x.swap - x.weight) ** 2) for x in laws) for m, laws in others
    )
    floor = 1e-12 * reach**2 * sum(m for m, _ in others)
    guess = min(math.sqrt(-2.0 * log_chance / max(power, floor)), 50.0 / reach)
    tilts = guess * _TILTS
    total = np.zeros_like(tilts)
    for m, laws in others:
        rise = np.zeros_like(tilts)
        for x in laws:  # E e^(tilt (g - w)) - 1, for E g = w
            shift = np.multiply.outer(sign * tilts, x.swap - x.weight)
            rise = np.maximum(rise, (np.expm1(shift) - shift) @ x.mass)
        total += m * np.log1p((rise + 1e-13 * tilts * reach) * (1.0 + _SLACK))
    return float(((total - log_chance) / tilts).min()) * (1.0 + _SLACK)


_laguerre = lru_cache(maxsize=_NODES)(np.polynomial.laguerre.laggauss)


def exponentials(low: float, high: float, least: float = 0.0) -> tuple[Array, Array]:
    """Factors and rates: on [low, high] 1 / T is at most the sum of factor e^(-rate T), and near.

    No rate is below ``least``, which must be below 1 / sqrt(low high).
    """
    middle, half = math.sqrt(low * high), 0.5 * math.log(high / low)
    count = next((k for k in range(1, _NODES) if half ** (2 * k) < 1e-3), _NODES)
    while count > 1 and _laguerre(count)[0][0] < least * middle:
        count -= 1
    nodes, weights = _laguerre(count)
    cells = min(2 + math.ceil(2.0 * half / _WINDOW_CELL), _MOST_CELLS)
    places = low * np.exp(np.linspace(0.0, up(2.0 * half, roundings(4.0)), cells + 1))
    sums = np.exp(-np.multiply.outer(places / middle - 1.0, nodes)) @ weights
    # on a cell 1 / T is at most 1 / its left end, the sum at least that at its right end
    factor = float((middle / (places[:-1] * sums[1:])).max()) * (1.0 + _SLACK)
    return factor * weights * np.exp(nodes) / middle, nodes / middle


def _inside_window(
    pair: Swap, counts: tuple[int, ...], e: float, low: float, high: float, width: float
) -> float:
    """E[(sum of W)+ / T] for T in [low, high], over the worst law of what arrives."""
    values = gain(pair.table.first, pair.table.second, e, pair.precision)
    total, mixture = np.zeros(len(pair.arrivals)), exponentials(low, high)
    for places in _places(pair, counts):
        laws = _moved_laws(pair, places, values, (low, high))
        own, theta = gain(places.first, places.second, e, pair.precision), None
        for factor, rate in zip(*(x.tolist() for x in mixture), strict=True):
            rates = np.full_like(places.weights, rate)
            logs, theta = laws.log_excesses(
                Sums(places.users, rates, own, places.mass), width, theta
            )
            logs += math.log(factor) - down(rates * places.weights, roundings(4.0))
            np.add.at(total, places.arrival, np.exp(np.minimum(logs, 600.0)))
    worst = float(total.max())
    return worst * (1.0 + pair.precision + _SLACK) if worst >= 0.0 else math.inf


def _moved_laws(
    pair: Swap, places: _Places, values: Array, window: tuple[float, float]
) -> SeveralLaws:
    """For each partner, W: the largest V / (1 + (g at the arrival - g) / T) in the window of T."""
    swap = pair.table.swap[places.rows]
    return SeveralLaws(
        pair.table.mass[places.rows],
        moved(values[places.rows], swap, places.arriving, window, pair.precision),
        down(swap, pair.precision + roundings(4.0)),
        pair.precision,
        places.starts,
    )


@dataclass(frozen=True, eq=False)
class _Places:
    """For each kind of report that may arrive a sum over all others, which may have these laws.

    ``rows``: of the pair's table, class after class of each sum; ``arriving``: of each row, the
    range of g at the arrival. ``arrival``: the law rho that the kind is part of.
    """

    rows: NDArray[np.intp]
    arriving: Array
    starts: tuple[int, ...]
    users: Array
    mass: Array
    first: Array
    second: Array
    weights: Array
    arrival: NDArray[np.intp]


@lru_cache(maxsize=64)
def _places(pair: Swap, counts: tuple[int, ...]) -> list[_Places]:
    """As many kinds at once as are not too large together."""
    kinds = [(at, kind) for at, kinds in enumerate(pair.arrivals) for kind in kinds]
    each = sum(len(kind.partners) for _, kind in kinds) * pair.table.mass.shape[1]
    parts = min(max(-(-each // _ENTRIES), 1), len(kinds))
    size = -(-len(kinds) // parts)
    return [_of_kinds(pair, counts, kinds[i : i + size]) for i in range(0, len(kinds), size)]


def _of_kinds(pair: Swap, counts: tuple[int, ...], kinds: Sequence[tuple[int, Arrival]]) -> _Places:
    classes = pair.classes or (0,) * len(pair.laws)
    rows: list[tuple[int, float, float]] = []
    starts: list[int] = []
    users: list[tuple[int, int]] = []
    for number, (_, kind) in enumerate(kinds):
        for k, count in enumerate(_without(counts, kind.slot)):
            if count:
                partners = [partner for partner in kind.partners if classes[partner[0]] == k]
                if not partners:
                    raise ValueError(f"users of class {k} without a law")
                starts.append(len(rows))
                users.append((number, count))
                rows += partners
    matrix = np.zeros((len(kinds), len(users)))
    for column, (number, count) in enumerate(users):
        matrix[number, column] = count
    laws, *ends = np.array(rows).T
    return _Places(
        rows=laws.astype(np.intp),
        arriving=np.array(ends)[:, :, None],
        starts=tuple(starts),
        users=matrix,
        mass=padded([kind.mass for _, kind in kinds]),
        first=_as_long([kind.first for _, kind in kinds]),
        second=_as_long([kind.second for _, kind in kinds]),
        weights=np.array([kind.weight for _, kind in kinds]),
        arrival=np.array([at for at, _ in kinds]),
    )


def _as_long(rows: Sequence[Array]) -> Array:
    """One row each; the shorter ones end with their first number again."""
    longest = max(map(len, rows))
    return np.array([[*row, *[row[0]] * (longest - len(row))] for row in rows])


def gain(first: Array, second: Array, e: float, precision: float) -> Array:
    """first - e second, rounded up."""
    found: Array = first - e * second + (precision + roundings(4.0)) * (first + e * second)
    return found


def moved(
    v: Array,
    swap: Array,
    arriving: tuple[float, float] | Array,
    window: tuple[float, float],
    precision: float,
) -> Array:
    """W: the largest V / (1 + (g at the arrival - g) / T), for g and T in these ranges; of one law,
    or of one in each row."""
    (least, most), (low, high) = arriving, window
    gap = np.where(v > 0.0, least - swap, most - swap)
    edge = np.where((gap < 0.0) == (v > 0.0), low, high)
    w = v / (1.0 + gap / edge)
    largest = swap.max(axis=-1, keepdims=True)
    found: Array = w + (roundings(8.0) + 2.0 * precision * largest / low) * np.abs(w)
    return found
