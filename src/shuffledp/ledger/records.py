"""What a caller gets: receipts and balances; and how they are read from a store's rows.

A store may have been damaged, or altered by hand: everything read is checked, and what cannot be is
a LedgerError that says where.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from shuffledp.errors import LedgerError, ShuffleDPError
from shuffledp.ledger import tables
from shuffledp.ledger.amounts import amount, decimal_below
from shuffledp.ledger.chain import digest_of
from shuffledp.ledger.claims import LIKE_SAID, Claim, not_covered
from shuffledp.ledger.entries import Entry, read
from shuffledp.ledger.rules import Amounts, Rule, Undeclared, restore
from shuffledp.ledger.store import Execute

T = TypeVar("T")
Row = tuple[str | int | None, ...]


def as_text(amounts: Amounts) -> dict[str, str]:
    """Exact decimals as JSON-ready text."""
    return {name: str(value) for name, value in amounts.items()}


def canonical(data: Any) -> str:
    """JSON, the same for equal data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Receipt:
    """A spend that is on the disk. Numbers have no gaps within a cohort.

    ``lost`` is what the cohort has lost in all after it, ``theorem`` why the total holds.
    """

    cohort: str
    number: int
    entry: Entry
    label: str
    key: str | None
    claim: Claim
    """What can be said of the cohort's total once this was spent."""
    lost: Amounts
    """All the cohort had lost once this was spent, by the amounts its rule limits."""
    theorem: str
    recorded: str
    """When, in UTC."""
    reports: tuple[str, ...] = ()
    """Names of the batches of reports it released, if they were stated."""
    digest: str | None = None
    """Of this and all before. Whoever keeps it can tell later whether they were altered."""
    repeated: bool = field(default=False, compare=False)
    """Whether this call found it recorded: nothing was spent anew."""
    row: Row = field(default=(), compare=False, repr=False)
    """As it is stored."""

    @property
    def rule(self) -> Rule:
        """Of the cohort."""
        return self.claim.rule

    @property
    def uncovered(self) -> str:
        """What of this release no guarantee covers; nothing if all is."""
        return not_covered(self.label)

    @property
    def warning(self) -> str:
        """Said when this spend takes away what was promised; nothing otherwise."""
        firsts = [first for first, _ in self.claim.uncovered.values()]
        if not firsts or min(firsts) < self.number or self.repeated:
            return ""
        return (
            f"from this spend on nothing is proven of what {self.cohort} loses in all:"
            f" {self.uncovered}"
        )

    def linked(self, previous: str) -> str:
        """The digest that follows the one before."""
        return digest_of(previous, (self.cohort, *self.row, *self.reports))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "cohort": self.cohort,
            "number": self.number,
            "spent": self.entry.description,
            "rounds": self.entry.rounds,
            "label": self.label,
            "key": self.key,
            "rule": self.rule.to_dict(),
            **self.claim.to_dict(),
            "limits": as_text(self.rule.limits),
            "lost": as_text(self.lost),
            "theorem": self.theorem,
            "recorded": self.recorded,
            "reports": list(self.reports),
            "digest": self.digest,
        }


@dataclass(frozen=True)
class Balance:
    """A cohort's total, its rule, and what is lost.

    ``limits``, ``lost`` and ``left`` are exact decimals by name; ``claim`` says what is proven of
    them.
    """

    cohort: str
    claim: Claim
    """What can be said of the total."""
    lost: Amounts
    entries: tuple[Entry, ...]
    """What it was spent on, equal things together."""
    spends: int
    created: str
    digest: str | None = None
    """The last of the chain. Whoever keeps it can tell later whether anything was altered."""

    @property
    def rule(self) -> Rule:
        """Declared once and for all."""
        return self.claim.rule

    @property
    def epsilon(self) -> Decimal:
        """The total, which the rule guards."""
        return self.rule.epsilon

    @property
    def delta(self) -> Decimal:
        """The total, which the rule guards."""
        return self.rule.delta

    @property
    def left(self) -> Amounts:
        """Limits less lost, rounded down. How many rounds fit: ask ``remaining``."""
        return {
            name: decimal_below(max(Fraction(limit) - Fraction(self.lost[name]), Fraction(0)))
            for name, limit in self.rule.limits.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "cohort": self.cohort,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "direction": "UPPER",
            "theorem": self.rule.theorem.id,
            "rule": self.rule.to_dict(),
            **self.claim.to_dict(),
            "limits": as_text(self.rule.limits),
            "lost": as_text(self.lost),
            "left": as_text(self.left),
            "spends": self.spends,
            "entries": [{"spent": e.description, "rounds": e.rounds} for e in self.entries],
            "created": self.created,
            "digest": self.digest,
        }


@dataclass(frozen=True)
class Cohort:
    """The row of a cohort."""

    name: str
    rule: Rule
    created: str
    row: Row
    """As it is stored."""

    @classmethod
    def new(cls, name: str, rule: Rule, created: str) -> Cohort:
        """One that is about to be stored."""
        total = str(rule.epsilon), str(rule.delta)
        return cls(name, rule, created, (name, *total, created, canonical(rule.to_dict())))

    @property
    def digest(self) -> str:
        """The first of the chain."""
        return digest_of("", self.row)


