"""n users randomize, a shuffler permutes, an analyst sees the mixed reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.accounting.bounds import Bound, all_bounds, get_bound
from shuffledp.accounting.bounds.tightest import SILENT, Tightest, candidates
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer, Repeated, Subsampled
from shuffledp.errors import InternalError, ParameterError, answering
from shuffledp.labels import Interval, Value

QUESTIONS = {"delta": "epsilon", "epsilon": "delta", "order": "renyi", "alpha": "tradeoff"}
"""Given parameter -> quantity asked for."""

_CHECKS = {
    "delta": checks.probability,
    "epsilon": checks.non_negative,
    "order": checks.order,
    "alpha": checks.unit,
}


@dataclass(frozen=True)
class Shuffled:
    """The reports of ``n`` users of one randomizer, shuffled once.

    Neighbouring data sets differ in one user's value (replacement); n is public. Each question
    returns an :class:`Interval`: guaranteed for every data set at one end, leaked by a concrete
    data set at the other.

    ``colluders`` users tell the analyst their reports; users may drop out as long as at least
    ``minimum_batch`` remain (default: nobody does). Both only take away from the crowd.
    """

    randomizer: Randomizer
    n: int
    colluders: int = 0
    minimum_batch: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer):
            raise ParameterError(
                "randomizer", "a randomizer such as LDP(eps0=1.0)", self.randomizer
            )
        n = checks.count("n", self.n)
        object.__setattr__(self, "n", n)
        if self.minimum_batch is not None:
            batch = checks.count("minimum_batch", self.minimum_batch)
            if batch > n:
                raise ParameterError("minimum_batch", f"at most n = {n}", batch)
            object.__setattr__(self, "minimum_batch", batch)
        object.__setattr__(self, "colluders", checks.count("colluders", self.colluders, least=0))
        inner = (
            self.randomizer.randomizer if isinstance(self.randomizer, Repeated) else self.randomizer
        )
        if isinstance(inner, Subsampled) and self.crowd < n:
            raise ParameterError(
                "colluders", "left out (and minimum_batch) where users are drawn", self.colluders
            )
        if self.crowd < 1:
            raise ParameterError("colluders", "fewer than the users in a batch", self.colluders)

    @property
    def crowd(self) -> int:
        """How many users, the victim included, are sure to hide each other."""
        return (self.minimum_batch or self.n) - self.colluders

    @property
    def eps0(self) -> float:
        """Pure local budget of one round's report, infinite if there is none."""
        whole = self.randomizer
        return (whole.randomizer if isinstance(whole, Repeated) else whole).eps0

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

    def ask(self, **question: float) -> Interval:
        """One of delta=, epsilon=, order=, alpha=; the best proven bound and the best lower bound."""
        given, value = asked(question)
        quantity = QUESTIONS[given]
        with answering(self, {given: value}):
            guaranteed = self.guarantees().best(quantity, value)
            witnesses = self.tightest(self.candidates()[1])
            if quantity == "epsilon":
                leaked = witnesses.largest_epsilon(value, guaranteed.value)
            else:
                leaked = witnesses.best(quantity, value)
            ends = (guaranteed, leaked) if quantity == "tradeoff" else (leaked, guaranteed)
            return Interval(quantity, *ends)

    def band(self, **question: Sequence[float]) -> tuple[list[float], list[float]]:
        """Both ends of ``ask`` at many points, for pictures: sound, but up to a few percent wider."""
        if len(question) != 1:
            asked(dict.fromkeys(question, 0.0))
        given, values = next(iter(question.items()))
        at = [asked({given: value})[1] for value in values]
        with answering(self, {given: at}):
            quantity = QUESTIONS[given]
            guaranteed, leaked = (
                self.tightest(bounds).sketched(quantity, at) for bounds in self.candidates()
            )
            lower, upper = (guaranteed, leaked) if quantity == "tradeoff" else (leaked, guaranteed)
            for x, low, high in zip(at, lower, upper, strict=True):
                if not low <= high:
                    raise InternalError(f"empty band: {low!r} above {high!r} at {given}={x!r}")
        return lower, upper

    def bound(self, theorem: str, **question: float) -> Value:
        """What one theorem says, labelled; raises outside its regime."""
        given, value = asked(question)
        bound = get_bound(theorem)
        with answering(self, {"theorem": theorem, given: value}):
            return self._answer(bound, QUESTIONS[given], value)

    def bounds(self, **question: float) -> list[Value]:
        """Every applicable bound, labelled, from the smallest value to the largest."""
        return self.survey(**question)[0]

    def curve(self, theorem: str) -> Curve:
        """The whole curve of one theorem."""
        return get_bound(theorem).curve(self.randomizer, self.crowd)

    def using(self, randomizer: Randomizer) -> Shuffled:
        """The same users with another randomizer."""
        return replace(self, randomizer=randomizer)

    def __pow__(self, rounds: int) -> Shuffled:
        """The same users, this many rounds."""
        if isinstance(self.randomizer, Repeated):
            rounds = checks.count("rounds", rounds) * self.randomizer.rounds
            return self.using(Repeated(self.randomizer.randomizer, rounds))
        return self.using(Repeated(self.randomizer, rounds))

    def __str__(self) -> str:
        parts = [f"{self.n:,} user" + "s" * (self.n > 1), str(self.randomizer), "shuffled"]
        if self.minimum_batch is not None:
            parts.append(f"at least {self.minimum_batch:,} reports")
        if self.colluders:
            parts.append(f"{self.colluders:,} colluding")
        return ", ".join(parts)

    def candidates(self) -> tuple[list[Bound[Curve]], list[Bound[Curve]]]:
        """Bounds worth asking for the guaranteed end and for the leaked end."""
        return candidates(self.randomizer)

    def tightest(self, bounds: list[Bound[Curve]]) -> Tightest:
        """Those bounds as one curve."""
        return Tightest.about(bounds, self.randomizer, self.crowd)

    def guarantees(self) -> Tightest:
        """The curve that holds for every data set."""
        return self.tightest(self.candidates()[0])

    def survey(self, **question: float) -> tuple[list[Value], dict[str, str]]:
        """As ``bounds``, and the theorems that say nothing here, with the reason."""
        given, value = asked(question)
        answers, reasons = [], {}
        for candidate in all_bounds():
            theorem = candidate.theorem.id
            try:
                with answering(self, {"theorem": theorem, given: value}):
                    answers.append(self._answer(candidate, QUESTIONS[given], value))
            except SILENT as error:
                reasons[theorem] = str(error)
        return sorted(answers, key=lambda answer: answer.value), reasons

    def _answer(self, bound: Bound[Curve], quantity: str, value: float) -> Value:
        return self.tightest([bound]).best(quantity, value)


def asked(question: dict[str, float]) -> tuple[str, float]:
    """The one question and its checked value."""
    if len(question) != 1 or next(iter(question)) not in QUESTIONS:
        raise ParameterError(
            "question", "exactly one of delta=, epsilon=, order=, alpha=", sorted(question)
        )
    given, value = next(iter(question.items()))
    return given, _CHECKS[given](given, value)
