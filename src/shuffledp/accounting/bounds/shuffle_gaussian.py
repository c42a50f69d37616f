"""Shuffled Gaussian reports: everything about one pair of data sets, at every order.

The pair (Liew, Takahashi): all other users hold the same value, the victim holds it too or one at
distance ``sensitivity``. Symbols: h = (sensitivity / sigma)^2, X = exp(N(-h/2, h)), R the mean of
the reports' likelihood ratios: M(D')/M(D) = R under M(D).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from shuffledp.accounting.bounds.blanket import dataset_curve
from shuffledp.accounting.bounds.scopes import gaussian, gaussian_round
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import NEVER, Curve, OrderTable, ProfileCurve, SearchLimit
from shuffledp.accounting.randomizers import (
    CheckIn,
    Gaussian,
    Randomizer,
    Repeated,
    Subsampled,
    VictimPair,
)
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.few_reports import expected_excess, expected_shortfall, reachable
from shuffledp.numerics.lognormal_mean import LognormalMean, log1p_exp
from shuffledp.numerics.real_orders import log_moment
from shuffledp.numerics.rounding import Array, roundings, up

MOST_ORDERS = 8192
"""Conversions to (epsilon, delta) try integer orders up to this."""
_MOST_ORDER = 20_000
_STEEPEST = 690.0
"""Largest epsilon whose exponential is formed."""
_UNDERFLOW = 1e-320
"""What is rounded off below the normal range."""
_QUADRATURE_ERROR = 5e-10
"""Relative error granted to quadratures over the Laplace transform: measured below 1e-12,
not proven."""


@dataclass(frozen=True)
class GaussianPair:
    """n users of a Gaussian randomizer, checked in or drawn, over some rounds."""

    gaussian: Gaussian
    n: int
    check_in: float = 1.0
    drawn: int | None = None
    rounds: int = 1

    @property
    def h(self) -> float:
        """Squared distance of the victim's values in units of sigma."""
        return (self.gaussian.sensitivity / self.gaussian.sigma) ** 2

    @property
    def reports(self) -> int:
        """Slots a round has, silent ones included."""
        return self.n if self.drawn is None else self.drawn

    @property
    def participation(self) -> float:
        """Probability that the victim reports in a round."""
        return self.check_in if self.drawn is None else self.drawn / self.n

    @property
    def ratio(self) -> LognormalMean:
        """R of one round."""
        if self.drawn is None:
            return LognormalMean(self.h, self.n, thin=self.check_in)
        return LognormalMean(self.h, self.drawn, share=self.drawn / self.n)

    def divergences(self, top: int) -> Array:
        """Rényi divergences D(M(D')||M(D)) of orders 0..top (0 for orders 0 and 1)."""
        return self.rounds * _forward(self.ratio, top)[0]

    def renyi(self, order: float) -> Enclosure:
        """The larger of both directions; a leak is claimed of the forward one alone."""
        forward, reverse = self.forward(order), self.reverse(order)
        return Enclosure(forward.lower, max(forward.upper, reverse * (1.0 + _QUADRATURE_ERROR)))

    def forward(self, order: float) -> Enclosure:
        """D(M(D')||M(D)): the one that is largest in every case tried. One number where exact."""
        if order > _MOST_ORDER:
            raise ConversionError(f"Orders up to {_MOST_ORDER} are computed. Got {order:g}.")
        below = math.floor(order)
        if order == below:
            values, slacks = _forward(self.ratio, _rounded_up(below))
            value, slack = float(values[below]), float(slacks[below])
            return Enclosure(
                self.rounds * max(value - slack, 0.0),
                up(self.rounds * (value + slack), roundings(4)),
            )
        low, high = _between(self.ratio, order)
        return Enclosure(self.rounds * low, self.rounds * high)

    def reverse(self, order: float) -> float:
        """D(M(D)||M(D')), any real order > 1."""
        return self.rounds * _reverse(self.ratio, order)

    def outcomes(self) -> Outcomes:
        """The pair's outcomes per report: victim away against victim among the others."""
        there = self.gaussian.datasets([0.0])[0].outcomes
        away = replace(there.swapped(), second=there.base)
        if there.low is not None and there.high is not None:  # second / base is 1 throughout
            one = np.ones_like(there.base)
            away = replace(away, low=(there.low[1], one), high=(there.high[1], one))
        if self.check_in < 1.0:
            return away.thinned(self.check_in)
        return away if self.drawn is None else away.diluted(self.participation)

    def __str__(self) -> str:
        distance = f"{self.gaussian.sensitivity:g}"
        return f"all others share one value; the victim has it too, or one at distance {distance}"


