"""What a number means: its status, its direction, the theorem behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import StrEnum
from typing import Any

from shuffledp.errors import InternalError, ParameterError, UnknownTheoremError
from shuffledp.shown import Shown


class Status(StrEnum):
    """How far a number can be trusted, strongest first.

    Examples
    --------
    >>> from shuffledp.labels import get_theorem
    >>> get_theorem("stronger-clones").status is Status.PROVEN
    True
    """

    PROVEN = "PROVEN"
    """Worst case over all neighbouring data sets, by a proof we hold."""
    FIXED_PAIR = "FIXED_PAIR"
    """Exact or proven, but only for one stated pair of data sets."""
    ASYMPTOTIC = "ASYMPTOTIC"
    """Holds as n grows without bound; no error term."""
    HEURISTIC = "HEURISTIC"
    """Neither proven nor refuted."""
    REFUTED = "REFUTED"
    """Published as a bound, and a stated data set violates it."""


class Direction(StrEnum):
    """On which side of the true privacy loss a number lies.

    Examples
    --------
    >>> from shuffledp.labels import get_theorem
    >>> get_theorem("stronger-clones").direction is Direction.UPPER
    True
    """

    UPPER = "UPPER"
    LOWER = "LOWER"
    EXACT = "EXACT"
    ESTIMATE = "ESTIMATE"


def weakest(statuses: Iterable[Status]) -> Status:
    """The label a combination of results deserves."""
    ranked = list(Status)
    return max(statuses, key=ranked.index)


@dataclass(frozen=True)
class Refutation:
    """A data set that leaks more than the theorem allows.

    Parameters
    ----------
    dataset
        In words.
    witness
        Id of the theorem whose exact value for that data set exceeds the claim.
    parameters
        Those of the mechanism, n and the question (epsilon, delta, order or alpha).
    claimed, leaked
        Both numbers.
    mechanism
        Name in the catalogue of randomizers.
    """

    dataset: str
    """In words."""
    witness: str
    """Theorem id whose exact value for that data set exceeds the claim."""
    parameters: Mapping[str, float] = field(hash=False)
    """Those of the mechanism, n and the question (epsilon, delta, order or alpha)."""
    claimed: float
    leaked: float
    mechanism: str = "ldp"
    """Name in the catalogue of randomizers."""


@dataclass(frozen=True)
class Theorem:
    """One published or own result.

    Parameters
    ----------
    id
        How it is called for, such as ``shuffledp theorems ID``.
    citation, statement, validity
        Who says what, and where it holds, a line each.
    status, direction
        The labels of every number that follows from it.
    proof
        File in docs/ that holds the proof, or the derivation from a proven pair.
    refutation
        The violating data set: of a REFUTED theorem, or of an ASYMPTOTIC one where it is too small.
    note
        What a reader of a number should know besides.

    Examples
    --------
    >>> from shuffledp.accounting.bounds import get_theorem
    >>> print(get_theorem("stronger-clones").value(0.0331872).status)
    PROVEN
    """

    id: str
    citation: str
    statement: str
    validity: str
    status: Status
    direction: Direction
    proof: str | None = None
    """File in docs/ holding the proof or the derivation from a proven pair."""
    refutation: Refutation | None = None
    """Of a REFUTED theorem; of an ASYMPTOTIC one, a case in which it is too small."""
    note: str = ""

    def value(self, number: float, note: str | None = None) -> Value:
        """A number that follows from this theorem."""
        return Value(float(number), self, self.note if note is None else note)

    def weakened(self, why: str, status: Status, direction: Direction | None = None) -> Theorem:
        """The same claim where not all it needs is given: labels get weaker, never stronger."""
        if weakest([status, self.status]) is not status:
            raise InternalError(f"{self.id} is {self.status.value}, not {status.value}")
        direction = direction or self.direction
        return replace(self, status=status, direction=direction, proof=None, note=why)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        result: dict[str, Any] = {
            "id": self.id,
            "citation": self.citation,
            "statement": self.statement,
            "validity": self.validity,
            "status": self.status.value,
            "direction": self.direction.value,
            "proof": self.proof,
            "note": self.note,
            "refutation": None,
        }
        if self.refutation is not None:
            result["refutation"] = {
                "mechanism": self.refutation.mechanism,
                "dataset": self.refutation.dataset,
                "parameters": dict(self.refutation.parameters),
                "claimed": self.refutation.claimed,
                "leaked": self.refutation.leaked,
            }
        return result


_REGISTRY: dict[str, Theorem] = {}


def register(theorem: Theorem) -> Theorem:
    """Enter a theorem into the registry, and return it; an id is given once."""
    if _REGISTRY.setdefault(theorem.id, theorem) != theorem:
        raise ParameterError("id", "an id that no other theorem has", theorem.id)
    return theorem


def all_theorems() -> list[Theorem]:
    """The whole registry, in order of registration."""
    return list(_REGISTRY.values())


def get_theorem(theorem_id: str) -> Theorem:
    """The theorem of that id.

    Raises
    ------
    UnknownTheoremError
        If there is none; it names all.

    Examples
    --------
    >>> get_theorem("nothing-released").proof
    'proofs/training.md'
    """
    if theorem_id not in _REGISTRY:
        raise UnknownTheoremError(theorem_id, sorted(_REGISTRY))
    return _REGISTRY[theorem_id]


class Labelled:
    """Something that follows from a theorem, and so has its labels."""

    source: Theorem

    @property
    def theorem(self) -> str:
        """Its id."""
        return self.source.id

    @property
    def status(self) -> Status:
        """How far it can be trusted."""
        return self.source.status

    @property
    def direction(self) -> Direction:
        """On which side of the true privacy loss it lies."""
        return self.source.direction


@dataclass(frozen=True)
class Value(Labelled, Shown):
    """One number with the theorem it follows from, and so with its labels.

    PROVEN and FIXED_PAIR are what registered theorems say, and nobody else. ``direction`` speaks of
    the privacy loss: for the trade-off function, where less is worse, an UPPER bound on the loss is
    a number below the true trade-off.

    Parameters
    ----------
    value
        The number.
    source
        The theorem; ``theorem`` is its id, ``status`` and ``direction`` are its labels.
    note
        What a reader should know besides.

    Examples
    --------
    >>> from shuffledp import LDP, Shuffled
    >>> value = Shuffled(LDP(1.0), n=1000).bound("stronger-clones", delta=1e-6)
    >>> value.status.value, value.direction.value, value.source.proof
    ('PROVEN', 'UPPER', 'proofs/stronger_clones.md')
    """

    value: float
    source: Theorem
    note: str = ""

    def __post_init__(self) -> None:
        said, name = self.source.status, self.source.id
        if said in (Status.PROVEN, Status.FIXED_PAIR) and _REGISTRY.get(name) != self.source:
            raise InternalError(f"{said.value} by {name!r}, which is not registered")

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return (
            f"Value({self.value!r}, {self.status.value} {self.direction.value} by {self.theorem})"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; what is infinite becomes null."""
        return {
            "theorem": self.theorem,
            "status": self.status.value,
            "direction": self.direction.value,
            "value": self.value if math.isfinite(self.value) else None,
            "note": self.note,
        }


