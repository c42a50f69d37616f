"""Every user chooses a budget; each class of users gets its own guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import checks
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.bounds.blanket import WorstDataset, dataset_curve
from shuffledp.accounting.bounds.personalized import (
    epsilon_upper,
    personal_curve,
    score_test,
    spread,
    statistic_delta,
)
from shuffledp.accounting.curves import ProfileCurve, PureEnd
from shuffledp.accounting.protocols.budgets import expand
from shuffledp.accounting.randomizers.families import Family
from shuffledp.errors import ConversionError, InternalError, ParameterError, answering
from shuffledp.labels import Direction, Interval, Status, Value
from shuffledp.numerics.enclosure import SEARCH
from shuffledp.numerics.lattice_sum import SumLaw, sum_law
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, up
from shuffledp.numerics.search import bisect
from shuffledp.numerics.stochastic import DominatingBinomial, dominating_binomial

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
_BLANKET = "personal-blanket"
_NOBODY = DominatingBinomial(0, 1.0, 1.0, 0.0)
_SHIFTS = (-3.5, 3.5)
"""Where, in standard deviations, counts are computed with relative accuracy."""

VISIBLE = (
    "The budget travels next to the report: a rare budget points at its owner, so only users of"
    " equal budget hide each other."
)
MANY = (
    f" More than {_MOST_VISIBLE:,} distinct visible budgets are taken together in ranges, and everybody in a"
    " range is counted as hidden only by as many users as its rarest budget has: report coarser budgets."
)
HIDDEN = (
    "Assumed: nothing but the report itself leaves the device. If the budget (or anything derived"
    " from it) is visible next to the report, these numbers do not hold."
)


@dataclass(frozen=True)
class Class:
    """Users of one budget, or of neighbouring budgets taken together."""

    eps0: float
    """Largest budget of the class."""
    smallest: float
    count: int
    interval: Interval
    """Amplified epsilon at the delta asked, or delta at the epsilon asked."""
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
class Guarantees:
    """The answer by class, from the smallest budget to the largest."""

    quantity: str
    given: float
    classes: tuple[Class, ...]
    warning: str
    uncovered: str = ""
    """Why nothing is proven of a release that was made in this way, if so."""

    @property
    def worst(self) -> Class:
        """The class with the largest guaranteed loss."""
        return max(self.classes, key=lambda each: each.interval.upper)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Everyone but a victim: strengths in ascending order and how many of each."""

    strengths: Array
    counts: NDArray[np.int64]


