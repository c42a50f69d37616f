"""Many rounds, the same users in each: what they guarantee and leak together.

Each round's profile becomes finitely many privacy losses, from above or from below
(docs/proofs/composition.md), and the losses of all rounds are added by the engine. Rounds may
differ, and later ones may depend on the outputs of earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np

from shuffledp.accounting.bounds.clones import chen_gdp
from shuffledp.accounting.bounds.counters import Counter
from shuffledp.accounting.bounds.published import local
from shuffledp.accounting.bounds.scopes import is_gaussian, several_rounds
from shuffledp.accounting.bounds.theorem import Bound, C, bound, worth_asking
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import (
    NEVER,
    Curve,
    GDPCurve,
    ProfileCurve,
    PureEnd,
    RenyiCurve,
    SearchLimit,
)
from shuffledp.accounting.curves.ends import Ends
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.curves.losses import OFTEN, Profiles, Samples, renyi_above, stated_losses
from shuffledp.accounting.randomizers import LDP, Randomizer, Repeated
from shuffledp.errors import ConversionError, RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem
from shuffledp.numerics.composed_losses import Losses, composed_delta, enumerable, revealing
from shuffledp.numerics.enclosure import COMPOSED, FINE, QUICK, Enclosure
from shuffledp.numerics.rounding import down, roundings, up
from shuffledp.numerics.search import Guess

_SHARES = (0.1, 0.5, 0.9)
"""Shares of delta given to the rounds' own deltas by strong composition."""
_DEEPEST, _REVEALING, _LEAST_LEAK = 1e-30, 1e-22, 1e-14
"""Deltas at which grids end: of a pure round, of another (the rest is revealing), of a leak."""
_LITTLE = 1e-9
"""Of the first delta: below, nothing more is asked if it is not known to a factor of 2."""
_FARTHER = 10.0, 20.0
"""Deviations of a loss beyond which one bound of normal noise may fall and another not."""
_OFTEN = 16
"""Of so many rounds on, large losses of one matter less and less."""
MANY_USERS = 1000
"""With fewer, a dear bound takes longest and gains least."""
_WIDEST = 2.0 * COMPOSED
"""Where a data set's delta is less well known, its losses are not worth adding."""
_LARGEST_LOSS = 600.0
"""Beyond, the second masses of losses underflow."""
_FLOOR = 1e-300
"""Masses below may have been rounded to nothing."""
_NOTHING = Losses(np.zeros(0), np.zeros(0), 0.0)


@dataclass(frozen=True)
class Round:
    """One shuffled round of ``n`` users, ``count`` times over."""

    randomizer: Randomizer
    n: int
    count: int

    @property
    def pure(self) -> float:
        """The budget at which delta is 0, infinite if none is known."""
        return self.randomizer.pure


@dataclass(frozen=True)
class StatedRound:
    """A round of which only (epsilon, delta)-DP is known, ``count`` times over."""

    epsilon: float
    delta: float
    count: int

    @property
    def pure(self) -> float:
        """As above."""
        return self.epsilon if not self.delta else math.inf


@dataclass(frozen=True)
class CountedRound:
    """One number that is released, moved by the victim's change, ``count`` times over."""

    counter: Counter
    count: int

    @property
    def pure(self) -> float:
        """As above."""
        return self.counter.pure


AnyRound = Round | StatedRound | CountedRound
Route = Callable[[Sequence[AnyRound]], Curve]


@dataclass(frozen=True)
class _Composed(ProfileCurve):
    """Near the sum of pure budgets a conversion of the same losses can beat the engine."""

    converted: RenyiCurve | None = None

    def delta(self, epsilon: float) -> float:
        found = super().delta(epsilon)
        if self.converted is not None:
            found = min(found, self.converted.delta(epsilon))
        return found if self.end.vanished(epsilon) else max(found, _FLOOR)

    def epsilon(self, delta: float) -> float:
        found = super().epsilon(delta)
        return found if self.converted is None else min(found, self.converted.epsilon(delta))


