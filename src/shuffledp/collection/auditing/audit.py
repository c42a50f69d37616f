"""Does what runs keep what is claimed? Lower bounds on epsilon from many trials."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.curves import ProfileCurve
from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.randomizers import (
    OneCoordinate,
    Randomizer,
    UnaryEncoding,
    optimised_unary,
    rappor,
)
from shuffledp.collection.analysis.proportions import lower_limit, upper_limit
from shuffledp.collection.auditing.attack import Attack, Release, Scores
from shuffledp.collection.auditing.orders import FALSE_ALARM, OrderTest, order_tests
from shuffledp.collection.auditing.path import EmbeddedPath, Path
from shuffledp.collection.devices import Stream, device, secure
from shuffledp.labels import Interval
from shuffledp.numerics.enclosure import COARSE
from shuffledp.numerics.search import bisect, grown

Family = Callable[[float], Randomizer]

FAILURE = 0.01
"""Chance that any of the bounds of one audit is above the truth; a verdict asks for FALSE_ALARM."""
_BOUNDS = 6
"""Direct and family bounds share the limits of 2 attacks x (2 directions + the family's)."""
_HELD_OUT = 0.1
_ORDERED_TRIALS = 20_000
_GRID = 24
_MOST = 60.0
_PRECISION = 2e-3
_ALARMS = 0.16
"""False positives at which most attacks are near their best."""
_ONE_IN_TEN = 1.6
"""Standard deviations: of both rates together, one time in ten."""
_FACTORS = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Budgets tried, as multiples of the one claimed."""


@dataclass(frozen=True)
class Power:
    """What this number of trials can detect, and what it cannot."""

    largest: float
    """The largest epsilon they prove, of a release that hides nothing."""
    eps0: float | None
    """The mechanism run with this budget would have been noticed (about nine times in ten)."""
    epsilon: float | None
    """epsilon it has, at the delta of the claim."""


@dataclass(frozen=True)
class Audit:
    """What was claimed, and what the attacks prove."""

    randomizer: Randomizer
    n: int
    delta: float
    trials: int
    claimed: Interval
    """What is proven of the mechanism, and what it leaks."""
    epsilon: float
    """The claim: what is proven, unless another was given."""
    direct: float
    """epsilon is at least this: ln((true positives - delta) / false positives)."""
    ordered: float | None
    """The same from the report in one place: large if nothing is shuffled."""
    place: int | None
    """That place, from 0: chosen on other trials, as the one that tells most."""
    family: float | None
    """If it is this mechanism with some budget: epsilon is at least this."""
    leaks: bool
    """Whether the reports tell more than is claimed; wrong with a chance of FALSE_ALARM."""
    path: str
    """What was attacked."""
    orders: tuple[OrderTest, ...]
    """Of reports that say where they come from: is every order as likely?"""
    power: Power
    simulated: bool
    """Whether it ran on randomness that can be reproduced."""

    @property
    def uniform(self) -> bool:
        """Whether no test found fault with the order of release."""
        return all(test.uniform for test in self.orders)

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.leaks or not self.uniform

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "mechanism": str(self.randomizer),
            "n": self.n,
            "delta": self.delta,
            "trials": self.trials,
            "claimed": self.claimed.to_dict(),
            "epsilon": self.epsilon,
            "direct": self.direct,
            "ordered": self.ordered,
            "place": self.place,
            "family": self.family,
            "failure": FAILURE,
            "leaks": self.leaks,
            "engine": self.path,
            "order": {
                "uniform": self.uniform,
                "false_alarm": FALSE_ALARM,
                "tests": [test.to_dict() for test in self.orders],
            },
            "power": asdict(self.power),
            "violated": self.violated,
            "simulated": self.simulated,
        }


def audit(
    randomizer: Randomizer,
    n: int,
    *,
    delta: float,
    trials: int,
    epsilon: float | None = None,
    stream: Stream | None = None,
    path: Path | None = None,
    release: Release | None = None,
    advance: Callable[[int], None] = lambda _trials: None,
) -> Audit:
    """Attack what runs collections and compare with the guarantee.

    Parameters
    ----------
    randomizer, n
        What runs, and for how many users.
    delta
        Where epsilon is compared.
    trials
        So many for each world; one in ten serves to choose thresholds only.
    epsilon
        The claim at delta; what is proven of the mechanism unless given.
    stream
        Where randomness comes from.
    path
        What is attacked; this process unless given.
    release
        Something else in the place of devices and shuffler, to see what an audit would say of it.
    advance
        Called with the number of trials done.

    Returns
    -------
    Audit
        What was claimed, what the attacks prove, and what they cannot see.

    Examples
    --------
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.auditing import audit
    >>> from shuffledp.collection.devices import simulation
    >>> audit(KRR(4, eps0=3.0), 20, delta=1e-3, trials=100, stream=simulation(1)).leaks
    False
    """
    machine = device(randomizer)
    n, trials = checks.count("n", n), checks.count("trials", trials)
    delta = checks.probability("delta", delta)
    if epsilon is not None:
        epsilon = checks.non_negative("epsilon", epsilon)
    claimed = Shuffled(machine.randomizer, n).epsilon(delta)
    promised = claimed.upper if epsilon is None else epsilon
    attack = Attack(machine, n)
    path = path or EmbeddedPath(stream or secure())
    orders = order_tests(path.orders(n, trials))
    release = release or path.release(machine)
    counts = attack.scores(release, trials, advance=advance)
    build, eps0 = _family_of(machine.randomizer), machine.randomizer.eps0
    bounds: dict[str, Callable[[float], float]] = {
        "direct": lambda failure: _direct(counts, delta, failure)
    }
    place = None
    if path.single:
        choosing, placed = _ordered(trials)
        place = attack.place(release, choosing, advance)
        alone = attack.scores(release, placed, place=place, advance=advance)
        bounds["ordered"] = lambda failure: _direct(alone, delta, failure)
    if build is not None:
        bounds["family"] = lambda failure: _family(build, eps0, n, delta, counts, failure)
    shown = {name: bound(FAILURE) for name, bound in bounds.items()}
    leaks = any(
        shown[name] > promised and bound(FALSE_ALARM) > promised for name, bound in bounds.items()
    )
    return Audit(
        machine.randomizer,
        n,
        delta,
        trials,
        claimed,
        promised,
        shown["direct"],
        shown.get("ordered"),
        place,
        shown.get("family"),
        leaks,
        path.name,
        orders,
        _power(build, eps0, n, delta, trials),
        path.simulated,
    )


def _ordered(trials: int) -> tuple[int, int]:
    """Trials to choose a place, and to attack it."""
    few = min(trials, _ORDERED_TRIALS)
    return max(1, few // 4), few


def all_trials(trials: int, *, single: bool = True) -> int:
    """How many an audit runs in all, of the counts and of a place, in both worlds."""
    return 2 * (trials + (sum(_ordered(trials)) if single else 0))


def _limits(scores: Scores, threshold: float, failure: float) -> tuple[float, float]:
    """Least rate of true positives and largest of false ones, of the test score > threshold."""
    failure = failure / _BOUNDS / 2.0
    hits = int(np.count_nonzero(scores.first > threshold))
    alarms = int(np.count_nonzero(scores.second > threshold))
    return (
        lower_limit(hits, scores.first.size, failure),
        upper_limit(alarms, scores.second.size, failure),
    )


def _split(scores: Scores) -> tuple[Scores, Scores]:
    """Trials for choosing a threshold, and the others."""
    first, second = (max(1, int(_HELD_OUT * side.size)) for side in (scores.first, scores.second))
    return (
        Scores(scores.first[:first], scores.second[:second]),
        Scores(scores.first[first:], scores.second[second:]),
    )


def _best(
    scores: Scores, gain: Callable[[float, float], float], failure: float
) -> tuple[float, float]:
    """Limits at the threshold that was best on the trials held out."""
    chosen, rest = _split(scores)
    places = np.unique(
        np.quantile(np.concatenate([chosen.first, chosen.second]), np.linspace(0.001, 0.999, 200))
    )
    # between two scores: ties are common, and a threshold at one would split them
    places = np.concatenate([places, [places[0] - 1.0]])
    threshold = max(places, key=lambda place: gain(*_guess(chosen, float(place))))
    return _limits(rest, float(threshold), failure)


def _guess(scores: Scores, threshold: float) -> tuple[float, float]:
    """About the limits, quickly, and wide:
    what the few trials held out do not know is not chosen."""
    rates = []
    for side, sign in ((scores.first, -3.0), (scores.second, 3.0)):
        rate = (np.count_nonzero(side > threshold) + 1.0) / (side.size + 2.0)
        rates.append(rate + sign * math.sqrt(rate * (1.0 - rate) / side.size))
    return rates[0], rates[1]


def _direct(scores: Scores, delta: float, failure: float = FAILURE) -> float:
    """Both directions."""

    def bound(hits: float, alarms: float) -> float:
        return math.log((hits - delta) / alarms) if hits > delta and alarms > 0.0 else 0.0

    swapped = Scores(-scores.second, -scores.first)
    return max(0.0, *(bound(*_best(way, bound, failure)) for way in (scores, swapped)))


def _family_of(randomizer: Randomizer) -> Family | None:
    """The same mechanism with another budget, if it has one."""
    if isinstance(randomizer, OneCoordinate):
        inner = _family_of(randomizer.randomizer)
        return inner and (lambda eps0: replace(randomizer, randomizer=inner(eps0)))
    if isinstance(randomizer, UnaryEncoding):
        alike = optimised_unary if randomizer.keep == 0.5 else rappor
        return lambda eps0: alike(randomizer.k, eps0)
    if "eps0" in (field.name for field in fields(randomizer)):  # type: ignore[arg-type]
        return lambda eps0: replace(randomizer, eps0=eps0)  # type: ignore[type-var]
    return None


def _family(
    build: Family, eps0: float, n: int, delta: float, scores: Scores, failure: float = FAILURE
) -> float:
    """epsilon of the smallest budget whose trade-off function allows the errors seen."""
    normal = NormalDist()

    def power(hits: float, alarms: float) -> float:
        if not (0.02 < hits < 0.98 and 0.02 < alarms < 0.98):
            return -math.inf  # rare events are not known well enough to choose by
        return normal.inv_cdf(hits) - normal.inv_cdf(alarms)

    hits, alarms = _best(scores, power, failure)

    def allows(eps0: float) -> bool:
        """Whether no epsilon of a grid forbids these errors: a coarser grid allows more."""
        curve = get_bound("blanket").curve(build(eps0), n)
        assert isinstance(curve, ProfileCurve)
        for epsilon in grid:
            loss = curve.enclose(epsilon, COARSE).upper
            # the test, and its contrary
            if (
                hits > math.exp(epsilon) * alarms + loss
                or 1.0 - alarms > math.exp(epsilon) * (1.0 - hits) + loss
            ):
                return False
        return True

    if not 0.0 < alarms < hits < 1.0:
        return 0.0
    reach = max(math.log(hits / alarms), math.log((1.0 - alarms) / (1.0 - hits)))
    grid = [reach * i / _GRID for i in range(_GRID)]
    bracket = grown(allows, eps0, 0.0, factor=1.5, most=_MOST)
    low = bisect(allows, *bracket, share=_PRECISION).bad
    if low == 0.0:
        return 0.0
    return Shuffled(build(low), n).epsilon(delta).lower


def _power(build: Family | None, eps0: float, n: int, delta: float, trials: int) -> Power:
    """By the errors of the best attack, as far off as chance puts them one time in ten."""
    size = trials - max(1, int(_HELD_OUT * trials))
    failure = FALSE_ALARM / _BOUNDS / 2.0
    best = lower_limit(size, size, failure) - delta
    largest = math.log(best / upper_limit(0, size, failure)) if size and best > 0.0 else 0.0
    if build is None or not size:
        return Power(max(0.0, largest), None, None)

    def seen(rate: float, sign: int) -> float:
        away = sign * _ONE_IN_TEN * math.sqrt(rate * (1.0 - rate) / size)
        count = round(size * min(1.0, max(0.0, rate + away)))
        return (lower_limit if sign < 0 else upper_limit)(count, size, failure)

    alarms = seen(_ALARMS, 1)
    if not 0.0 < alarms < 1.0:
        return Power(max(0.0, largest), None, None)
    allowed = 1.0 - Shuffled(build(eps0), n).guaranteed(alpha=alarms).value
    for factor in _FACTORS:
        other = Shuffled(build(factor * eps0), n)
        _, witnesses = other.candidates()
        if seen(1.0 - other.tightest(witnesses).tradeoff(_ALARMS), -1) > allowed:
            return Power(max(0.0, largest), factor * eps0, other.guaranteed(delta=delta).value)
    return Power(max(0.0, largest), None, None)
