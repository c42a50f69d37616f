"""Bounds for randomizers whose law is known: the blanket above, data sets below.

Symbols: e = exp(epsilon); V = (first - e second) / base as in docs/proofs/identity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.bounds.scopes import known_law
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd
from shuffledp.accounting.curves.convert import Profile
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers import Randomizer, VictimPair
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem
from shuffledp.numerics.enclosure import QUICK, SEARCH, Enclosure
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.numerics.rounding import FORMULA, roundings, up
from shuffledp.numerics.search import Guess

_MOST_BUDGET = 300.0
_LEAST_DELTA = 1e-30
_FINEST, _QUICKEST, _NEARLY = 2e-4, 1e-2, 2e-2
LawAt = Callable[[float], tuple[list[float], list[float]]]
"""e -> values and weights of V."""


def _engine_width(width: float) -> float:
    return _QUICKEST if width >= QUICK else max(width, _FINEST)


def blanket_curve(randomizer: Randomizer, n: int) -> ProfileCurve:
    """The largest blanket bound over the candidate pairs and both directions."""
    ways = [outcomes for pair in randomizer.blankets() for outcomes in pair.ways]

    @lru_cache(maxsize=256)
    def profile(epsilon: float, width: float) -> Enclosure:
        width = max(_engine_width(width), randomizer.resolution)
        value = max([delta_upper(outcomes, n, epsilon, width) for outcomes in ways])
        return Enclosure(value, value)

    return ProfileCurve(profile, PureEnd(randomizer.eps0), guess=_guess(ways[0], n))


def _guess(outcomes: Outcomes, n: int) -> Guess:
    """Where epsilon(delta) is about to be, by the central limit theorem."""
    difference = outcomes.first - outcomes.second
    ratio = np.clip(difference / outcomes.base, -1e100, 1e100)
    mu = math.sqrt(min(float(difference @ ratio) / n, 1e4))
    return partial(gaussian_start, mu)


class _CellsCurve(ProfileCurve):
    """Cells end where hardly any report falls:
    a smaller delta is answered as the least resolved."""

    def enclose_epsilon(
        self, delta: float, width: float = SEARCH, one_sided: bool = False
    ) -> Enclosure:
        found = super().enclose_epsilon(max(delta, _LEAST_DELTA), width, one_sided)
        return found if delta >= _LEAST_DELTA else Enclosure(found.lower, math.inf)


def dataset_curve(pair: VictimPair, n: int, end: PureEnd) -> ProfileCurve:
    """Exact curve of one data set."""
    forward, *reverse = [_dataset_profile(outcomes, n, end) for outcomes in pair.ways]
    kind = ProfileCurve if pair.outcomes.low is None else _CellsCurve
    return kind(
        forward,
        end=end,
        direction=Direction.LOWER,
        guess=_guess(pair.outcomes, n),
        reverse=reverse[0] if reverse else None,
    )


def _dataset_profile(outcomes: Outcomes, n: int, end: PureEnd) -> Profile:
    @lru_cache(maxsize=256)
    def profile(epsilon: float, width: float) -> Enclosure:
        if end.vanished(epsilon):
            return Enclosure(0.0, 0.0)
        aim = _engine_width(width)
        lower = delta_lower(outcomes, n, epsilon, aim)
        if width in (SEARCH, QUICK):  # searches for a lower bound need no more
            return Enclosure(lower, lower)
        return Enclosure(lower, max(delta_upper(outcomes, n, epsilon, aim, lower), lower))

    return profile


def _leaks_more(curve: ProfileCurve, epsilon: float, delta: float) -> bool:
    found = curve.enclose(epsilon, QUICK).upper
    if abs(found - delta) < _NEARLY * delta:
        found = curve.enclose(epsilon, SEARCH).upper
    return found > delta


class WorstDataset(Curve):
    """The data set that leaks most, for each question anew."""

    kind = "data-set"

    def __init__(self, curves: list[ProfileCurve]) -> None:
        self.curves = curves

    def pairs(self) -> list[ProfileCurve]:
        return self.curves

    def delta(self, epsilon: float) -> float:
        return max(curve.delta(epsilon) for curve in self.curves)

    def epsilon(self, delta: float) -> float:
        return self._largest(delta, SEARCH)

    def _largest(self, delta: float, width: float) -> float:
        """Begins with the data set likely to leak most; most others then need no search."""

        def likely(curve: ProfileCurve) -> tuple[float, float]:
            if (start := curve.start(delta)) is not None:
                return start.x, 0.0
            middle = 0.5 * curve.searched.epsilon  # where a search without a start begins
            return middle, curve.enclose(middle, QUICK).lower

        best = 0.0
        ways = [way for curve in self.curves for way in curve.one_way()]
        for way in sorted(ways, key=likely, reverse=True):
            if best == 0.0 or _leaks_more(way, best, delta):
                best = max(best, way.enclose_epsilon(delta, width).lower)
        return best

    def renyi(self, order: float) -> float:
        return max(curve.renyi(order) for curve in self.curves)

    def tradeoff(self, alpha: float) -> float:
        return min(curve.tradeoff(alpha) for curve in self.curves)

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        if quantity == "epsilon":
            return [self._largest(delta, QUICK) for delta in at]
        values = [curve.sketched(quantity, at) for curve in self.curves]
        most = min if quantity == "tradeoff" else max
        return [most(column) for column in zip(*values, strict=True)]


@bound(
    Theorem(
        id="blanket",
        citation="Balle, Bell, Gascón, Nissim 2019 (CRYPTO);"
        " exact evaluation and worst pair our own",
        statement="delta(eps) <= (1/n) E[(V_1+...+V_n)+], V = (a - e b)/u w.p. u,"
        " plus the mass where u = 0",
        validity="randomizers whose law and worst pair of inputs are known; any others' values",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/blanket.md",
    ),
    known_law,
    turn=0,
)
def blanket(randomizer: Randomizer, n: int) -> Curve:
    """Blanket bound; randomizers without a proven worst pair of inputs refuse."""
    return blanket_curve(randomizer, n)


@bound(
    Theorem(
        id="dataset",
        citation="exact computation",
        statement="what the worst data set found leaks: the victim's values differ,"
        " all others share one",
        validity="randomizers whose law is known",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/identity.md",
    ),
    known_law,
    turn=2,
)
def dataset(randomizer: Randomizer, n: int) -> Curve:
    """Best of the randomizer's usual data sets."""
    pairs = randomizer.datasets()
    return WorstDataset([dataset_curve(pair, n, PureEnd(randomizer.eps0)) for pair in pairs])


