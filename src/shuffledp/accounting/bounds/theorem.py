"""The theorem registry: what each bound says, where it holds, who showed or refuted it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import LDP, Randomizer, Repeated, Subsampled
from shuffledp.errors import RegimeError, UnknownTheoremError
from shuffledp.labels import Direction, Status

CurveFor = Callable[[Any, int], Curve]
_F = TypeVar("_F", bound=CurveFor)


@dataclass(frozen=True)
class Refutation:
    """A data set that leaks more than the theorem allows."""

    dataset: str
    """In words."""
    witness: str
    """Theorem id whose exact value for that data set exceeds the claim."""
    parameters: Mapping[str, float]
    """Those of the mechanism, n and the question (epsilon, delta, order or alpha)."""
    claimed: float
    leaked: float
    mechanism: str = "ldp"
    """Name in the catalogue of randomizers."""


@dataclass(frozen=True)
class Theorem:
    """One published or own result."""

    id: str
    citation: str
    statement: str
    validity: str
    status: Status
    direction: Direction
    proof: str | None = None
    """File in docs/ holding the proof or the derivation from a proven pair."""
    refutation: Refutation | None = None
    """Of a REFUTED theorem; of an ASYMPTOTIC one, a finite n at which it is too small."""
    note: str = ""

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


class Subject(Enum):
    """What a theorem speaks of."""

    CLASS = "all eps0-LDP randomizers"
    LAW = "one randomizer with a known law"


@dataclass(frozen=True)
class Bound:
    """A theorem with the function that turns (randomizer, n) into its curve."""

    theorem: Theorem
    function: CurveFor
    about: Subject

    def curve(self, randomizer: Randomizer, n: int) -> Curve:
        """The curve for this randomizer, or RegimeError if the theorem does not speak of it."""
        if self.about is Subject.LAW:
            if isinstance(randomizer, LDP):
                raise RegimeError(self.theorem.id, "a randomizer with a known law", str(randomizer))
            return self.function(randomizer, n)
        if isinstance(randomizer, Repeated | Subsampled):
            raise RegimeError(self.theorem.id, "one round of all users", str(randomizer))
        if isinstance(randomizer, LDP):
            return self.function(randomizer, n)
        if self.theorem.direction is Direction.LOWER:
            raise RegimeError(
                self.theorem.id, "the class of all eps0-LDP randomizers", str(randomizer)
            )
        if not 0.0 < randomizer.eps0 < math.inf:
            raise RegimeError(self.theorem.id, "a finite eps0 > 0", f"eps0 = {randomizer.eps0:g}")
        return self.function(LDP(randomizer.eps0), n)


_BOUNDS: dict[str, Bound] = {}


def bound(theorem: Theorem, about: Subject = Subject.CLASS) -> Callable[[_F], _F]:
    """Register the decorated function as the implementation of ``theorem``."""

    def register(function: _F) -> _F:
        _BOUNDS[theorem.id] = Bound(theorem, function, about)
        return function

    return register


def all_bounds() -> list[Bound]:
    """Every registered bound, in order of registration."""
    return list(_BOUNDS.values())


def get_bound(theorem_id: str) -> Bound:
    """The bound of that theorem id."""
    try:
        return _BOUNDS[theorem_id]
    except KeyError:
        raise UnknownTheoremError(theorem_id, sorted(_BOUNDS)) from None
