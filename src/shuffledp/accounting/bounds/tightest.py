"""The tightest of several bounds: the one place where they are weighed against each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, TypeVar

import numpy as np

from shuffledp.accounting.bounds.theorem import Bound
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import ConversionError, RegimeError
from shuffledp.labels import Value
from shuffledp.numerics.enclosure import FINE, Enclosure
from shuffledp.numerics.rounding import Array

SILENT = (RegimeError, ConversionError)
"""What a bound raises that has no answer here; another may have one."""
_PROBES = (0.0, 2.0, 5.0)
"""Deviations of a loss at which curves are compared, by the curve that begins lowest and by the one
that begins highest: the lowest may have a floor."""
_NOTHING = 1e-40
"""Where all curves are below, none is better."""
_CLOSE = 5e-4
"""Ends so near each other, relatively, meet."""
_SOME, _CLEARLY = 4, 1.005
"""Every such point is enough to see that one bound is this many times another."""
_T = TypeVar("_T")


class Tightest(Curve):
    """Several bounds on the same end as one curve: at each point the best of their answers.

    ``make`` builds the curve of a bound when it is first needed. A bound without an answer is
    passed over; where none has one, the first of them says why.
    """

    kind = "tightest"

    def __init__(
        self, bounds: Iterable[Bound[Curve]], make: Callable[[Bound[Curve]], Curve]
    ) -> None:
        self._ahead: Iterator[Bound[Curve]] = iter(bounds)
        self._reached: list[Bound[Curve]] = []
        self._make = make
        self._curves: dict[str, Curve] = {}
        self._start: dict[str, float] = {}

    @classmethod
    def about(cls, bounds: Iterable[Bound[Curve]], randomizer: Randomizer, n: int) -> Tightest:
        """For n users of a randomizer."""
        return cls(bounds, lambda bound: bound.curve(randomizer, n))

    def __iter__(self) -> Iterator[Bound[Curve]]:
        for at in count():
            if at == len(self._reached):
                self._reached += islice(self._ahead, 1)
            if at == len(self._reached):
                return
            yield self._reached[at]

    @property
    def only_dear_left(self) -> bool:
        """Whether there are bounds that nobody has come to yet, all of them dear."""
        following = list(islice(self._ahead, 1))
        self._ahead = chain(following, self._ahead)
        return bool(following) and following[0].dear

    def expecting(self, epsilon: float) -> Tightest:
        return Tightest(self, lambda bound: self._curve(bound).expecting(epsilon))

    def delta(self, epsilon: float) -> float:
        return self.best("delta", epsilon).value

    def epsilon(self, delta: float) -> float:
        return self.best("epsilon", delta).value

    def renyi(self, order: float) -> float:
        return self.best("renyi", order).value

    def tradeoff(self, alpha: float) -> float:
        return self.best("tradeoff", alpha).value

    def enclose(self, epsilon: float, width: float = FINE) -> Enclosure:
        found = list(self.answers(lambda _, curve: curve.enclose(epsilon, width)))
        pick = self._pick("delta")
        return Enclosure(pick(x.lower for x in found), pick(x.upper for x in found))

    def best(self, quantity: str, at: float, enough: float | None = None) -> Value:
        """The best answer, labelled, or the first that is no larger than ``enough``."""
        for found in self.better(quantity, at):
            if enough is not None and found.value <= enough:
                break
        return found

    def better(self, quantity: str, at: float, *, skim: bool = False) -> Iterator[Value]:
        """The best answer of one bound, of two, and so on.

        ``skim``: bounds that a quick look does not show to need less epsilon are passed over.
        """
        found: list[Value] = []

        def ask(bound: Bound[Curve], curve: Curve) -> Value:
            if skim and found and quantity == "epsilon":
                least = self.choose(quantity, found).value
                if curve.likely_above(least, at) or (
                    not curve.seen_below(least, at) if bound.dear else curve.seen_above(least, at)
                ):
                    return self.choose(quantity, found)
            found.append(bound.theorem.value(getattr(curve, quantity)(at)))
            return self.choose(quantity, found)

        yield from self.answers(ask)

    def quick_delta(
        self, epsilon: float, width: float, enough: float | None = None, wanted: float = 0.0
    ) -> Value:
        """As ``best``, of upper bounds, which may be so much larger; or the first that is enough.

        Dear bounds are asked only while no other reaches what is ``wanted``.
        """
        found: list[Value] = []

        def ask(bound: Bound[Curve], curve: Curve) -> None:
            if not (bound.dear and found and self.choose("delta", found).value <= wanted):
                found.append(bound.theorem.value(curve.enclose(epsilon, width).upper))

        for _ in self.answers(ask):
            if enough is not None and found and found[-1].value <= enough:
                break
        return self.choose("delta", found)

    def leaked(self, quantity: str, at: float, most: float) -> Value:
        """As ``best``, of what data sets leak; nothing leaks more than ``most``."""
        return self._most(at, most) if quantity == "epsilon" else self.best(quantity, at)

    def _most(self, delta: float, most: float) -> Value:
        """The largest epsilon.

        Begins with the bound likely to be largest: a look at most others then shows them to be
        less. Dear ones wait until the others have answered.
        """

        def turn(bound: Bound[Curve]) -> tuple[bool, float]:
            try:
                return bound.dear, -self._curve(bound).likely_epsilon(delta, most)
            except SILENT:
                return bound.dear, 0.0

        found: list[Value] = []

        def ask(bound: Bound[Curve], curve: Curve) -> Value:
            if not (found and curve.seen_below(found[0].value, delta)):
                found.append(bound.theorem.value(curve.epsilon(delta)))
            return found[0]

        ordered = list(self)
        if len(ordered) > 1:
            ordered.sort(key=turn)
        for _ in self.answers(ask, ordered):
            pass
        return max(found, key=lambda value: value.value)

    def sketched(self, quantity: str, at: Sequence[float]) -> list[float]:
        pick = self._pick(quantity)
        rows: list[list[float]] = []
        one = quantity == "epsilon" and len(at) == 1

        def ask(_: Any, curve: Curve) -> None:
            if one and rows and pick is min and curve.sketched("delta", rows[0])[0] > at[0]:
                return  # needs a larger epsilon
            rows.append(curve.sketched(quantity, at))

        for _ in self.answers(ask, self if one else self.useful()):
            pass
        return [pick(column) for column in zip(*rows, strict=True)]

    def lowest(self, epsilons: list[float], bounds: Iterable[Bound[Curve]] | None = None) -> Array:
        """The least of the upper ends of both directions, of all bounds or of these.

        Begins with the bound that is lowest at 0; one that is clearly above it at some points is
        not asked at those between.
        """
        best: Array | None = None
        some = sorted({*range(_SOME - 1, len(epsilons), _SOME), len(epsilons) - 1})

        def ask(bound: Bound[Curve], curve: Curve) -> None:
            nonlocal best
            if best is not None and len(some) < len(epsilons):
                looked = _upper_ends(curve, [epsilons[i] for i in some])
                if (looked > _CLEARLY * best[some]).all():
                    return
            found = _upper_ends(curve, epsilons)
            best = found if best is None else np.minimum(best, found)

        asked = sorted(self if bounds is None else bounds, key=self._at_zero)
        for _ in self.answers(ask, asked):
            pass
        assert best is not None
        return best

    def _at_zero(self, bound: Bound[Curve]) -> float:
        """Its upper end at epsilon = 0."""
        if bound.theorem.id not in self._start:
            try:
                start = float(_upper_ends(self._curve(bound), [0.0])[0])
            except SILENT:
                start = math.inf
            self._start[bound.theorem.id] = start
        return self._start[bound.theorem.id]

    def useful(self, beyond: tuple[float, ...] = ()) -> Sequence[Bound[Curve]]:
        """The tightest in delta somewhere, with and without dear ones, and those with no delta.

        ``beyond``: more deviations of a loss at which they are compared.
        """
        bounds = list(self)
        if len(bounds) < 2:
            return bounds
        pick, start = self._pick("delta"), {}
        for bound in bounds:
            try:
                start[bound.theorem.id] = self._curve(bound).sketched("delta", [0.0])[0]
            except SILENT:
                continue
        ends = {pick(start.values(), default=0.0), max(start.values(), default=0.0)}
        at = sorted({2.5 * end * k for end in ends for k in (*_PROBES, *beyond)})
        deltas = {each: self._curves[each].sketched("delta", at) for each in start}
        plain = [b.theorem.id for b in bounds if not b.dear and b.theorem.id in deltas]
        best = {
            pick(among, key=lambda i: deltas[i][k])
            for among in (
                plain,
                list(deltas),
            )  # a dear bound is asked beside the others, not instead
            for k in range(len(at))
            if among and (k == 0 or any(deltas[i][k] > _NOTHING for i in among))
        }
        return [b for b in bounds if b.theorem.id in best or b.theorem.id not in deltas]

    def answers(
        self,
        ask: Callable[[Bound[Curve], Curve], _T],
        bounds: Iterable[Bound[Curve]] | None = None,
    ) -> Iterator[_T]:
        """What each bound (or each of these) answers, one after the other."""
        silent, answered = list[Exception](), False
        for bound in self if bounds is None else bounds:
            try:
                with bound.named():
                    answer = ask(bound, self._curve(bound))
            except SILENT as error:
                silent.append(error)
            else:
                answered = True
                yield answer
        if not answered:
            raise silent[0] if silent else RegimeError("a bound that speaks of this", "none")

    def choose(self, quantity: str, found: Iterable[Value]) -> Value:
        """The tightest of these answers, the first of equal ones."""
        best: Value = self._pick(quantity)(found, key=float)
        return best

    def _curve(self, bound: Bound[Curve]) -> Curve:
        if bound.theorem.id not in self._curves:
            self._curves[bound.theorem.id] = self._make(bound)
        return self._curves[bound.theorem.id]

    def _pick(self, quantity: str) -> Callable[..., Any]:
        """Least loss of upper bounds, most of lower ones; a large trade-off is a small loss."""
        return max if next(iter(self)).leaks != (quantity == "tradeoff") else min


def _upper_ends(curve: Curve, epsilons: list[float]) -> Array:
    forward, reverse = curve.sampled(epsilons)
    return np.maximum(forward[1], reverse[1])


def meet(quantity: str, at: float, one: Value, other: Value) -> bool:
    """Whether two ends are so close that nothing is to be gained by more bounds."""
    losses = one.value, other.value
    if quantity == "tradeoff":  # what an attack gains over guessing
        losses = 1.0 - at - one.value, 1.0 - at - other.value
    return abs(losses[0] - losses[1]) <= _CLOSE * max(losses)
