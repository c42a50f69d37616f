"""What can be said of a cohort's total: whether it is proven, and in which words.

A release may show something that no guarantee speaks of. The label of its spend then says so, after
"NOT COVERED: ", and from there on nothing is proven of the cohort's total.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from shuffledp.labels import Status
from shuffledp.ledger.rules import Rule

_NOT_COVERED = "NOT COVERED: "
_SAID = re.compile(r"NOT (COVERED|PRIVATE): .*")
LIKE_SAID = "%NOT %: %"
"""Labels worth a closer look, for a database."""


def marked(label: str, uncovered: str) -> str:
    """A label that says what is not covered, if anything."""
    if uncovered and not _SAID.match(uncovered):
        uncovered = _NOT_COVERED + uncovered
    return "; ".join(filter(None, (label, uncovered)))


def not_covered(label: str) -> str:
    """What a label says is not covered; nothing if all is."""
    found = _SAID.search(label)
    return "" if found is None else found[0]


@dataclass(frozen=True)
class Claim:
    """The promise of a rule, as far as all that was spent lets it stand."""

    rule: Rule
    uncovered: dict[str, tuple[int, int]] = field(default_factory=dict)
    """What is not covered: the first spend it was said of, and of how many."""

    def after(self, number: int, label: str) -> Claim:
        """Once this was spent, too."""
        if not (why := not_covered(label)):
            return self
        first, spends = self.uncovered.get(why, (number, 0))
        return replace(self, uncovered=self.uncovered | {why: (first, spends + 1)})

    @property
    def status(self) -> Status | None:
        """None where nothing is proven; ``promise`` says why."""
        return self.rule.theorem.status if self.rule.proven and not self.uncovered else None

    @property
    def promise(self) -> str:
        """When the total holds, or why it does not, in words."""
        return self._unless_uncovered(self.rule.promise)

    def __str__(self) -> str:
        return self._unless_uncovered(str(self.rule))

    def _unless_uncovered(self, said: str) -> str:
        if not self.uncovered:
            return said
        reasons = "; ".join(
            f"{why} (#{first}{f' and {spends - 1:,} more' if spends > 1 else ''})"
            for why, (first, spends) in self.uncovered.items()
        )
        return f"{reasons}. Otherwise: {said}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "status": None if self.status is None else self.status.value,
            "adaptive": self.rule.adaptive,
            "promise": self.promise,
            "uncovered": [
                {"why": why, "first": first, "spends": spends}
                for why, (first, spends) in self.uncovered.items()
            ],
        }