def read_cohort(execute: Execute, name: str, version: int, lock: str = "") -> Cohort:
    """Raises LedgerError if there is none, or if its row makes no sense."""
    rows = execute(tables.READ_COHORT + lock, name)
    if not rows:
        raise LedgerError(f"There is no cohort {name!r}.")
    epsilon, delta, created = rows[0]
    total = _field(f"the epsilon of the cohort {name!r}", epsilon, lambda x: amount("epsilon", x))
    slack = _field(f"the delta of the cohort {name!r}", delta, lambda x: amount("delta", x, 1))
    created = _text(name, created)
    if version < 3:
        undeclared = Undeclared(total, slack)
        row = (name, epsilon, delta, created, canonical(undeclared.to_dict()))
        return Cohort(name, undeclared, created, row)
    rules = execute(tables.READ_RULE, name)
    found = rules[0][0] if rules else None
    rule = _field(
        f"the rule of the cohort {name!r}", found, lambda x: restore(json.loads(x), total, slack)
    )
    return Cohort(name, rule, created, (name, epsilon, delta, created, found))


def read_entries(execute: Execute, cohort: str) -> list[Entry]:
    """All that was spent, equal things together."""
    return [read(*row) for row in execute(tables.READ_ENTRIES, cohort)]


def read_links(
    execute: Execute, cohort: str, version: int, last: int | None = None
) -> dict[int, str]:
    """The digests by number: all, or the first and those around the last."""
    if version < 3:
        return {}
    ends = () if last is None else (last - 1, last, last + 1)
    found = execute(tables.READ_LINKS + (tables.OF_THE_END if ends else ""), cohort, *ends)
    return {number: _text(f"the digests of {cohort}", digest) for number, digest in found}


def read_receipts(
    execute: Execute, cohort: Cohort, version: int, where: str = "", *values: object
) -> list[Receipt]:
    """Those of a cohort, or some of them, in order; the first format knew of no reports."""
    rows = execute(tables.READ_SPENDS + where + tables.IN_ORDER, cohort.name, *values)
    if not rows:
        return []
    by_number = where == tables.BY_NUMBER
    reports: dict[int, list[str]] = {}
    if version > 1:
        which = tables.BY_NUMBER if by_number else ""
        only = tables.READ_RELEASES + which + tables.IN_NAME_ORDER
        for number, name in execute(only, cohort.name, *(values if by_number else ())):
            reports.setdefault(number, []).append(_text(f"the reports of {cohort.name}", name))
    links = read_links(execute, cohort.name, version, rows[0][0] if by_number else None)
    claims = _claims(execute, cohort, [_number(cohort, row) for row in rows])
    return [_receipt(cohort, row, c, reports, links) for row, c in zip(rows, claims, strict=True)]


def _claims(execute: Execute, cohort: Cohort, numbers: list[int]) -> Iterator[Claim]:
    """What can be said after each of these spends, in order: some are of all that came before."""
    claim, marks = Claim(cohort.rule), execute(tables.READ_MARKS, cohort.name, LIKE_SAID)
    marks.reverse()
    for number in numbers:
        while marks and _number(cohort, marks[-1]) <= number:
            earlier, label = marks.pop()
            claim = claim.after(earlier, _text(f"{cohort.name} #{earlier}", label))
        yield claim


def _number(cohort: Cohort, row: tuple[Any, ...]) -> int:
    if not isinstance(row[0], int):
        raise damaged(f"the number of a spend of {cohort.name!r}", row[0])
    return row[0]


def _receipt(
    cohort: Cohort,
    row: tuple[Any, ...],
    claim: Claim,
    reports: dict[int, list[str]],
    links: dict[int, str],
) -> Receipt:
    number, description, rounds, label, key, lost, theorem, recorded = row
    where = f"what {cohort.name!r} had lost after #{number}"
    mine = f"{cohort.name} #{number}"
    return Receipt(
        cohort.name,
        number,
        read(description, rounds),
        _text(mine, label),
        None if key is None else _text(mine, key),
        claim,
        _field(where, lost, lambda x: _amounts(x, cohort.rule)),
        _text(mine, theorem),
        _text(mine, recorded),
        tuple(reports.get(number, ())),
        links.get(number),
        row=row,
    )


def _amounts(text: str, rule: Rule) -> Amounts:
    """Formats 1 and 2 wrote epsilon alone."""
    data = json.loads(text) if text.startswith("{") else {"epsilon": text}
    found = {name: Decimal(value) for name, value in data.items()}
    if set(found) != set(rule.limits) or not all(0 <= x < Decimal("inf") for x in found.values()):
        raise ValueError("other amounts than the rule limits")
    return found


def damaged(what: str, value: object) -> LedgerError:
    """For everything a store should not hold."""
    return LedgerError(f"The ledger holds {value!r} as {what}: it was damaged, or altered by hand.")


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise damaged(f"a text of {where}", value)
    return value


def _field(what: str, value: object, parse: Callable[[Any], T]) -> T:
    try:
        if not isinstance(value, str):
            raise TypeError("not text")
        return parse(value)
    except LedgerError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        ArithmeticError,
        AttributeError,
        RecursionError,
        ShuffleDPError,
    ) as error:
        raise damaged(what, value) from error
