"""The rule of a cohort: what a spend is charged and when it is refused, fixed before the first one.

A rule has limits, one or several exact amounts. Every spend adds to what is lost, and none may take
an amount above its limit. Why the cohort's total (epsilon, delta) then holds, and against which
ways to choose spends, is proven in docs/proofs/filters.md. No rule is ever changed, and no spend is
admitted by another rule than the one declared: no proof covers the better of two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from shuffledp import checks
from shuffledp.accounting.bounds import composition, filters
from shuffledp.errors import BudgetExceededError, LedgerError, ParameterError
from shuffledp.labels import Theorem, counted
from shuffledp.ledger.amounts import (
    amount,
    decimal_above,
    decimal_below,
    in_words,
    limit_in_words,
)
from shuffledp.ledger.divergences import best_order, divergence, largest_divergence
from shuffledp.ledger.entries import Entry, Guarantee, Spendable, restored
from shuffledp.ledger.losses import composed, pure
from shuffledp.numerics.search import bisect_whole, grown

Amounts = dict[str, Decimal]
"""Exact, by name: what is lost, or the limits of it."""
_SHARES = (Fraction(1, 100), Fraction(1, 10))
"""Of the delta that is left: what a protocol is charged at if its epsilon fits."""
_WORTH_A_DELTA = Fraction(99, 100)
"""An epsilon must fall below this part of the pure one before a delta is charged for it."""
_MOST_ROUNDS = 10**12


@dataclass(frozen=True)
class Rule(ABC):
    """What a cohort may lose in all, and what a spend is charged; one rule for each cohort.

    Parameters
    ----------
    epsilon, delta
        The total, exact.
    """

    epsilon: Decimal
    delta: Decimal

    name: ClassVar[str]
    theorem: ClassVar[Theorem]
    promise: ClassVar[str]
    """When the total holds, in words."""
    adaptive: ClassVar[bool] = False
    """Whether what to spend on may be chosen by looking at earlier results."""
    proven: ClassVar[bool] = True
    """Whether what the promise asks for is enforced, or only hoped for."""

    @property
    @abstractmethod
    def limits(self) -> Amounts:
        """What may be lost."""

    @abstractmethod
    def charged(self, lost: Amounts, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
        """What is lost in all after one more entry, also where that is above the limits.

        ``before`` gives all earlier entries. A LedgerError says that no charge is proven.
        """

    def over(self, lost: Amounts) -> list[str]:
        """Names of the amounts above their limits."""
        return [name for name, limit in self.limits.items() if lost[name] > limit]

    def shown(self, lost: Amounts) -> str:
        """What is lost of what, rounded up, in words."""
        return ", ".join(
            f"{name} {in_words(lost[name])} of {limit_in_words(limit)}"
            for name, limit in self.limits.items()
        )

    @property
    def total(self) -> str:
        """What may be lost, in words."""
        return f"epsilon = {limit_in_words(self.epsilon)} at delta = {limit_in_words(self.delta)}"

    def share(self, lost: Amounts) -> Fraction:
        """How much of what may be lost is lost, by the amount of which least is left."""
        limits = {name: Fraction(limit) for name, limit in self.limits.items() if limit}
        return max((Fraction(lost[name]) / limits[name] for name in limits), default=Fraction(0))

    def rounds_left(self, lost: Amounts) -> int | None:
        """Of what was planned; None where nothing was."""
        return None

    def settings(self) -> dict[str, Any]:
        """What the rule was given besides its total, JSON-ready."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"name": self.name, **self.settings()}

    def __str__(self) -> str:
        return f"{self.name}: {self.promise}"


RuleMaker = Callable[[Decimal, Decimal], Rule]
"""A rule for a total (epsilon, delta): ``Sum``, ``renyi(...)`` or ``planned(...)``."""


