"""The swap bound: the victim's report exchanged with one that is chosen by looking at the reports.

Symbols as in docs/proofs/swap.md: the victim's report has law a or b, another user's r; g = rho / r;
V = (a - e b) / r, e = exp(epsilon); m = n - 1; T = 1 + the sum of g over the other reports, near n.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from shuffledp.accounting.bounds.scopes import known_law, one_round, pure_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers import LDP, CheckIn, Randomizer
from shuffledp.accounting.randomizers.swaps import Arrival, OtherLaw, Swap
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import QUICK, Enclosure
from shuffledp.numerics.rounding import Array, down, roundings, up
from shuffledp.numerics.several_laws import SeveralLaws

_CHARGED = 1e-4
"""Share of delta that is charged for T outside its window, about."""
_LEAST_CHARGE = 1e-305
_ATTEMPTS = 3
_NODES = 6
_MERGED = 2e-3
"""Kinds of arrivals are told apart as long as they move sums by such a share of their spread."""
_WINDOW_CELL = 1e-4
_MOST_CELLS = 50_000
_TILTS = np.geomspace(0.3, 3.0, 9)
_SLACK = 1e-11
"""Relative: covers the roundings of sums of positive terms here."""


_FINE, _COARSE = 2e-3, 1e-2
"""Relative width of delta aimed at, for answers and for pictures."""
_LEAST_BUDGET, _MOST_BUDGET, _LEAST_RATE, _LEAST_USERS = 1e-4, 30.0, 1e-6, 10


def _swap_curve(pairs: list[Swap], n: int, eps0: float) -> SwapCurve:
    ways = [
        way for pair in pairs for way in ([pair] if pair.symmetric else [pair, pair.reversed()])
    ]

    @lru_cache(maxsize=256)
    def delta(epsilon: float, width: float) -> float:
        return max(swap_delta(way, n, epsilon, width) for way in ways)

    def profile(epsilon: float, width: float) -> Enclosure:
        value = delta(epsilon, _COARSE)
        if width < QUICK:  # no more than what a coarse look finds
            value = min(value, delta(epsilon, _FINE))
        return Enclosure(value, value)

    power = max(_power(way) for way in ways)
    guess = partial(gaussian_start, math.sqrt(min(power / n, 1e4)))
    return SwapCurve(profile, PureEnd(eps0), guess=guess)


class SwapCurve(ProfileCurve):
    """Each delta takes milliseconds, too long for the integrals of a divergence."""

    def renyi(self, order: float) -> float:
        raise self._cannot("renyi")


def _power(pair: Swap) -> float:
    """n times the square of mu, in the limit of many users."""
    return max(float(x.mass @ (x.first - x.second) ** 2) for x in pair.laws)


def _in_regime(randomizer: Randomizer) -> Randomizer:
    """One round in which nobody nearly always tells the truth, or nearly never reports."""
    one_round(randomizer)
    rate = randomizer.rate if isinstance(randomizer, CheckIn) else 1.0
    if not (_LEAST_BUDGET <= randomizer.eps0 <= _MOST_BUDGET and rate >= _LEAST_RATE):
        condition = (
            f"eps0 from {_LEAST_BUDGET:g} to {_MOST_BUDGET:g}, check-in of at least {_LEAST_RATE:g}"
        )
        raise RegimeError(condition, str(randomizer))
    return randomizer


def _few_laws(randomizer: Randomizer) -> Randomizer:
    """A randomizer of few kinds of laws, all known."""
    if not known_law(_in_regime(randomizer)).swaps():
        raise RegimeError("few kinds of known laws that all allow every report", str(randomizer))
    return randomizer


def _one_for_all(randomizer: Randomizer) -> LDP:
    """Any randomizer of that budget, the same for all users, who look at their own values only."""
    found = pure_ldp(_in_regime(randomizer))
    if found.sequential:
        raise RegimeError("reports that depend on the user's own value alone", str(found))
    return found


def _curve(randomizer: Randomizer, n: int) -> SwapCurve:
    if n < _LEAST_USERS:
        raise RegimeError(f"n >= {_LEAST_USERS}", str(n))
    return _swap_curve(randomizer.swaps(), n, randomizer.eps0)


@bound(
    Theorem(
        id="swap",
        citation="our own; near it: arXiv 2602.09029 (limits of fixed compositions), 2601.19154 (the gap it closes)",
        statement="delta(eps) <= E[(sum of V_K / T_K)+] after the victim's report changed places with one chosen"
        " by looking at the reports; the supremum over what others hold is inside the integral",
        validity="randomizers of few kinds of known laws, 1e-4 <= eps0 <= 30, n >= 10, check-in of at least 1e-6;"
        " what a user reports depends on that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _few_laws,
    asked_of=False,
)
def swap(randomizer: Randomizer, n: int) -> Curve:
    """For every data set at once: no claim which one is worst."""
    return _curve(randomizer, n)


@bound(
    Theorem(
        id="swap-ldp",
        citation="our own",
        statement="the swap bound over all eps0-LDP randomizers: their ratios are staircases, laws of the ratios"
        " (a/r, b/r) mixtures of six",
        validity="one eps0-LDP randomizer, the same for all users, 1e-4 <= eps0 <= 30, n >= 10; what a user"
        " reports depends on that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _one_for_all,
    asked_of=False,
)
def swap_ldp(randomizer: LDP, n: int) -> Curve:
    """For any randomizer of that budget."""
    return _curve(randomizer, n)


def swap_delta(pair: Swap, n: int, epsilon: float, width: float) -> float:
    """Upper bound on delta(epsilon) for this order of the pair, whatever the others hold."""
    e, m = math.exp(epsilon), n - 1
    spread = max(float(np.ptp(x.swap)) for x in pair.laws) * (1.0 + _SLACK)
    least = min(float(x.swap.min()) for x in pair.laws) * (1.0 - _SLACK)
    if spread < _MERGED * math.sqrt(n):
        pair = pair.merged()
    log_charge, best = _expected(pair, n, epsilon), 1.0
    for _ in range(_ATTEMPTS):
        half = log_charge - math.log(2.0)
        below, above = (deviation(pair.laws, m, half, sign) for sign in (-1.0, 1.0))
        low = max(n - below - spread, 1.0 + m * least) * (1.0 - _SLACK)
        high = (n + above + spread) * (1.0 + _SLACK)
        if not low > spread:
            break
        value = _inside_window(pair, n, e, low, high, width)
        best = min(best, (value + math.exp(log_charge)) * (1.0 + _SLACK))
        aim = math.log(max(_CHARGED * value, _LEAST_CHARGE))
        if value >= 1.0 or aim - 10.0 <= log_charge <= aim + 3.0:
            break
        log_charge = aim
    return best


def _expected(pair: Swap, n: int, epsilon: float) -> float:
    """About log delta, and less: by the central limit theorem."""
    depth = epsilon * math.sqrt(n / max(_power(pair), 1e-300))
    return max(-0.5 * depth * depth - math.log1p(depth) + math.log(_CHARGED) - 3.0, -690.0)


def deviation(laws: tuple[OtherLaw, ...], m: int, log_chance: float, sign: float) -> float:
    """s such that sign (g_1 + ... + g_m - m) > s has at most this chance, whichever laws they have."""
    reach = max(float(np.abs(x.swap - 1.0).max()) for x in laws)
    if reach == 0.0:
        return 0.0
    power = max(float(x.mass @ (x.swap - 1.0) ** 2) for x in laws)
    guess = min(math.sqrt(-2.0 * log_chance / (m * max(power, 1e-12 * reach**2))), 50.0 / reach)
    tilts = guess * _TILTS
    rise = np.zeros_like(tilts)
    for x in laws:  # E e^(tilt (g - 1)) - 1, for E g = 1
        shift = np.multiply.outer(sign * tilts, x.swap - 1.0)
        rise = np.maximum(rise, (np.expm1(shift) - shift) @ x.mass)
    rise = np.log1p((rise + 1e-13 * tilts * reach) * (1.0 + _SLACK))
    return float(((m * rise - log_chance) / tilts).min()) * (1.0 + _SLACK)


_laguerre = lru_cache(maxsize=_NODES)(np.polynomial.laguerre.laggauss)


def exponentials(low: float, high: float, least: float = 0.0) -> tuple[Array, Array]:
    """Factors and rates: 1 / T is at most the sum of factor e^(-rate T) on [low, high], and near it.

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


