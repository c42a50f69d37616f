"""Every user chooses a budget; each class of users gets its own guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import checks
from shuffledp.accounting.bounds import Bound
from shuffledp.accounting.bounds.blanket import WorstDataset, dataset_curve
from shuffledp.accounting.bounds.gaussian_proven import gaussian_unshuffled
from shuffledp.accounting.bounds.personalized import (
    PersonalCurve,
    personal_blanket,
    personal_curve,
    personal_dataset,
    score_test,
    spread,
    statistic_delta,
)
from shuffledp.accounting.bounds.published import local
from shuffledp.accounting.bounds.swap_personal import (
    of_own_budgets,
    swap_of_classes,
    swap_of_equals,
    swap_of_noises,
)
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import Curve, PureEnd
from shuffledp.accounting.protocols.base import QUESTIONS, Protocol, asked
from shuffledp.accounting.protocols.budgets import expand
from shuffledp.accounting.randomizers.families import Family
from shuffledp.errors import InternalError, ParameterError, RegimeError, answering
from shuffledp.labels import Interval, Value, counted
from shuffledp.numerics.enclosure import QUICK, SEARCH
from shuffledp.numerics.lattice_sum import SumLaw, sum_law
from shuffledp.numerics.logs import complement_above
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, up
from shuffledp.numerics.search import bisect
from shuffledp.numerics.stochastic import DominatingBinomial, dominating_binomial
from shuffledp.shown import Drawn, Printed

_MOST_CLASSES = 64
"""Up to this many distinct budgets each is a class of its own."""
_MOST_VISIBLE = 1000
_GROUPS = 32
_RARE = (1e-3, 1e-2)
"""Shares of the users whose budgets, the smallest, form ranges of their own: others are hidden by
them, while they may have nobody."""
_FINE = 800
_BISECTIONS = 10
_SAME = 1e-3
_SHOWN = 20
_NOBODY = DominatingBinomial(0, 1.0, 1.0, 0.0)
_SHIFTS = (-3.5, 3.5)
"""Where, in standard deviations, counts are computed with relative accuracy."""

VISIBLE = (
    "The budget travels next to the report: a rare budget points at its owner, so only users of"
    " equal budget hide each other."
)
MANY = (
    f" More than {_MOST_VISIBLE:,} distinct visible budgets are taken together in ranges,"
    " and everybody in a"
    " range is counted as hidden only by as many users as its rarest budget has:"
    " report coarser budgets."
)
HIDDEN = (
    "Assumed: nothing but the report itself leaves the device. If the budget (or anything derived"
    " from it) is visible next to the report, these numbers do not hold."
)


@dataclass(frozen=True)
class BudgetClass:
    """Users of one budget, or of neighbouring budgets taken together, and what they lose.

    Parameters
    ----------
    eps0, smallest
        Largest and smallest budget of the class.
    count
        How many users it has.
    interval
        The answer for them.
    applies
        Which argument gave it, in words.
    """

    eps0: float
    """Largest budget of the class."""
    smallest: float
    count: int
    interval: Interval
    """What was asked for, after shuffling."""
    applies: str
    """'amplified', or 'own budget' where shuffling is not known to add anything."""

    def to_dict(self, uncovered: str = "") -> dict[str, Any]:
        """JSON-ready form; of a release that is not covered, what would hold otherwise."""
        known = self.interval.to_dict()
        otherwise = {"lower": known["lower"], "upper": known["upper"]}
        return {
            "eps0": self.eps0,
            "eps0_smallest": self.smallest,
            "count": self.count,
            self.interval.quantity: None if uncovered else known,
            **({"otherwise": otherwise} if uncovered else {}),
            "applies": self.applies,
            "status": None if uncovered else self.interval.status.value,
            "theorem": self.interval.theorem,
        }


@dataclass(frozen=True)
class Guarantees(Printed, Drawn):
    """The answer by class, from the smallest budget to the largest."""

    quantity: str
    given: float
    classes: tuple[BudgetClass, ...]
    warning: str
    uncovered: str = ""
    """Why nothing is proven of a release that was made in this way, if so."""

    @property
    def worst(self) -> BudgetClass:
        """The class with the largest guaranteed loss."""
        largest = min if self.quantity == "tradeoff" else max
        return largest(self.classes, key=lambda each: each.interval.guarantee.value)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Everyone but a victim: strengths in ascending order and how many of each."""

    strengths: Array
    counts: NDArray[np.int64]