def _rounded_up(order: int) -> int:
    """A power of two, so that neighbouring orders share a table."""
    return int(max(64, 1 << (order - 1).bit_length())) if order <= 2048 else order


@lru_cache(maxsize=64)
def _forward(ratio: LognormalMean, top: int) -> tuple[Array, Array]:
    """One round's divergences of orders 0..top, and how far they may be off."""
    orders = np.arange(2.0, top + 1.0)
    result, slack = np.zeros((2, top + 1))
    excess, relative = (part[2:] for part in ratio.excess_moments(top))
    moments = log1p_exp(excess)
    # no data set's reports reveal more shuffled than one by one
    result[2:] = np.minimum(moments / (orders - 1.0), 0.5 * orders * ratio.h)
    # ln(1 + x) is concave and 0 at 0
    off = np.minimum(relative * moments, np.log1p(relative)) + roundings(16) * moments + _UNDERFLOW
    slack[2:] = off / (orders - 1.0) + _UNDERFLOW
    return result, slack


@lru_cache(maxsize=256)
def _between(ratio: LognormalMean, order: float) -> tuple[float, float]:
    """Both sides of one round's divergence at an order that is not an integer."""
    top = 0.5 * order * ratio.h
    if ratio.count == 1 and ratio.thin == ratio.share == 1.0:
        return top, top
    found = log_moment(ratio, order)
    if found is not None:
        low = found.lower / (order - 1.0) * (1.0 - _QUADRATURE_ERROR)
        high = found.upper / (order - 1.0) * (1.0 + _QUADRATURE_ERROR)
        return min(low, top), min(high, top)
    # (order - 1) D is convex in the order: below its chord, above the chords beside it prolonged
    below = math.floor(order)
    share = order - below
    around = slice(below - 1, below + 3)
    table, slacks = _forward(ratio, _rounded_up(below + 2))
    times = np.arange(below - 2.0, below + 2.0)
    first, left, right, last = times * table[around]
    off = 4.0 * float((times * slacks[around]).max())
    chord = (1.0 - share) * left + share * right + off
    under = max(left + share * (left - first), right - (1.0 - share) * (last - right)) - off
    return max(float(under), 0.0) / (order - 1.0), min(float(chord) / (order - 1.0), top)


@lru_cache(maxsize=256)
def _reverse(ratio: LognormalMean, order: float) -> float:
    log_moment = float(log1p_exp(np.array(ratio.log_excess(1.0 - order))))
    return min(log_moment / (order - 1.0), 0.5 * order * ratio.h)


def gaussian_pair(randomizer: Randomizer, n: int) -> GaussianPair:
    """The pair a randomizer describes, or RegimeError."""
    rounds, check_in, drawn = 1, 1.0, None
    if isinstance(randomizer, Repeated):
        rounds, randomizer = randomizer.rounds, randomizer.randomizer
    if isinstance(randomizer, CheckIn):
        check_in, randomizer = randomizer.rate, randomizer.randomizer
    elif isinstance(randomizer, Subsampled):
        drawn, randomizer = randomizer.m, randomizer.randomizer
        if drawn > n:
            raise ParameterError("m", f"at most n = {n}", drawn)
    if not isinstance(randomizer, Gaussian):
        raise RegimeError("Gaussian reports, checked in or drawn", str(randomizer))
    return GaussianPair(randomizer, n, check_in, drawn, rounds)


