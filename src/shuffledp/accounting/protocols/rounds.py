"""Many rounds together: repeated, different, adaptive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.bounds import composition, get_bound, get_theorem
from shuffledp.accounting.bounds.composition import AnyRound, Round, StatedRound
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols.shuffled import QUESTIONS, Shuffled, asked
from shuffledp.accounting.randomizers import Repeated
from shuffledp.errors import ConversionError, ParameterError, RegimeError, answering
from shuffledp.labels import Interval, Value, in_full

ROUTES: dict[str, Callable[[Sequence[AnyRound]], Curve]] = {
    "composition": composition.composed_upper,
    "composition-rdp": composition.composed_renyi,
    "composition-strong": composition.StrongComposition,
    "composition-gdp": composition.composed_gdp,
    "composition-dataset": composition.composed_lower,
}
"""Theorem -> the curve it gives for any list of rounds."""


@dataclass(frozen=True)
class Stated:
    """A release of which only (epsilon, delta)-DP is known, for the same users."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", checks.unit("delta", self.delta))

    def __str__(self) -> str:
        return f"a release stated as ({in_full(self.epsilon)}, {in_full(self.delta)})-DP"


@dataclass(frozen=True)
class CentralMinibatches:
    """Noise added by a trusted server to minibatches of a shuffled data set: central DP-SGD.

    It can be described and never accounted for here: see :class:`Rounds`.
    """

    noise_multiplier: float
    batch: int
    n: int

    def __str__(self) -> str:
        return f"central noise {self.noise_multiplier:g} on shuffled minibatches of {self.batch:,}"


Entry = Shuffled | Stated | CentralMinibatches
_REFUSED = (
    "no central noise on shuffled minibatches: they are not Poisson samples (every record is used exactly"
    " once per epoch, and the loss can be far larger than Poisson accounting says), and not shuffled"
    " local reports (nothing is randomized before the shuffle, so nothing is amplified). Sample by"
    " Poisson and account with dp-accounting's PoissonSampledDpEvent, or use an accountant for random"
    " allocation (PyPI: PLD_accounting), or randomize on the devices (Shuffled)"
)


@dataclass(frozen=True, init=False)
class Rounds:
    """Several releases about the same users, each possibly chosen after seeing the earlier ones.

    ``entries`` are protocols, or pairs of a protocol and how often it runs::

        Rounds([(Shuffled(LDP(1.0), n=100_000), 30), Stated(0.1, 1e-9)]).epsilon(delta=1e-6)

    The interval's upper end is proven for every data set; its lower end is what one data set leaks.
    """

    entries: tuple[tuple[Shuffled | Stated, int], ...]

    def __init__(self, entries: Iterable[Entry | tuple[Entry, int]]) -> None:
        counted: dict[Shuffled | Stated, int] = {}
        for entry in entries:
            protocol, count = entry if isinstance(entry, tuple) else (entry, 1)
            if isinstance(protocol, CentralMinibatches):
                raise RegimeError(_REFUSED, str(protocol), composition.composition.theorem.id)
            if not isinstance(protocol, Shuffled | Stated):
                raise ParameterError("entries", "protocols: Shuffled(...) or Stated(...)", protocol)
            count = checks.count("rounds", count)
            if isinstance(protocol, Shuffled) and isinstance(protocol.randomizer, Repeated):
                repeated = protocol.randomizer
                protocol = protocol.using(repeated.randomizer)
                count *= repeated.rounds
            counted[protocol] = counted.get(protocol, 0) + count
        if not counted:
            raise ParameterError("entries", "at least one round", ())
        object.__setattr__(self, "entries", tuple(counted.items()))

    @property
    def count(self) -> int:
        """How many rounds in all."""
        return sum(count for _, count in self.entries)

    @property
    def pure(self) -> float:
        """epsilon at delta = 0: the pure budgets added up, infinite if one round has none."""
        return composition.pure_budget(self._rounds())

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
        """One of delta=, epsilon=, order=, alpha=."""
        given, value = asked(question)
        quantity = QUESTIONS[given]
        if self._single is not None:
            return self._single.ask(**question)
        with answering(self, {given: value}):
            guaranteed = self._answer("composition", quantity, value)
            leaked = self._answer("composition-dataset", quantity, value)
            ends = (guaranteed, leaked) if quantity == "tradeoff" else (leaked, guaranteed)
            return Interval(quantity, *ends)

    def guaranteed(self, **question: float) -> Value:
        """The proven end alone: half the work."""
        if self._single is not None:
            return self._single.ask(**question).guarantee
        return self.bound("composition", **question)

    @property
    def _single(self) -> Shuffled | None:
        """The one protocol run once, if that is all."""
        (protocol, count), *others = self.entries
        return protocol if isinstance(protocol, Shuffled) and count == 1 and not others else None

    def bound(self, theorem: str, **question: float) -> Value:
        """What one route says, labelled: a name from ``ROUTES``."""
        given, value = asked(question)
        with answering(self, {"theorem": theorem, given: value}), get_bound(theorem).named():
            return self._answer(theorem, QUESTIONS[given], value)

    def bounds(self, **question: float) -> list[Value]:
        """Every route that answers, from the smallest value to the largest."""
        found = []
        for theorem in ROUTES:
            try:
                found.append(self.bound(theorem, **question))
            except (RegimeError, ConversionError):
                continue
        return sorted(found, key=lambda answer: answer.value)

    def curve(self, theorem: str) -> Curve:
        """The whole curve of one route."""
        if theorem not in ROUTES:
            raise ParameterError("theorem", "one of " + ", ".join(ROUTES), theorem)
        return ROUTES[theorem](self._rounds())

    def __pow__(self, times: int) -> Rounds:
        """All of it, this many times over."""
        times = checks.count("rounds", times)
        return Rounds([(entry, count * times) for entry, count in self.entries])

    def __add__(self, other: Rounds) -> Rounds:
        """These rounds, then the others."""
        return Rounds([*self.entries, *other.entries])

    def __str__(self) -> str:
        return "; ".join(f"{entry}, {count:,} times" for entry, count in self.entries)

    def _answer(self, theorem: str, quantity: str, value: float) -> Value:
        number: float = getattr(self.curve(theorem), quantity)(value)
        known = get_theorem(theorem)
        if not math.isfinite(number):
            raise ConversionError(f"{theorem} gives no finite {quantity} for {self}.")
        return Value(number, known.status, known.direction, known.id, known.note)

    def _rounds(self) -> list[AnyRound]:
        return [
            StatedRound(entry.epsilon, entry.delta, count)
            if isinstance(entry, Stated)
            else Round(entry.randomizer, entry.crowd, count)
            for entry, count in self.entries
        ]
