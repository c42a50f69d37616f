"""What every protocol can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from operator import attrgetter

from shuffledp import checks
from shuffledp.accounting.bounds import Bound
from shuffledp.accounting.bounds.theorem import kept
from shuffledp.accounting.bounds.tightest import SILENT, Tightest, meet
from shuffledp.accounting.curves import Curve
from shuffledp.errors import InternalError, ParameterError, UnknownTheoremError, answering
from shuffledp.labels import Interval, Value
from shuffledp.shown import Drawn

QUESTIONS = {"delta": "epsilon", "epsilon": "delta", "order": "renyi", "alpha": "tradeoff"}
"""Given parameter -> quantity asked for."""
_CHECKS = {
    "delta": checks.probability,
    "epsilon": checks.non_negative,
    "order": checks.order,
    "alpha": checks.unit,
}
Bounds = Iterable[Bound[Curve]]


def asked(question: dict[str, float]) -> tuple[str, float]:
    """The one question and its checked value."""
    if len(question) != 1 or next(iter(question)) not in QUESTIONS:
        raise ParameterError(
            "question", "exactly one of delta=, epsilon=, order=, alpha=", sorted(question)
        )
    given, value = next(iter(question.items()))
    return given, _CHECKS[given](given, value)


class Protocol(ABC):
    """Users whose reports are mixed; neighbouring data sets differ in what one of them holds.

    Each question returns an :class:`Interval`: guaranteed for every data set at one end, leaked by
    a concrete data set at the other.
    """

    def epsilon(self, delta: float) -> Interval:
        """epsilon at this delta."""
        return self.ask(delta=delta)

    def delta(self, epsilon: float) -> Interval:
        """delta at this epsilon."""
        return self.ask(epsilon=epsilon)

    def renyi(self, order: float) -> Interval:
        """Rényi divergence of this order, the larger of both directions."""
        return self.ask(order=order)

    def tradeoff(self, alpha: float) -> Interval:
        """Smallest type II error of any test at type I error alpha (less is worse)."""
        return self.ask(alpha=alpha)

    @abstractmethod
    def ask(self, **question: float) -> Interval:
        """One of delta=, epsilon=, order=, alpha=."""

    def guaranteed(self, *, expected: float | None = None, **question: float) -> Value:
        """The proven end alone, which may be less work; even less near an ``expected`` epsilon."""
        return self.ask(**question).guarantee


class BoundedProtocol(Drawn, Protocol):
    """A protocol of which theorems know whole curves."""

    @abstractmethod
    def candidates(self) -> tuple[Bounds, Bounds]:
        """Bounds worth asking for the guaranteed end and for the leaked end."""

    @abstractmethod
    def _known(self) -> Bounds:
        """All bounds that may apply to such protocols."""

    @abstractmethod
    def _curve(self, bound: Bound[Curve]) -> Curve:
        """The curve of one of them for this protocol."""

    def _finite(self, value: Value) -> Value:
        """The value itself, or an error that says why there is none."""
        return value

    def tightest(self, bounds: Bounds) -> Tightest:
        """Those bounds as one curve."""
        return Tightest(bounds, self._curve)

    def proven(self) -> Tightest:
        """The curve that holds for every data set."""
        return self.tightest(self.candidates()[0])

    def ask(self, **question: float) -> Interval:
        """One of delta=, epsilon=, order=, alpha=;
        the best proven bound and the best lower bound."""
        answer = _KEPT_ANSWER if described_in_full(self) else _answer
        return answer(self, *asked(question))

    def guaranteed(self, *, expected: float | None = None, **question: float) -> Value:
        guarantee = _KEPT_GUARANTEE if described_in_full(self) else _guarantee
        return guarantee(self, *asked(question), expected)

    def _ends(self, quantity: str, at: float, expected: float | None = None) -> Iterator[Value]:
        """The guaranteed end, then the leaked one; no dear bound is asked where they meet."""
        proven, witnesses = map(self.tightest, self.candidates())
        if expected is not None:
            proven = proven.expecting(expected)
        leaked: Value | None = None
        for guaranteed in proven.better(quantity, at, skim=True):
            if proven.only_dear_left:
                with suppress(*SILENT):
                    leaked = leaked or witnesses.leaked(quantity, at, guaranteed.value)
                    if meet(quantity, at, guaranteed, leaked):
                        break
        yield self._finite(guaranteed)
        yield self._finite(leaked or witnesses.leaked(quantity, at, guaranteed.value))

    def band(self, **question: Sequence[float]) -> tuple[list[float], list[float]]:
        """Both ends of ``ask`` at many points, for pictures: sound,
        but up to a few percent wider."""
        if len(question) != 1:
            asked(dict.fromkeys(question, 0.0))
        given, values = next(iter(question.items()))
        at, quantity = [asked({given: value})[1] for value in values], QUESTIONS[given]
        with answering(self, {given: at}):
            ends = [self.tightest(each).sketched(quantity, at) for each in self.candidates()]
            lower, upper = ends if quantity == "tradeoff" else reversed(ends)
            for x, low, high in zip(at, lower, upper, strict=True):
                if not low <= high:
                    raise InternalError(f"empty band: {low!r} above {high!r} at {given}={x!r}")
        return lower, upper

    def curve(self, theorem: str) -> Curve:
        """The whole curve of one theorem."""
        return self._curve(self._called(theorem))

    def bound(self, theorem: str, **question: float) -> Value:
        """What one theorem says, labelled; raises outside its regime."""
        given, value = asked(question)
        bound = self._called(theorem)
        with answering(self, {"theorem": theorem, given: value}):
            return self._finite(self.tightest([bound]).best(QUESTIONS[given], value))

    def _called(self, theorem: str) -> Bound[Curve]:
        known = {bound.theorem.id: bound for bound in self._known()}
        if theorem not in known:
            raise UnknownTheoremError(theorem, sorted(known))
        return known[theorem]

    def bounds(self, **question: float) -> list[Value]:
        """Every applicable bound, labelled, from the smallest value to the largest."""
        return self.survey(**question)[0]

    def survey(self, **question: float) -> tuple[list[Value], dict[str, str]]:
        """As ``bounds``, and the theorems that give no answer, with the reason."""
        asked(question)
        answers, reasons = [], {}
        for bound in self._known():
            try:
                answers.append(self.bound(bound.theorem.id, **question))
            except SILENT as error:
                reasons[bound.theorem.id] = str(error)
        return sorted(answers, key=lambda answer: answer.value), reasons


def described_in_full(described: object) -> bool:
    """Whether what stands in its fields says all: numbers and words, in classes of this package."""
    if isinstance(described, tuple):
        parts: Iterable[object] = described
    elif not is_dataclass(described):
        return described is None or isinstance(described, float | int | str)
    elif not type(described).__module__.startswith("shuffledp."):
        return False
    else:
        parts = map(partial(getattr, described), map(attrgetter("name"), fields(described)))
    return all(map(described_in_full, parts))


def _answer(protocol: BoundedProtocol, given: str, value: float) -> Interval:
    with answering(protocol, {given: value}):
        return Interval.of(QUESTIONS[given], *protocol._ends(QUESTIONS[given], value))


def _guarantee(
    protocol: BoundedProtocol, given: str, value: float, expected: float | None
) -> Value:
    with answering(protocol, {given: value}):
        return next(protocol._ends(QUESTIONS[given], value, expected))


_KEPT_ANSWER, _KEPT_GUARANTEE = kept(_answer), kept(_guarantee)