@bound(
    Theorem(
        id="shuffle-gaussian",
        citation="Liew, Takahashi 2023, Theorem 1; subsampling, check-in,"
        " all orders and delta our own",
        statement="E[R^L], R the mean of n likelihood ratios,"
        " is L! n^-L times a coefficient of one power"
        " series; delta(eps) = E(R - e^eps)+",
        validity="the pair: all others share one value, the victim has it too or one at distance"
        " `sensitivity`; delta and epsilon for one round",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/shuffle_gaussian.md",
        note="all others share one value, the victim has it too or one at distance `sensitivity`:"
        " a lower bound for the worst case",
    ),
    gaussian,
    asked_of=gaussian_round,
    turn=1,
)
def shuffle_gaussian(randomizer: Randomizer, n: int) -> Curve:
    """Exact Rényi divergences; delta(eps) by the engine, its certified lower end."""
    pair = gaussian_pair(randomizer, n)
    return pair_profile(pair) if pair.rounds == 1 else PairRenyi(pair)


def pair_profile(pair: GaussianPair) -> ProfileCurve:
    """delta(eps) of one round, both directions, certified."""
    root = math.sqrt(pair.h)
    furthest = SearchLimit(min(0.5 * pair.h + 38.0 * root + 1.0, _STEEPEST))
    case = VictimPair("at a distance or among the others", "all at one value", pair.outcomes())
    curve = replace(
        dataset_curve(case, pair.reports, NEVER),
        limit=furthest,
        exact_renyi=lambda order: pair.renyi(order).lower,
    )
    return _sharpened(curve, pair.ratio) if reachable(pair.ratio) else curve


def _sharpened(curve: ProfileCurve, ratio: LognormalMean) -> ProfileCurve:
    """The engine's enclosures, narrowed by quadrature where a few reports allow it."""
    assert curve.reverse is not None
    engine, engine_reverse = curve.forward, curve.reverse

    def forward(epsilon: float, width: float) -> Enclosure:
        found = engine(epsilon, width)
        if epsilon > _STEEPEST:
            return found
        return _closer(found, expected_excess(ratio, math.exp(epsilon)))

    def reverse(epsilon: float, width: float) -> Enclosure:
        found = engine_reverse(epsilon, width)
        if epsilon > _STEEPEST:
            return found
        share, e = expected_shortfall(ratio, math.exp(-epsilon)), math.exp(epsilon)
        return _closer(found, Enclosure(e * share.lower, e * share.upper))

    return replace(curve, forward=forward, reverse=reverse)


def _closer(engine: Enclosure, quadrature: Enclosure) -> Enclosure:
    """Of a search the engine answers with a lower bound alone, as both ends."""
    if engine.lower == engine.upper:
        lower = max(engine.lower, quadrature.lower)
        return Enclosure(lower, lower)
    return engine.narrowed(quadrature)


@bound(
    Theorem(
        id="shuffle-gaussian-one-round",
        citation="data processing",
        statement="several rounds leak at least what one of them does",
        validity="the pair of shuffle-gaussian; more than one round",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/shuffle_gaussian.md",
        note="the pair of shuffle-gaussian, all rounds but one ignored",
    ),
    gaussian,
    asked_of=False,
)
def one_round(randomizer: Randomizer, n: int) -> Curve:
    """A lower bound for many rounds, however weak."""
    pair = gaussian_pair(randomizer, n)
    if pair.rounds == 1:
        raise RegimeError("more than one round", pair.rounds)
    return pair_profile(replace(pair, rounds=1))


@dataclass(frozen=True)
class PairRenyi(Curve):
    """Over several rounds only the Rényi divergences are exact."""

    pair: GaussianPair
    kind = "Rényi-only"

    def renyi(self, order: float) -> float:
        return self.pair.renyi(order).lower


@bound(
    Theorem(
        id="shuffle-gaussian-rdp",
        citation="Liew, Takahashi 2023, Theorem 1 with Lemmas 1 and 2;"
        " all orders and both directions our own",
        statement="the pair's exact Rényi divergences, added over rounds and converted to (epsilon,"
        " delta)",
        validity="the pair of shuffle-gaussian; integer orders up to 8192",
        status=Status.FIXED_PAIR,
        direction=Direction.UPPER,
        proof="proofs/shuffle_gaussian.md",
        note="for the pair of shuffle-gaussian only: no bound for other data sets",
    ),
    gaussian,
)
def shuffle_gaussian_rdp(randomizer: Randomizer, n: int) -> OrderTable:
    """The accountant of the paper without its limit on the orders."""
    pair = gaussian_pair(randomizer, n)
    return OrderTable(pair.divergences, MOST_ORDERS, exact=lambda order: pair.renyi(order).upper)