def _ratios(randomizer: Randomizer) -> tuple[float, float]:
    """eps0 and the total variation of the worst pair."""
    pairs = randomizer.blankets()
    if not 0.0 < randomizer.eps0 <= _MOST_BUDGET or len(pairs) != 1 or pairs[0].outcomes.unseen:
        condition = f"a pure randomizer of 0 < eps0 <= {_MOST_BUDGET:g} with one worst pair"
        raise RegimeError(condition, str(randomizer))
    outcomes = pairs[0].outcomes
    return randomizer.eps0, float(0.5 * np.abs(outcomes.first - outcomes.second).sum())


def _law_curve(eps0: float, n: int, law: LawAt) -> ProfileCurve:
    def profile(epsilon: float, width: float) -> Enclosure:
        if epsilon >= eps0:
            return Enclosure(0.0, 0.0)
        values, weights = law(math.exp(epsilon))
        return mean_positive_part(Law(values, weights, 1e-14), n, width=_engine_width(width))

    return ProfileCurve(profile, PureEnd(eps0))


@bound(
    Theorem(
        id="variation-ratio",
        citation="after Wang et al. 2024 (VLDB), repaired",
        statement="only p >= a/b, TV and q >= max(a,b)/r known: the largest law of V with those",
        validity="p = q = e^eps0, TV of the worst pair; 1 + TV <= q, TV <= (p-1)/(p+1)",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/blanket.md",
    ),
    known_law,
    asked_of=False,
)
def variation_ratio(randomizer: Randomizer, n: int) -> Curve:
    """The safe form: the victim's uninformative part is kept."""
    eps0, distance = _ratios(randomizer)
    p = q = math.exp(eps0)
    alpha = min(up(distance, FORMULA) / math.expm1(eps0), 1.0 / (p + 1.0))
    hidden = 1.0 - alpha * (p + 1.0)
    if hidden < 0.5:  # less of it is worse: a number that is exact, and alpha from it
        hidden = max(hidden - FORMULA, 0.0)
        alpha = (1.0 - hidden) / (p + 1.0)
    # 1 - 2 alpha - hidden / p, without a subtraction
    nothing = -math.expm1(-eps0) * (1.0 - alpha)

    def law(e: float) -> tuple[list[float], list[float]]:
        off = roundings(8) * q * (1.0 + e)
        values = [q * (1.0 - e / p) + off, q * (1.0 / p - e) + off, q * (1.0 - e) + off, 0.0]
        return values, [alpha, alpha, hidden / q, nothing]

    return _law_curve(eps0, n, law)


@bound(
    Theorem(
        id="variation-ratio-2024",
        citation="Wang et al. 2024 (VLDB), as published",
        statement="delta(eps) of the pair (A+D1, C-A+D2), C ~ Bin(n-1, 2r), r = alpha p / q",
        validity="p = q = e^eps0, TV of the worst pair",
        status=Status.REFUTED,
        direction=Direction.UPPER,
        refutation=Refutation(
            mechanism="krr",
            dataset="10-RR, all other users on a third symbol",
            witness="dataset",
            parameters={"eps0": 3.0, "k": 10, "n": 1000, "delta": 1e-6},
            claimed=0.66198,
            leaked=0.66312,
        ),
        note="unsound where the victim has an uninformative part (k-RR with k >= 4)",
    ),
    known_law,
)
def variation_ratio_2024(randomizer: Randomizer, n: int) -> Curve:
    """The published pair, which hides the victim's uninformative part among all silent reports."""
    eps0, distance = _ratios(randomizer)
    p = q = math.exp(eps0)
    alpha = min(distance / math.expm1(eps0), 1.0 / (p + 1.0))
    r = alpha * p / q
    silent = max(1.0 - 2.0 * r, 1e-16)
    hidden = 1.0 - alpha * (p + 1.0)

    def law(e: float) -> tuple[list[float], list[float]]:
        values = [
            alpha * (p - e) / r,
            alpha * (1.0 - e * p) / r,
            hidden * (1.0 - e) / silent,
        ]
        return values, [r, r, silent]

    return _law_curve(eps0, n, law)