class Personalized:
    """The shuffled reports of users with budgets of their own.

    ``budgets`` holds one number per user, or is a histogram {budget: count}; ``deltas`` one number
    or one per user for mechanisms that need it (Gaussian). ``budgets_visible`` must be stated: does
    a user's budget travel next to the report? Neighbouring data sets differ in one user's value;
    budgets and n are public. ``colluders`` reveal their reports; users may drop out as long as
    ``minimum_batch`` remain: in both cases the most helpful ones are taken to be gone.
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
        self._sides: Array | None = None
        self._guess = 0.0

    @property
    def warning(self) -> str:
        """What the numbers assume about visibility."""
        if not self.budgets_visible:
            return HIDDEN
        return VISIBLE + (MANY if self._strengths.size > _MOST_VISIBLE else "")

    def guarantees(self, *, delta: float | None = None, epsilon: float | None = None) -> Guarantees:
        """By class: epsilon at this delta, or delta at this epsilon."""
        quantity, given = _question(delta, epsilon)
        self._guess = 0.0  # epsilon over strength of the class before
        with answering(self, {"delta" if quantity == "epsilon" else "epsilon": given}):
            cuts = self._class_cuts()
            found = [self._class(low, high, quantity, given) for low, high in reversed(cuts)]
        classes = tuple(reversed(found))
        return Guarantees(quantity, given, classes, self.warning)

    def guarantees_of_largest(
        self, *, delta: float | None = None, epsilon: float | None = None
    ) -> Class:
        """The class of the largest budget alone."""
        quantity, given = _question(delta, epsilon)
        self._guess = 0.0
        with answering(self, {"delta" if quantity == "epsilon" else "epsilon": given}):
            return self._class(*self._class_cuts()[-1], quantity, given)

    def __str__(self) -> str:
        text = f"{self.n:,} user{'s' * (self.n > 1)}, {self.family.name}, budgets from {self.budgets[0]:g} to"
        text += f" {self.budgets[-1]:g}, shuffled"
        return text + (", budgets visible" if self.budgets_visible else ", budgets hidden")

    def __repr__(self) -> str:
        values, counts = np.unique(self.budgets, return_counts=True)
        budgets = dict(zip(values[:_SHOWN].tolist(), counts[:_SHOWN].tolist(), strict=True))
        more = f" and {values.size - _SHOWN:,} more" if values.size > _SHOWN else ""
        return (
            f"Personalized({self.family!r}, {budgets}{more}, budgets_visible={self.budgets_visible},"
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

    def _class(self, low: int, high: int, quantity: str, given: float) -> Class:
        weak, strong = float(self._strengths[low]), float(self._strengths[high])
        count = int(self._counts[low : high + 1].sum())
        upper, theorem = self._guaranteed(low, high, weak, strong, quantity, given)
        lower = self._lower(low, high, strong, quantity, given, upper)
        own = theorem != _BLANKET or self._own(quantity, given, upper, strong)
        interval = Interval(
            quantity,
            Value(lower, Status.FIXED_PAIR, Direction.LOWER, "personal-dataset"),
            Value(upper, Status.PROVEN, Direction.UPPER, theorem),
        )
        applies = "own budget" if own else "amplified"
        labels = self._labels
        return Class(float(labels[high]), float(labels[low]), count, interval, applies)

    def _guaranteed(
        self, low: int, high: int, weak: float, strong: float, quantity: str, given: float
    ) -> tuple[float, str]:
        """The upper end and its theorem: the blanket, or the report as if there were no shuffler."""
        unshuffled = get_bound("local" if self.family.pure else "gaussian-unshuffled")
        alone = unshuffled.curve(self.family.member(strong), 1)
        if quantity == "delta":
            upper = self._upper(low, high, weak, strong, quantity, given).delta(given)
            least = alone.delta(given)
        else:
            upper = self._epsilon(low, high, weak, strong, given)
            least = alone.epsilon(given)
        return (least, unshuffled.theorem.id) if least < upper else (upper, _BLANKET)

    def _epsilon(self, low: int, high: int, weak: float, strong: float, delta: float) -> float:
        """epsilon by the blanket; infinite where no search finds any."""
        try:
            curve = self._upper(low, high, weak, strong, "epsilon", delta)
            if self._guess > 0.0:
                upper = epsilon_upper(curve, delta, self._guess * strong)
            else:
                upper = curve.epsilon(delta)
        except ConversionError:
            return math.inf
        if 0.0 < upper < 0.5 * self.family.top(strong):
            self._guess = upper / strong
        return upper

    def _own(self, quantity: str, given: float, upper: float, strength: float) -> bool:
        """Whether the report alone, without any shuffler, is known to leak no more."""
        top = self.family.top(strength)
        alone = personal_curve(self.family.scenes(strength, strength), _NOBODY, PureEnd(top))
        if quantity == "epsilon":
            return upper >= top or alone.enclose(upper, SEARCH).upper <= given * (1.0 + _SAME)
        return alone.enclose(given, SEARCH).upper <= upper * (1.0 + _SAME)

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

    def _upper(
        self, low: int, high: int, weak: float, strong: float, quantity: str, given: float
    ) -> ProfileCurve:
        """The curve of the most promising reference."""
        crowd = self._strengths if not self.budgets_visible else self._strengths[high : high + 1]
        ranked = []
        for reference in self.family.references(strong, crowd):
            gammas, counts = self._weights(reference, low, high)
            clones = float(gammas @ counts)
            if clones <= 0.0:
                continue
            scenes = self.family.scenes(strong, reference)
            cost = max(spread(scene.outcomes) for scene in scenes)
            ranked.append((cost / (clones + 1.0), reference, scenes, gammas, counts))
        end = PureEnd(self.family.top(strong))
        if not ranked:
            return personal_curve(self.family.scenes(strong, strong), _NOBODY, end)
        ranked.sort(key=lambda entry: entry[0])
        curves = []
        for _, _, scenes, gammas, counts in ranked[: 1 if self._grouped else 2]:
            curves.append(personal_curve(scenes, dominating_binomial(gammas, counts), end))
        if len(curves) == 1:
            return curves[0]
        if quantity == "epsilon":
            first = curves[0].epsilon(given)
            better = first > 0.0 and curves[1].delta(first) < curves[0].delta(first)
            return curves[1] if better else curves[0]
        return min(curves, key=lambda curve: curve.delta(given))

    def _lower(
        self, low: int, high: int, strong: float, quantity: str, given: float, upper: float
    ) -> float:
        """What a data set leaks: all others at one value, the victim the strongest of the class."""
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
            if self._sides is None:
                self._sides = _sides(self.family, self._strengths)
            sides = self._sides[np.searchsorted(self._strengths, crowd.strengths)]
        keep = counts > 0
        others, counts = crowd.strengths[keep], counts[keep]
        # against a crowd of another strength ratios may be unbounded: there tests do better
        if others.size == 1 and (others[0] == strong or self.family.bounded):
            scenes = self.family.datasets(strong, float(others[0]))
            n = int(counts[0]) + 1
            end = PureEnd(self.family.member(strong).eps0)
            worst = WorstDataset([dataset_curve(scene, n, end) for scene in scenes])
            value = worst.epsilon(given) if quantity == "epsilon" else worst.delta(given)
            return value
        tests = _Tests(self.family, strong, others, counts, None if sides is None else sides[keep])
        if quantity == "delta":
            return tests.delta(given)
        return tests.epsilon(given, upper)


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


def _sides(family: Family, strengths: Array) -> Array:
    """How likely each user, at the victim's first value, reports on its side."""
    side = _side(family)
    parts = np.array_split(strengths, max(1, strengths.size // 20_000))
    near = np.concatenate([family.reports(part, 0)[:, side].sum(axis=1) for part in parts])
    return np.asarray(np.clip(near, 0.0, 1.0), dtype=np.float64)


def _question(delta: float | None, epsilon: float | None) -> tuple[str, float]:
    """The quantity asked for, and what is given."""
    if delta is not None and epsilon is None:
        return "epsilon", checks.probability("delta", delta)
    if epsilon is not None and delta is None:
        return "delta", checks.non_negative("epsilon", epsilon)
    raise ParameterError("question", "exactly one of delta=, epsilon=", None)


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
    """Runs of neighbouring strengths, equally wide in the logarithm, none empty; cut ``also`` here."""
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