def composed_upper(rounds: Sequence[AnyRound]) -> ProfileCurve:
    """Upper bounds for all rounds together, in both directions."""
    rounds = [part for r in rounds for part in _parts(r)]
    pairs = [_upper_losses(_about_as_often(r)) for r in rounds]
    forward = [(pair[0], r.count) for pair, r in zip(pairs, rounds, strict=True)]
    reverse = [(pair[1], r.count) for pair, r in zip(pairs, rounds, strict=True)]
    end = PureEnd(pure_budget(rounds))
    return _Composed(
        _profile(forward),
        end=end,
        reverse=None if _symmetric(rounds) else _profile(reverse),
        guess=_guess(forward),
        exact_renyi=lambda order: _added(
            (r.count, _renyi(_single_round(r), order)) for r in rounds
        ),
        converted=composed_renyi(rounds) if end.reached else None,
        limit=SearchLimit(max(200.0, 1.01 * max(_largest(forward), _largest(reverse)))),
    )


def composed_lower(rounds: Sequence[AnyRound]) -> ProfileCurve:
    """What one data set leaks in all rounds together; each round asks for its own attribute."""
    pairs = [_lower_losses(_single_round(r)) for r in rounds]
    forward = [(pair[0], r.count) for pair, r in zip(pairs, rounds, strict=True)]
    reverse = [(pair[1], r.count) for pair, r in zip(pairs, rounds, strict=True)]

    def renyi(order: float) -> float:
        return _added(
            ((r.count, _leaked_renyi(_single_round(r), order)) for r in rounds), upper=False
        )

    return ProfileCurve(
        _profile(forward, upper=False),
        end=PureEnd(pure_budget(rounds)),
        direction=Direction.LOWER,
        reverse=_profile(reverse, upper=False),
        guess=_guess(forward),
        exact_renyi=renyi,
        limit=SearchLimit(max(200.0, _largest(forward), _largest(reverse))),
    )


def _added(terms: Iterable[tuple[int, float]], upper: bool = True) -> float:
    """Divergences, each times its number of rounds, added up and rounded in one direction."""
    total = math.fsum(count * value for count, value in terms)
    return (up if upper else down)(total, roundings(4))


def composed_renyi(rounds: Sequence[AnyRound]) -> RenyiCurve:
    """Rényi divergences added up, then converted."""
    ones = [(_about_as_often(r), r.count) for r in rounds]

    def divergence(order: float) -> float:
        return _added((count, _quick_renyi(r, order)) for r, count in ones)

    return RenyiCurve(divergence, PureEnd(pure_budget(rounds)))


def _quick_renyi(r: AnyRound, order: float) -> float:
    """Of the losses above a pure round; a conversion asks for hundreds of orders."""
    if isinstance(r, StatedRound) or (math.isinf(r.pure) and isinstance(r, Round)):
        return _renyi(r, order)
    return max(renyi_above(losses, order, r.pure) for losses in _upper_losses(r))


class StrongComposition(Curve):
    """Each round as (epsilon, delta)-DP, composed as well as that allows."""

    kind = "(epsilon, delta)"

    def __init__(self, rounds: Sequence[AnyRound]) -> None:
        self.rounds = rounds
        self.total = sum(r.count for r in rounds)

    def epsilon(self, delta: float) -> float:
        return min(*(self._with(share, delta) for share in _SHARES), pure_budget(self.rounds))

    def _with(self, share: float, delta: float) -> float:
        """epsilon when the rounds' own deltas take this share."""
        each = share * delta / self.total
        if each == 0.0:  # too small a number to share
            return math.inf
        stated = [r if isinstance(r, StatedRound) else _stated(r, each) for r in self.rounds]
        losses = [(stated_losses(r.epsilon, r.delta), r.count) for r in stated]
        if revealing(losses) >= delta:
            return math.inf
        # there only what reveals is left, and that is below delta
        limit = SearchLimit(_largest(losses))
        curve = ProfileCurve(_profile(losses), NEVER, limit=limit, guess=_guess(losses))
        return curve.epsilon(delta)


def composed_gdp(rounds: Sequence[AnyRound]) -> GDPCurve:
    """mu^2 adds up, with the asymptotic mu of each round (Chen, Cao, Ge 2024, Theorem 2)."""
    total = 0.0
    for r in rounds:
        if not isinstance(r, Round):
            raise RegimeError("shuffled rounds only", str(r))
        total += r.count * chen_gdp.curve(r.randomizer, r.n).mu ** 2
    return GDPCurve(math.sqrt(total))