def outward(value: float, up: bool, digits: int = 6) -> str:
    """That many digits, rounded in one direction: no guarantee looks better than it is."""
    if not math.isfinite(value):
        return f"{value:g}"
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.plus(Decimal(value))):.{digits}g}"


def counted(number: int, thing: str) -> str:
    """So many of them: 1 report, 2 reports, 3 batches."""
    ending = "" if number == 1 else "es" if thing.endswith("ch") else "s"
    return f"{number:,} {thing}{ending}"


def in_full(value: float) -> str:
    """What was asked about, and nothing below it: six digits if they say it all, else every one."""
    short = f"{value:g}"
    # the double below a decimal stands for that decimal
    exact = value <= float(short) <= math.nextafter(value, math.inf)
    return short if exact or not math.isfinite(value) else repr(float(value))


@dataclass(frozen=True)
class Interval(Shown):
    """The truth in the worst case lies between ``lower`` and ``upper``.

    One end is guaranteed for every randomizer of the class and every data set; the other is what a
    concrete data set leaks. ``guarantee`` is the former: the upper end of epsilon, delta and the
    Rényi divergence, the lower end of the trade-off function.

    Parameters
    ----------
    quantity
        "epsilon", "delta", "renyi" or "tradeoff".
    lower_end, upper_end
        Both ends, labelled.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> answer = Shuffled(KRR(4, eps0=1.0), n=1000).epsilon(delta=1e-6)
    >>> answer.lower <= answer.upper == answer.guarantee.value
    True
    """

    quantity: str
    lower_end: Value
    upper_end: Value

    def __post_init__(self) -> None:
        if not self.lower_end.value <= self.upper_end.value:
            raise InternalError(
                f"empty interval for {self.quantity}: {self.lower!r} ({self.lower_end.theorem})"
                f" above {self.upper!r} ({self.upper_end.theorem})"
            )

    @classmethod
    def of(cls, quantity: str, guaranteed: Value, leaked: Value) -> Interval:
        """From the end that holds for every data set and the one that a data set leaks."""
        ends = (guaranteed, leaked) if quantity == "tradeoff" else (leaked, guaranteed)
        return cls(quantity, *ends)

    @property
    def lower(self) -> float:
        """The lower end."""
        return self.lower_end.value

    @property
    def upper(self) -> float:
        """The upper end."""
        return self.upper_end.value

    @property
    def guarantee(self) -> Value:
        """The end that holds for every data set."""
        return self.lower_end if self.quantity == "tradeoff" else self.upper_end

    @property
    def status(self) -> Status:
        """Status of the guarantee."""
        return self.guarantee.status

    @property
    def theorem(self) -> str:
        """Theorem id of the guarantee."""
        return self.guarantee.theorem

    @property
    def gap(self) -> float:
        """How far the two ends are apart, relative to the upper one."""
        return (self.upper - self.lower) / self.upper if self.upper > 0.0 else 0.0

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        return (
            f"{self.quantity} in [{outward(self.lower, up=False)}, {outward(self.upper, up=True)}]"
            f" ({self.status.value} by {self.theorem}; leaked by {self.leaked.theorem})"
        )

    @property
    def leaked(self) -> Value:
        """The end that a concrete data set leaks."""
        return self.upper_end if self.quantity == "tradeoff" else self.lower_end

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        lower, upper = self.lower_end.to_dict(), self.upper_end.to_dict()
        return {
            "lower": lower["value"],
            "upper": upper["value"],
            "lower_end": lower,
            "upper_end": upper,
        }