def _inside_window(pair: Swap, n: int, e: float, low: float, high: float, width: float) -> float:
    """E[(sum of W)+ / T] for T in [low, high], over the worst law of what arrives."""
    factors, rates = exponentials(low, high)
    values = [_gain(x.first, x.second, e, pair.precision) for x in pair.laws]
    worst = 0.0
    for kinds in pair.arrivals:
        total, theta = 0.0, None
        for kind in kinds:
            laws = _moved_laws(pair, values, kind, low, high)
            gain = _gain(kind.first, kind.second, e, pair.precision)
            for factor, rate in zip(factors.tolist(), rates.tolist(), strict=True):
                log, theta = laws.log_excess(n - 1, rate, gain, kind.mass, width, theta)
                total += math.exp(min(log - rate + math.log(factor), 600.0))
        worst = max(worst, total) if total >= 0.0 else math.inf
    return worst * (1.0 + pair.precision + _SLACK)


def _gain(first: Array, second: Array, e: float, precision: float) -> Array:
    """first - e second, rounded up."""
    gain: Array = first - e * second + (precision + roundings(4.0)) * (first + e * second)
    return gain


def _moved_laws(
    pair: Swap, values: list[Array], kind: Arrival, low: float, high: float
) -> SeveralLaws:
    """For each partner, W: the largest V / (1 + (g at the arrival - g) / T) over T in the window."""
    size = max(len(x.mass) for x in pair.laws)
    mass, moved, decay = np.zeros((3, len(kind.partners), size))
    for i, (law, least, most) in enumerate(kind.partners):
        x, v = pair.laws[law], values[law]
        k = len(v)
        gap = np.where(v > 0.0, least - x.swap, most - x.swap)
        edge = np.where((gap < 0.0) == (v > 0.0), low, high)
        w = v / (1.0 + gap / edge)
        mass[i, :k] = x.mass
        moved[i, :k] = w + (roundings(8.0) + 2.0 * pair.precision * x.swap.max() / low) * np.abs(w)
        decay[i, :k] = down(x.swap, pair.precision + roundings(4.0))
    return SeveralLaws(mass, moved, decay, pair.precision)