@dataclass
class _Wanted:
    """The question, and what the search for one class learns for the next."""

    quantity: str
    given: float
    ratio: float = 0.0
    """epsilon over strength of the class before."""

    def beyond(self, curve: Curve, epsilon: float) -> bool:
        """Whether an epsilon is asked for, and this curve is seen to need a larger one."""
        return self.quantity == "epsilon" and curve.enclose(epsilon, QUICK).upper > self.given

    def answer(self, bound: Bound[Curve], curve: Curve) -> Value:
        """What a curve answers."""
        return bound.theorem.value(getattr(curve, self.quantity)(self.given))


class Personalized(Protocol):
    """The shuffled reports of users with budgets of their own.

    Neighbouring data sets differ in one user's value; budgets and n are public. ``guarantees``
    answers for each class of users, the questions of every protocol for the user who loses most.

    Parameters
    ----------
    family
        The mechanism, one member per budget, such as ``LaplaceFamily()``.
    budgets
        One number per user, or a histogram ``{budget: count}``.
    budgets_visible
        Whether a user's budget travels next to the report. It must be stated.
    deltas
        One number, or one per user, for mechanisms that need it (Gaussian).
    colluders, minimum_batch
        Users who reveal their reports, and the fewest reports released together: in both cases the
        most helpful users are taken to be gone.

    Examples
    --------
    >>> from shuffledp import LaplaceFamily, Personalized
    >>> users = Personalized(LaplaceFamily(), {0.5: 400, 2.0: 200}, budgets_visible=True)
    >>> [(each.eps0, each.count) for each in users.guarantees(delta=1e-5).classes]
    [(0.5, 400), (2.0, 200)]
    """

    def __init__(
        self,
        family: Family,
        budgets: object,
        *,
        budgets_visible: bool,
        deltas: object = None,
        colluders: int = 0,
        minimum_batch: int | None = None,
    ) -> None:
        if not isinstance(family, Family):
            raise ParameterError("family", "a family such as LaplaceFamily()", family)
        if not isinstance(budgets_visible, bool):
            raise ParameterError("budgets_visible", "True or False", budgets_visible)
        self.family, self.budgets_visible = family, budgets_visible
        values = expand(budgets)
        order = np.argsort(values, kind="stable")
        self.budgets = values[order]
        self._deltas = deltas
        strengths = family.strengths(values, _deltas(deltas, values.size))[order]
        if np.any(np.diff(strengths) < 0.0):  # deltas differ: order by what the device does
            order = np.argsort(strengths, kind="stable")
            self.budgets, strengths = self.budgets[order], strengths[order]
        self.n = int(values.size)
        self.colluders = checks.count("colluders", colluders, least=0)
        batch = self.n if minimum_batch is None else checks.count("minimum_batch", minimum_batch)
        if batch > self.n:
            raise ParameterError("minimum_batch", f"at most n = {self.n}", batch)
        self.gone = self.n - batch + self.colluders
        if self.gone >= self.n:
            raise ParameterError("colluders", "fewer than the users in a batch", self.colluders)
        self._strengths, first, self._counts = np.unique(
            strengths, return_index=True, return_counts=True
        )
        self._labels = self.budgets[np.append(first[1:] - 1, self.n - 1)]
        self._grouped = self._strengths.size > _MOST_CLASSES
        if self._grouped and not family.groups:
            raise ParameterError(
                "budgets", f"at most {_MOST_CLASSES} distinct ones for {family.name}", "more"
            )
        self._fine = self._fine_cuts()

    @property
    def warning(self) -> str:
        """What the numbers assume about visibility."""
        if not self.budgets_visible:
            return HIDDEN
        return VISIBLE + (MANY if self._strengths.size > _MOST_VISIBLE else "")

    def ask(self, **question: float) -> Interval:
        """As for every protocol: of all users, the one who loses most."""
        found = self.guarantees(**question)
        worst = min if found.quantity == "tradeoff" else max
        leaked = worst((each.interval.leaked for each in found.classes), key=float)
        return Interval.of(found.quantity, found.worst.interval.guarantee, leaked)

    def guarantees(self, **question: float) -> Guarantees:
        """The same question, answered for each class of users."""
        given, value = asked(question)
        wanted = _Wanted(QUESTIONS[given], value)
        with answering(self, {given: value}):
            found = [self._class(*cut, wanted) for cut in reversed(self._class_cuts())]
        return Guarantees(wanted.quantity, value, tuple(reversed(found)), self.warning)

    def guarantees_of_largest(self, **question: float) -> BudgetClass:
        """The class of the largest budget alone."""
        given, value = asked(question)
        with answering(self, {given: value}):
            return self._class(*self._class_cuts()[-1], _Wanted(QUESTIONS[given], value))

    def __str__(self) -> str:
        text = f"{counted(self.n, 'user')}, {self.family.name}, budgets from {self.budgets[0]:g} to"
        text += f" {self.budgets[-1]:g}, shuffled"
        return text + (", budgets visible" if self.budgets_visible else ", budgets hidden")

    def __repr__(self) -> str:
        values, counts = np.unique(self.budgets, return_counts=True)
        budgets = dict(zip(values[:_SHOWN].tolist(), counts[:_SHOWN].tolist(), strict=True))
        more = f" and {values.size - _SHOWN:,} more" if values.size > _SHOWN else ""
        return (
            f"Personalized({self.family!r}, {budgets}{more},"
            f" budgets_visible={self.budgets_visible},"
            f" deltas={self._deltas!r}, gone={self.gone})"
        )

    def _class_cuts(self) -> list[tuple[int, int]]:
        """Runs of distinct strengths that form a class."""
        if not self._grouped or (self.budgets_visible and self._strengths.size <= _MOST_VISIBLE):
            return [(i, i) for i in range(self._strengths.size)]
        few = np.searchsorted(np.cumsum(self._counts), self.n * np.array(_RARE))
        return _cuts(self._strengths, _GROUPS, few)

    def _fine_cuts(self) -> list[tuple[int, int]]:
        return _cuts(self._strengths, _FINE) if self._strengths.size > _FINE else []

    def _class(self, low: int, high: int, wanted: _Wanted) -> BudgetClass:
        strong = float(self._strengths[high])
        guaranteed = self._guaranteed(low, high, wanted)
        leaked = personal_dataset.theorem.value(self._leaked(low, high, wanted, guaranteed.value))
        own = guaranteed.theorem not in (personal_blanket.theorem.id, of_own_budgets.theorem.id)
        own = own or self._own(wanted, guaranteed.value, strong)
        return BudgetClass(
            float(self._labels[high]),
            float(self._labels[low]),
            int(self._counts[low : high + 1].sum()),
            Interval.of(wanted.quantity, guaranteed, leaked),
            "own budget" if own else "amplified",
        )

    def _guaranteed(self, low: int, high: int, wanted: _Wanted) -> Value:
        """By the blanket, by a swap, or by the report as if there were no shuffler."""
        strong = float(self._strengths[high])
        unshuffled: Bound[Curve] = local if self.family.pure else gaussian_unshuffled
        curves: dict[str, Callable[[], Curve]] = {
            personal_blanket.theorem.id: lambda: self._upper(low, high, wanted),
            of_own_budgets.theorem.id: lambda: self._swapped(low, high),
            unshuffled.theorem.id: lambda: unshuffled.curve(self.family.member(strong), 1),
        }
        asked = [personal_blanket, of_own_budgets, unshuffled]
        best = Tightest(asked, lambda bound: curves[bound.theorem.id]())
        found: list[Value] = []

        def ask(bound: Bound[Curve], curve: Curve) -> None:
            if bound is of_own_budgets and found and wanted.beyond(curve, found[0].value):
                return
            found.append(wanted.answer(bound, curve))

        for _ in best.answers(ask):
            pass
        for value in found:
            blanket = value.theorem == personal_blanket.theorem.id
            if blanket and 0.0 < value.value < 0.5 * self.family.pure_epsilon(strong):
                wanted.ratio = value.value / strong
        return best.choose(wanted.quantity, found)

    def _own(self, wanted: _Wanted, upper: float, strength: float) -> bool:
        """Whether the report alone, without any shuffler, is known to leak no more."""
        top = self.family.pure_epsilon(strength)
        alone = personal_curve(self.family.pairs(strength, strength), _NOBODY, PureEnd(top))
        if wanted.quantity == "epsilon":
            return upper >= top or alone.enclose(upper, SEARCH).upper <= wanted.given * (
                1.0 + _SAME
            )
        if wanted.quantity == "delta":
            return alone.enclose(wanted.given, SEARCH).upper <= upper * (1.0 + _SAME)
        if wanted.quantity == "tradeoff":
            return alone.tradeoff(wanted.given) >= upper * (1.0 - _SAME)
        return alone.renyi(wanted.given) <= upper * (1.0 + _SAME)

    def _crowd(self, low: int, high: int) -> _Crowd:
        """Everyone but the victim; visible budgets leave those of equal budget, if one class."""
        counts = self._counts.astype(np.int64)
        if self.budgets_visible:
            counts = np.where(np.arange(counts.size) == high, counts, 0)
        if low == high:
            counts = counts.copy()
            counts[low] -= 1
        keep = counts > 0
        return _Crowd(self._strengths[keep], counts[keep])

    def _weights(self, reference: float, low: int, high: int) -> tuple[Array, NDArray[np.int64]]:
        """gamma_i of the others still there, rounded down.

        Where visible budgets are taken together, the crowd of the rarest at the largest of them.
        """
        weak, strong = float(self._strengths[low]), float(self._strengths[high])
        if self.budgets_visible and low < high:
            rarest = self._counts[low : high + 1].min(keepdims=True).astype(np.int64) - 1
            gammas = self.family.weights(reference, np.array([strong]), strong, strong)
            return gammas, _without(gammas, rarest, self.gone)
        if self._fine and not self.budgets_visible:
            starts = np.array([a for a, _ in self._fine])
            ends = np.array([b for _, b in self._fine])
            counts = np.add.reduceat(self._counts.astype(np.int64), starts)
            # gamma is quasi-concave in the strength: smallest at an end of the bin
            gammas = np.minimum(
                self.family.weights(reference, self._strengths[starts], weak, strong),
                self.family.weights(reference, self._strengths[ends], weak, strong),
            )
            gone = self.gone + 1  # the victim, taken to be the most helpful user
        else:
            crowd = self._crowd(low, high)
            counts = crowd.counts
            gammas = self.family.weights(reference, crowd.strengths, weak, strong)
            gone = self.gone + (1 if low < high else 0)
        return gammas, _without(gammas, counts, gone)

    def _swapped(self, low: int, high: int) -> Curve:
        """By a swap, the strongest of the class among the others still there."""
        strong = float(self._strengths[high])
        if self.budgets_visible:
            others = int(self._counts[low : high + 1].min()) - 1 - self.gone
            return swap_of_equals(self.family.member(strong), max(others, 0) + 1)
        crowd = self._crowd(low, high)
        gone = self.gone + (1 if low < high else 0)
        if self.family.convolved:
            ends = strong, float(self._strengths[low])
            return swap_of_noises(self.family, *ends, crowd.strengths, crowd.counts, gone)
        if low < high and not self.family.nested:  # others may hide the strongest and not the rest
            weak = f"budgets {float(self._labels[low]):g} to {float(self._labels[high]):g}"
            raise RegimeError("one hidden budget in each class of users", weak)
        if self.family.nested:  # the weakest help most
            counts = _without(-crowd.strengths, crowd.counts, gone)
        else:  # of each class, all who are gone
            counts = np.maximum(crowd.counts - gone, 0)
        keep = counts > 0
        return swap_of_classes(self.family, strong, crowd.strengths[keep], counts[keep])

    def _upper(self, low: int, high: int, wanted: _Wanted) -> PersonalCurve:
        """The curve of the most promising reference."""
        strong = float(self._strengths[high])
        crowd = self._strengths if not self.budgets_visible else self._strengths[high : high + 1]
        ranked = []
        for reference in self.family.references(strong, crowd):
            gammas, counts = self._weights(reference, low, high)
            clones = float(gammas @ counts)
            if clones <= 0.0:
                continue
            pairs = self.family.pairs(strong, reference)
            cost = max(spread(pair.outcomes) for pair in pairs)
            ranked.append((cost / (clones + 1.0), pairs, gammas, counts))
        end = PureEnd(self.family.pure_epsilon(strong))
        near = wanted.ratio * strong
        if not ranked:
            return personal_curve(self.family.pairs(strong, strong), _NOBODY, end, near)
        ranked.sort(key=lambda entry: entry[0])
        curves = [
            personal_curve(pairs, dominating_binomial(gammas, counts), end, near)
            for _, pairs, gammas, counts in ranked[: 1 if self._grouped else 2]
        ]
        if len(curves) == 1:
            return curves[0]
        if wanted.quantity == "epsilon":
            first = curves[0].searched_epsilon(wanted.given)
            better = first > 0.0 and curves[1].delta(first) < curves[0].delta(first)
            return curves[1] if better else curves[0]
        best = max if wanted.quantity == "tradeoff" else min
        return best(curves, key=lambda curve: getattr(curve, wanted.quantity)(wanted.given))

    def _leaked(self, low: int, high: int, wanted: _Wanted, guaranteed: float) -> float:
        """What a data set leaks: all others at one value, the victim the strongest of the class."""
        strong = float(self._strengths[high])
        crowd = self._crowd(low, high)
        counts = crowd.counts
        if low < high:
            counts = counts.copy()
            counts[int(np.searchsorted(crowd.strengths, strong))] -= 1
        if self.gone:
            gammas = self.family.weights(strong, crowd.strengths, strong, strong)
            counts = _without(gammas, counts, self.gone)
        sides = None
        if crowd.strengths.size > 4 * _MOST_CLASSES:
            sides = self._sides[np.searchsorted(self._strengths, crowd.strengths)]
        keep = counts > 0
        others, counts = crowd.strengths[keep], counts[keep]
        # against a crowd of another strength ratios may be unbounded: there tests do better
        if others.size == 1 and (others[0] == strong or self.family.bounded):
            pairs = self.family.datasets(strong, float(others[0]))
            n = int(counts[0]) + 1
            end = PureEnd(self.family.member(strong).eps0)
            worst = WorstDataset([dataset_curve(pair, n, end) for pair in pairs])
            return float(getattr(worst, wanted.quantity)(wanted.given))
        tests = _Tests(self.family, strong, others, counts, None if sides is None else sides[keep])
        if wanted.quantity == "epsilon":
            return tests.epsilon(wanted.given, guaranteed)
        if wanted.quantity == "delta":
            return tests.delta(wanted.given)
        # nobody has looked for tests: what is true of any data set
        return float(complement_above(wanted.given)) if wanted.quantity == "tradeoff" else 0.0

    @cached_property
    def _sides(self) -> Array:
        """How likely each user, at the victim's first value, reports on its side."""
        side = _side(self.family)
        parts = np.array_split(self._strengths, max(1, self._strengths.size // 20_000))
        near = np.concatenate([self.family.reports(x, 0)[:, side].sum(axis=1) for x in parts])
        return np.asarray(np.clip(near, 0.0, 1.0), dtype=np.float64)


class _Tests:
    """Score tests on the data sets "all others at one value", both directions.

    With very many distinct budgets the score is a single bit: on which side the report lies.
    """

    def __init__(
        self,
        family: Family,
        strong: float,
        others: Array,
        counts: NDArray[np.int64],
        sides: Array | None,
    ) -> None:
        self.counts = counts
        own = np.array([strong])
        a, b = (family.reports(own, place)[0] for place in (0, 1))
        self.cases: list[tuple[Array, Array, Array]] = []
        self.laws: list[SumLaw] = []
        if sides is not None:
            rows = np.stack([sides, 1.0 - sides], axis=1)
            sd = math.sqrt(float(np.sum(counts * sides * (1.0 - sides))))
            self.laws = [sum_law(rows, counts, shift / sd) for shift in _SHIFTS]
            side = _side(family)
            first, second = (np.array([x[side].sum(), x[~side].sum()]) for x in (a, b))
            self.cases = [(first, second, rows), (second, first, rows)]
            return
        for place in (0, 2):
            if place == 0 or a.size > 2:
                rows = family.reports(others, place)
                self.cases += [(a, b, rows), (b, a, rows)]

    def _at(self, case: int, epsilon: float) -> float:
        first, second, rows = self.cases[case]
        if not self.laws:
            return score_test(first, second, rows, self.counts, epsilon)
        return max(statistic_delta(law, first, second, epsilon) for law in self.laws)

    def delta(self, epsilon: float) -> float:
        return max((self._at(case, epsilon) for case in range(len(self.cases))), default=0.0)

    def epsilon(self, delta: float, upper: float) -> float:
        """The largest epsilon found at which a test still leaks more than delta."""
        best = 0.0
        for case in range(len(self.cases)):
            if upper <= best or self._at(case, best) <= delta:
                continue
            if self._at(case, upper) > up(delta, SUMS):
                raise InternalError(f"a data set leaks more than proven at epsilon = {upper!r}")

            def leaks(x: float, case: int = case) -> bool:
                return self._at(case, x) > delta

            best = bisect(leaks, best, upper, _BISECTIONS).good
        return best


def _side(family: Family) -> NDArray[np.bool_]:
    """The outcomes likelier under the victim's first value."""
    one = np.ones(1)
    return np.asarray(family.reports(one, 0)[0] > family.reports(one, 1)[0])


def _deltas(deltas: object, n: int) -> Array | None:
    if deltas is None:
        return None
    if isinstance(deltas, int | float):
        return np.full(n, checks.probability("deltas", deltas))
    values = expand(deltas)
    if values.size != n:
        raise ParameterError("deltas", f"one number or one per user ({n})", values.size)
    bad = np.flatnonzero(values >= 1.0)
    if bad.size:
        raise ParameterError("deltas", f"below 1 (user {bad[0] + 1})", float(values[bad[0]]))
    return values


def _cuts(strengths: Array, most: int, also: ArrayLike = ()) -> list[tuple[int, int]]:
    """Runs of neighbouring strengths, equally wide in the logarithm, none empty;
    cut ``also`` here."""
    edges = np.geomspace(float(strengths[0]), up(float(strengths[-1]), FORMULA), most + 1)
    starts = np.unique(np.concatenate([np.searchsorted(strengths, edges[:-1]), also])).astype(int)
    ends = np.append(starts[1:] - 1, strengths.size - 1)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if a <= b]


def _without(gammas: Array, counts: NDArray[np.int64], gone: int) -> NDArray[np.int64]:
    """Counts after the ``gone`` users of largest gamma have left."""
    if gone <= 0:
        return counts
    left = counts.copy()
    order = np.argsort(-gammas, kind="stable")
    taken = np.minimum(
        np.maximum(gone - np.concatenate([[0], np.cumsum(left[order])[:-1]]), 0), left[order]
    )
    left[order] -= taken
    return left