@dataclass(frozen=True)
class Sum(Rule):
    """Epsilons and deltas add up. Spends may be chosen by looking at earlier results."""

    name = "sum"
    theorem = filters.SUM
    promise = "the total holds however spends are chosen, also by looking at earlier results"
    adaptive = True

    @property
    def limits(self) -> Amounts:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def charged(self, lost: Amounts, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
        """A protocol is charged its proven epsilon at a small share of the delta that is left, or
        at all of it if it fits only so: any choice that looks at the past alone is allowed."""
        if isinstance(entry.what, Guarantee):
            return _sum(lost, _stated(entry))
        left = Fraction(self.delta) - Fraction(lost["delta"])
        small, tenth = (Fraction(decimal_below(left * share, digits=6)) for share in _SHARES)
        return (
            self._if_it_fits(lost, entry, small)
            or self._unless_it_fits(after := _sum(lost, self._at(entry, left)))
            or self._if_it_fits(lost, entry, tenth)
            or after
        )

    def _unless_it_fits(self, after: Amounts) -> Amounts | None:
        """Refused even at all that is left: no smaller delta need be tried."""
        return after if self.over(after) else None

    def _if_it_fits(self, lost: Amounts, entry: Entry, delta: Fraction) -> Amounts | None:
        """Charged at this delta, or at none where that is hardly more."""
        try:
            cost = self._at(entry, delta)
        except LedgerError:  # no proof so far out: more delta may help
            return None
        budget = pure(entry)
        if budget is not None and cost["epsilon"] >= _WORTH_A_DELTA * budget:
            cost = {"epsilon": budget, "delta": Fraction(0)}
        after = _sum(lost, cost)
        return None if self.over(after) else after

    @staticmethod
    def _at(entry: Entry, delta: Fraction) -> dict[str, Fraction]:
        exact = decimal_below(delta)
        return {
            "epsilon": Fraction(composed([entry], exact)),
            "delta": Fraction(exact),
        }


@dataclass(frozen=True)
class Renyi(Rule):
    """Rényi divergences of one order add up. Spends may be chosen by looking at earlier results."""

    order: float
    stated_delta: Decimal
    """The part of delta for stated guarantees that have one of their own."""
    divergence: Decimal
    """What the divergences may add up to."""

    name = "renyi"
    theorem = filters.RENYI
    promise = Sum.promise
    adaptive = True

    @property
    def limits(self) -> Amounts:
        return {"divergence": self.divergence, "stated delta": self.stated_delta}

    def charged(self, lost: Amounts, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
        delta = _stated(entry)["delta"] if isinstance(entry.what, Guarantee) else Fraction(0)
        cost = divergence(entry.what, self.order) * entry.rounds
        return _sum(lost, {"divergence": cost, "stated delta": delta})

    def settings(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "stated_delta": str(self.stated_delta),
            "divergence": str(self.divergence),
        }

    def __str__(self) -> str:
        return f"{self.name} of order {self.order:g}: {self.promise}"


@dataclass(frozen=True)
class Planned(Rule):
    """The whole plan was composed at the start. Order and end may depend on results."""

    plan: tuple[Entry, ...]
    loses: Decimal
    """The epsilon of the whole plan at delta."""

    name = "planned"
    theorem = filters.PLANNED
    promise = "the total holds for this plan, in any order, broken off at any time"

    @property
    def limits(self) -> Amounts:
        return {f"kind {i}": Decimal(each.rounds) for i, each in enumerate(self.plan, 1)}

    @cached_property
    def _names(self) -> dict[str, str]:
        return {each.text: f"kind {i}" for i, each in enumerate(self.plan, 1)}

    def charged(self, lost: Amounts, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
        if entry.text not in self._names:
            kinds = "; ".join(str(each.what) for each in self.plan)
            raise BudgetExceededError(
                f"{entry.what} is not in the plan of the cohort, which has: {kinds}. Nothing was"
                f" recorded. (A plan in a file lists it as {entry.text}.)"
            )
        return _sum(lost, {self._names[entry.text]: Fraction(entry.rounds)})

    def over(self, lost: Amounts) -> list[str]:
        kinds = zip(self.limits.items(), self.plan, strict=True)
        return [f"rounds of {each.what}" for (name, limit), each in kinds if lost[name] > limit]

    def shown(self, lost: Amounts) -> str:
        places = "; ".join(
            f"{lost[name]} of {counted(each.rounds, 'round')} of {each.what}"
            for name, each in zip(self.limits, self.plan, strict=True)
        )
        whole, most = in_words(self.loses), limit_in_words(self.epsilon)
        return f"{places} (epsilon {whole} of {most} for the whole plan)"

    def rounds_left(self, lost: Amounts) -> int:
        return int(sum(limit - lost[name] for name, limit in self.limits.items()))

    def settings(self) -> dict[str, Any]:
        plan = [{"spent": each.description, "rounds": each.rounds} for each in self.plan]
        return {"plan": plan, "loses": str(self.loses)}


@dataclass(frozen=True)
class Undeclared(Rule):
    """Of cohorts made before there were rules; no other has it."""

    name = "undeclared"
    theorem = composition.composition.theorem
    promise = (
        "the total holds only if all spends were fixed in advance, not chosen by looking at earlier"
        " results (the cohort is older than rules)"
    )
    proven = False

    @property
    def limits(self) -> Amounts:
        return {"epsilon": self.epsilon}

    def charged(self, lost: Amounts, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
        return {"epsilon": composed(_together([*before(), entry]), self.delta)}


def renyi(
    order: float | None = None,
    expected: Spendable | None = None,
    stated_delta: str | int | Decimal | None = None,
) -> RuleMaker:
    """A Rényi filter: divergences of one order add up, however spends are chosen.

    Parameters
    ----------
    order
        Unless given, the one under which most spends of the expected kind fit, or most of any small
        ones.
    expected
        What will mostly be spent.
    stated_delta
        The part of delta for stated guarantees with a delta of their own; a tenth unless given.

    Returns
    -------
    callable
        What ``Ledger.create`` takes as ``rule``.

    Examples
    --------
    >>> from decimal import Decimal
    >>> renyi(order=16.0)(Decimal(1), Decimal("1e-6")).order
    16.0
    """

    def make(epsilon: Decimal, delta: Decimal) -> Renyi:
        if delta == 0:
            raise ParameterError("delta", "> 0 for the rule renyi (or take sum)", str(delta))
        kept = (
            decimal_below(Fraction(delta) / 10, digits=6)
            if stated_delta is None
            else amount("stated_delta", stated_delta, below=1)
        )
        if kept >= delta:
            raise ParameterError("stated_delta", f"less than delta, {delta}", str(kept))
        slack = Fraction(delta) - Fraction(kept)
        kind = None if expected is None else Entry.of(expected, 1).what
        chosen = best_order(epsilon, slack, kind) if order is None else checks.order("order", order)
        limit = largest_divergence(epsilon, slack, chosen)
        if limit <= 0 and order is None:
            enough = f"more, for the rule renyi at delta = {delta:f} (or take sum)"
            raise ParameterError("epsilon", enough, str(epsilon))
        if limit <= 0:
            least = f"one at which epsilon = {epsilon} at delta = {delta} leaves a divergence > 0"
            raise ParameterError("order", least, chosen)
        return Renyi(epsilon, delta, chosen, kept, limit)

    return make


def planned(*kinds: Spendable | tuple[Spendable, int | None]) -> RuleMaker:
    """All that will ever be spent, composed at the start: tight, in any order.

    Parameters
    ----------
    *kinds
        Protocols or stated guarantees, or pairs of one and how many rounds (once if left out). One
        kind may say None: as many as fit, counted now.

    Returns
    -------
    callable
        What ``Ledger.create`` takes as ``rule``.

    Examples
    --------
    >>> from decimal import Decimal
    >>> rule = planned((Guarantee("0.1"), 3))(Decimal(1), Decimal(0))
    >>> rule.loses
    Decimal('0.3')
    """
    counted = [kind if isinstance(kind, tuple) else (kind, 1) for kind in kinds]
    if not counted:
        raise ParameterError("plan", "at least one kind of spend", ())
    open_ended = [what for what, rounds in counted if rounds is None]
    if len(open_ended) > 1:
        raise ParameterError("plan", "as many as fit of one kind only", f"{len(open_ended)} kinds")

    def make(epsilon: Decimal, delta: Decimal) -> Planned:
        plan = _together([Entry.of(what, rounds) for what, rounds in counted if rounds is not None])
        for what in open_ended:
            plan = _filled(plan, what, epsilon, delta)
        loses = composed(plan, delta)
        if loses > epsilon:
            raise BudgetExceededError(
                f"The plan loses epsilon = {in_words(loses)} at delta = {limit_in_words(delta)};"
                f" the cohort may lose {limit_in_words(epsilon)}. Nothing was recorded."
            )
        return Planned(epsilon, delta, tuple(plan), loses)

    return make


def _filled(plan: list[Entry], what: Spendable, epsilon: Decimal, delta: Decimal) -> list[Entry]:
    """The plan with as many rounds of this as fit."""

    def with_(rounds: int) -> list[Entry]:
        return _together([*plan, Entry.of(what, rounds)])

    def fits(rounds: int) -> bool:
        try:
            return composed(with_(rounds), delta) <= epsilon
        except BudgetExceededError:
            return False
        except LedgerError:
            if rounds == 1:
                raise
            return False

    if not (count := most(fits)):
        raise BudgetExceededError(f"Not one of {what} fits. Nothing was recorded.")
    return with_(count)


def restore(data: Mapping[str, Any], epsilon: Decimal, delta: Decimal) -> Rule:
    """The rule a store holds."""
    given = dict(data)
    kind = given.pop("name")
    if kind == "sum":
        return Sum(epsilon, delta, **given)
    if kind == "undeclared":
        return Undeclared(epsilon, delta, **given)
    if kind == "renyi":
        order = checks.order("order", given.pop("order"))
        return Renyi(epsilon, delta, order, **{name: Decimal(x) for name, x in given.items()})
    if kind == "planned":
        plan = tuple(restored(each["spent"], each["rounds"]) for each in given["plan"])
        return Planned(epsilon, delta, plan, Decimal(given["loses"]))
    raise LedgerError(f"The ledger holds a rule this version does not know: {kind!r}.")


def most(fits: Callable[[int], bool]) -> int:
    """The largest count that fits, up to 1e12, by doubling and halving."""
    if not fits(1):
        return 0
    high, low = grown(lambda k: not fits(k), 2, 1, most=_MOST_ROUNDS + 1)
    return bisect_whole(fits, low, min(high, _MOST_ROUNDS + 1)).good


def _sum(lost: Amounts, cost: Mapping[str, Fraction]) -> Amounts:
    return {
        name: decimal_above(Fraction(before) + cost.get(name, Fraction(0)))
        for name, before in lost.items()
    }


def _stated(entry: Entry) -> dict[str, Fraction]:
    what = entry.what
    assert isinstance(what, Guarantee)
    return {
        "epsilon": Fraction(what.epsilon) * entry.rounds,
        "delta": Fraction(what.delta) * entry.rounds,
    }


def _together(entries: Iterable[Entry]) -> list[Entry]:
    """Rounds of equal things are counted together."""
    found: dict[str, Entry] = {}
    for entry in entries:
        before = found[entry.text].rounds if entry.text in found else 0
        found[entry.text] = Entry(entry.what, before + entry.rounds)
    return list(found.values())
