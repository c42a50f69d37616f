"""What the atlas says about each theorem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.bounds import Theorem, all_bounds, all_theorems
from shuffledp.accounting.protocols.named import CENTRAL, SHAPES
from shuffledp.accounting.protocols.refute import recompute
from shuffledp.labels import Direction, Status
from shuffledp.research.atlas.cell import Cell, ClaimedValue, Judgement

_RANK = {status: rank for rank, status in enumerate(Status)}


@dataclass(frozen=True)
class Line:
    """One theorem over all cells."""

    theorem: Theorem
    answered: int
    violations: tuple[tuple[Cell, ClaimedValue], ...]
    on_record: tuple[float, float] | None
    """What a refuted theorem claims for its data set on record, and what that leaks; recomputed."""
    least: float | None
    greatest: float | None
    """Range of the ratio to the best lower bound."""

    @property
    def worst(self) -> tuple[Cell, ClaimedValue]:
        """The violation farthest below the truth."""
        return min(self.violations, key=lambda found: found[1].ratio)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "theorem": self.theorem.id,
            "status": self.theorem.status.value,
            "direction": self.theorem.direction.value,
            "answered": self.answered,
            "violated": len(self.violations),
            "least_ratio": self.least,
            "greatest_ratio": self.greatest,
            "on_record": None
            if self.on_record is None
            else dict(zip(("claimed", "leaked"), self.on_record, strict=True)),
        }


def recorded(lines: Sequence[Line]) -> list[Line]:
    """Refuted theorems of trusted servers, which no place of the grid is about, by what they hide:
    the data set on record has their cell."""
    found = [
        line
        for line in lines
        if line.on_record and line.theorem.refutation.mechanism in CENTRAL  # type: ignore[union-attr]
    ]
    return sorted(found, key=_hidden)


def _hidden(line: Line) -> float:
    claimed, leaked = line.on_record or (1.0, 1.0)
    return claimed / leaked


def lines(cells: Sequence[Cell]) -> list[Line]:
    """Every theorem of the registry: proven ones first, lower bounds after upper ones."""
    ordered = sorted(
        all_theorems(),
        key=lambda theorem: (theorem.direction is Direction.LOWER, _RANK[theorem.status]),
    )
    with_curve = {bound.theorem.id for bound in all_bounds()}
    found: dict[str, list[tuple[Cell, ClaimedValue]]] = {theorem.id: [] for theorem in ordered}
    for cell in cells:
        for claim in cell.claims:
            found[claim.theorem].append((cell, claim))
    result = []
    for theorem in ordered:
        claims = found[theorem.id]
        ratios = [claim.ratio for _, claim in claims]
        record = None
        case = theorem.refutation
        if case is not None and (theorem.id in with_curve or case.mechanism in SHAPES):
            claimed, leaked = recompute(theorem.id)
            record = (claimed.value, leaked.value)
        violations = tuple(pair for pair in claims if pair[1].verdict is Judgement.VIOLATED)
        least, greatest = min(ratios, default=None), max(ratios, default=None)
        result.append(Line(theorem, len(claims), violations, record, least, greatest))
    return result