def _symmetric(rounds: Sequence[AnyRound]) -> bool:
    """Whether both directions are the same: for each number moved up one like it moves down."""
    moved: dict[Counter, int] = {}
    for r in rounds:
        if isinstance(r, CountedRound):
            change = -r.count if r.counter.falls else r.count
            moved[r.counter.rising] = moved.get(r.counter.rising, 0) + change
    return not any(moved.values())


def _parts(r: AnyRound) -> list[AnyRound]:
    """A round as others that together guarantee no more."""
    if not isinstance(r, CountedRound):
        return [r]
    return [CountedRound(counter, times * r.count) for counter, times in r.counter.parts()]


def _single_round(r: AnyRound) -> AnyRound:
    """The same round once: what the caches know."""
    return replace(r, count=1)


def _about_as_often(r: AnyRound) -> AnyRound:
    """The same round once, or a power of 4 times if that often: losses above it are joined as
    exactly as that needs."""
    return replace(r, count=1 if r.count < _OFTEN else 4 ** ((r.count.bit_length() - 1) // 2))


def pure_budget(rounds: Sequence[AnyRound]) -> float:
    """The pure budgets, added up."""
    total = math.fsum(r.count * r.pure for r in rounds)
    return up(total, roundings(10))


def _largest(losses: list[tuple[Losses, int]]) -> float:
    """The largest loss all rounds can have together."""
    return sum(count * float(x.values.max(initial=0.0)) for x, count in losses)


def _profile(
    losses: list[tuple[Losses, int]], upper: bool = True
) -> Callable[[float, float], Enclosure]:
    """Rare large losses are set aside first, as far as that cannot be seen in the result."""
    huge = [_largest([(x, 1)]) > _LARGEST_LOSS for x, _ in losses]
    if any(huge):
        ordinary = [not each for each in huge]
        return _shifted(list(compress(losses, huge)), list(compress(losses, ordinary)))
    count, limit = sum(k for _, k in losses) or 1, GDPCurve(_deviation(losses))
    listed = enumerable(losses)
    # masses were rounded up: what one round reveals counts times the first masses of the others
    excess = sum(k * max(x.log_first_mass, 0.0) for x, k in losses) if upper else 0.0

    @lru_cache(maxsize=256)
    def profile(epsilon: float, width: float) -> Enclosure:
        about = limit.delta(epsilon) if limit.mu > 0.0 and not listed else 0.0
        for spare in (1e-2 * _width(width) * about / count, 0.0):
            parts = [(x.without_tail(spare, upper), k) for x, k in losses]
            found = composed_delta(parts, epsilon, _width(width))
            if spare * count <= 1e-2 * found.lower:
                break
        return Enclosure(min(found.lower, 1.0), min(found.upper * math.exp(excess), 1.0))

    return profile


def _shifted(
    huge: list[tuple[Losses, int]], others: list[tuple[Losses, int]]
) -> Callable[[float, float], Enclosure]:
    """Upper ends where some losses have no masses in doubles: those count as the largest."""
    shift = up(_largest(huge), roundings(10))
    known = [(Losses(x.values[:0], x.masses[:0], x.revealing), k) for x, k in huge if x.revealing]
    rest = _profile(others + known)

    def profile(epsilon: float, width: float) -> Enclosure:
        value = rest(epsilon - shift, width).upper if epsilon >= shift else 1.0
        return Enclosure(value, value)

    return profile


def _deviation(losses: list[tuple[Losses, int]]) -> float:
    """Standard deviation of all losses together, as a limiting Gaussian has it."""
    with np.errstate(over="ignore"):
        return math.sqrt(sum(count * float(x.masses @ x.values**2) for x, count in losses))


def _width(width: float) -> float:
    return 1e-2 if width >= QUICK else 2e-4 if width == FINE else 1e-3


def _guess(losses: list[tuple[Losses, int]]) -> Guess:
    return partial(gaussian_start, _deviation(losses))


def _stated(r: Round | CountedRound, delta: float) -> StatedRound:
    if isinstance(r, CountedRound):
        raise ConversionError("Counters compose by their losses, not by one (epsilon, delta).")
    *_, found = _guaranteed(r.randomizer, r.n).better("epsilon", delta, skim=True)
    return StatedRound(found.value, delta, r.count)


def _guaranteed(randomizer: Randomizer, n: int) -> Tightest:
    """Made anew for each question: where a search begins may depend on what was asked before."""
    return Tightest.about(worth_asking(randomizer, leaking=False), randomizer, n)


@lru_cache(maxsize=256)
def _divergences(randomizer: Randomizer, n: int) -> Tightest:
    """The same, asked for divergences alone."""
    return _guaranteed(randomizer, n)


@lru_cache(maxsize=4096)
def _renyi(r: AnyRound, order: float) -> float:
    if isinstance(r, StatedRound):
        if r.delta:
            raise ConversionError("A Rényi divergence needs rounds with delta = 0.")
        if r.epsilon == 0.0:
            return 0.0
        return local.curve(LDP(r.epsilon), 1).renyi(order)
    if isinstance(r, CountedRound):
        value = _quick_renyi(r, order)
        if math.isinf(value):
            raise ConversionError("A Rényi divergence needs counters with a pure budget.")
        return value
    return _divergences(r.randomizer, r.n).renyi(order)


@lru_cache(maxsize=256)
def _upper_losses(r: AnyRound) -> tuple[Losses, Losses]:
    """The worst pair's losses in both directions; one for both where values are replaced."""
    if isinstance(r, StatedRound):
        return (stated_losses(r.epsilon, r.delta),) * 2
    if isinstance(r, CountedRound):
        return r.counter.guaranteed_losses(r.count)
    proven = _guaranteed(r.randomizer, r.n)
    if r.n < MANY_USERS:
        plain = [bound for bound in proven if not bound.dear]
        proven = Tightest.about(plain, r.randomizer, r.n) if plain else proven
    useful = proven.useful(_FARTHER if is_gaussian(r.randomizer) else ())

    def profiles(epsilons: list[float]) -> tuple[Ends, Ends]:
        upper = proven.lowest(epsilons, useful)
        ends = np.zeros(len(epsilons)), np.minimum(upper, 1.0)
        return ends, ends

    pure = PureEnd(r.randomizer.pure)
    deepest = _DEEPEST if pure.reached else _REVEALING
    return (Samples.take(profiles, pure, deepest, rounds=r.count).above(),) * 2


@lru_cache(maxsize=256)
def _witnesses(r: Round) -> list[ProfileCurve]:
    leaked = list(worth_asking(r.randomizer, leaking=True))
    gaussian = is_gaussian(r.randomizer)
    if gaussian:
        leaked = sorted(leaked, key=attrgetter("turn"))[:2]
    found = Tightest.about(leaked, r.randomizer, r.n)
    pairs = [pair for pairs in found.answers(lambda _, curve: curve.pairs()) for pair in pairs]
    if not gaussian:
        return pairs
    # dear ones: the first that the engine can enclose, not the one that leaks most
    return [next((pair for pair in pairs[:-1] if _well_known(pair)), pairs[-1])]


def _well_known(curve: ProfileCurve) -> bool:
    (low,), (high,) = curve.sampled([0.0])[0]
    return bool(high - low <= _WIDEST * high)


@lru_cache(maxsize=256)
def _lower_losses(r: AnyRound) -> tuple[Losses, Losses]:
    """Losses of the data set whose losses vary most, in both directions."""
    if isinstance(r, StatedRound):
        return _NOTHING, _NOTHING
    if isinstance(r, CountedRound):
        return r.counter.leaked_losses()
    curves = _witnesses(r)
    unit = 2.5 * max(float(side[0][0]) for curve in curves for side in curve.sampled([0.0]))
    worst = max(curves, key=lambda curve: _spread(curve, unit)) if len(curves) > 1 else curves[0]
    dear = is_gaussian(r.randomizer)
    sampled = _until_gone(worst) if dear else worst.sampled
    every = 2 if dear else 1
    samples = Samples.take(sampled, worst.end, _LEAST_LEAK, every, between=1, parts=OFTEN)
    return samples.below(), samples.swapped().below()


def _until_gone(curve: ProfileCurve) -> Profiles:
    """Its samples, at epsilons that grow from call to call.

    A direction that has fallen to next to nothing of what it began with, or to little of which
    hardly anything is sure, is not computed further: it stays below that.
    """
    if curve.enclose_many is not None:
        return curve.sampled
    ways = curve.one_way()
    first = [float(way.sampled([0.0])[0][1][0]) for way in ways]
    most, gone = list(first), [False] * len(ways)

    def ends(way: int, epsilon: float) -> tuple[float, float]:
        if gone[way]:
            return 0.0, most[way]
        (low,), (high,) = ways[way].sampled([epsilon])[0]
        most[way] = min(most[way], float(high))
        gone[way] = most[way] <= (_LITTLE if low < 0.5 * high else _REVEALING) * first[way]
        return float(low), most[way]

    def sampled(epsilons: list[float]) -> tuple[Ends, Ends]:
        found = [np.array([ends(way, x) for x in epsilons]).T for way in range(len(ways))]
        forward, reverse = found[0], found[-1]
        return (forward[0], forward[1]), (reverse[0], reverse[1])

    return sampled


def _spread(curve: ProfileCurve, unit: float) -> float:
    """About the variance of the losses: the area under the profile, in units."""
    forward, reverse = curve.sampled([unit * k for k in (0.0, 1.0, 2.0, 3.0)])
    return float(np.sum(forward[0] + reverse[0]) - 0.5 * (forward[0][0] + reverse[0][0]))


@lru_cache(maxsize=4096)
def _leaked_renyi(r: AnyRound, order: float) -> float:
    if not isinstance(r, Round):  # at least that
        return 0.0
    return max(curve.renyi(order) for curve in _witnesses(r))


ROUTES: dict[str, tuple[Bound[Curve], Route]] = {}
"""Theorem id -> its bound for repeated rounds, and the curve it gives for any list of rounds."""


def _route(
    theorem: Theorem, of_rounds: Callable[[Sequence[AnyRound]], C], **asked: Any
) -> Bound[C]:
    """Register a theorem about any list of rounds."""

    def repeated(randomizer: Repeated, n: int) -> C:
        return of_rounds([Round(randomizer.randomizer, n, randomizer.rounds)])

    made = bound(theorem, several_rounds, **asked)(repeated)
    ROUTES[theorem.id] = made, of_rounds
    return made


composition = _route(
    Theorem(
        id="composition",
        citation="dominating pairs compose: Zhu, Dong, Wang 2022 (AISTATS);"
        " losses and their sum our own",
        statement="the rounds' proven profiles, joined from above, as losses that add up",
        validity="several rounds of any protocol with a proven profile, adaptive,"
        " the same users in each",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/composition.md",
    ),
    composed_upper,
    turn=4,
)
composition_dataset = _route(
    Theorem(
        id="composition-dataset",
        citation="exact computation",
        statement="a data set's profile in each round, joined from below, as losses that add up",
        validity="several rounds; each round may ask for another attribute of the users",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/composition.md",
    ),
    composed_lower,
    turn=1,
)
composition_rdp = _route(
    Theorem(
        id="composition-rdp",
        citation="Mironov 2017 (CSF), Proposition 1; conversion by Canonne, Kamath, Steinke 2020",
        statement="the rounds' proven Rényi divergences, added up and converted",
        validity="several rounds with proven Rényi divergences, adaptive",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/composition.md",
    ),
    composed_renyi,
    asked_of=False,
)
composition_strong = _route(
    Theorem(
        id="composition-strong",
        citation="Kairouz, Oh, Viswanath 2015 (ICML), Theorem 3.3",
        statement="each round as (eps, delta)-DP at a share of delta;"
        " the optimum that this knowledge allows",
        validity="several rounds with a proven epsilon(delta), adaptive",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/composition.md",
    ),
    StrongComposition,
    asked_of=False,
)
composition_gdp = _route(
    Theorem(
        id="composition-gdp",
        citation="Chen, Cao, Ge 2024 (ICASSP), Theorem 3; Dong, Roth, Su 2022, Corollary 3.3",
        statement="mu-GDP over T rounds with mu^2 = 4 T e^eps0 / (n-1), as n grows",
        validity="several rounds of pure eps0-LDP reports, n >= 2; no error term",
        status=Status.ASYMPTOTIC,
        direction=Direction.ESTIMATE,
        proof="proofs/composition.md",
        refutation=Refutation(
            dataset="3-RR in every round, all other users on the third symbol,"
            " the victim on the first or second",
            witness="composition-dataset",
            parameters={"eps0": 7.0, "n": 10_000.0, "rounds": 5.0, "order": 3.0},
            claimed=3.29,
            leaked=12.24,
        ),
        note="composes chen-2024-gdp: no finite n is guaranteed,"
        " and at the one on record a data set leaks more",
    ),
    composed_gdp,
)
