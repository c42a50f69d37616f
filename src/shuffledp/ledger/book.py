"""A durable book of privacy budgets: cohorts, what they may lose, what they lost.

A spend is recorded before the release it pays for. Inside one transaction that has the cohort for
itself everything spent so far and the new spend are composed at the cohort's total delta; if the
proven epsilon exceeds the total, or none can be computed, nothing is recorded and an error says
why. The receipt exists only once the record is on the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from shuffledp import checks
from shuffledp.errors import BudgetExceededError, LedgerError, ParameterError
from shuffledp.ledger import tables
from shuffledp.ledger.amounts import amount, decimal_below
from shuffledp.ledger.entries import Entry, Spendable, read
from shuffledp.ledger.losses import Loss, composed
from shuffledp.ledger.store import Execute, Store

_URLS = ("postgresql://", "postgres://")
_MOST_ROUNDS = 10**12


@dataclass(frozen=True)
class Receipt:
    """A spend that is on the disk. Numbers have no gaps within a cohort."""

    cohort: str
    number: int
    entry: Entry
    label: str
    key: str | None
    lost: Loss
    """All the cohort had lost once this was spent, as computed then."""
    recorded: str
    """When, in UTC."""
    reports: tuple[str, ...] = ()
    """Names of the batches of reports it released, if they were stated."""
    repeated: bool = field(default=False, compare=False)
    """Whether this call found it recorded: nothing was spent anew."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "cohort": self.cohort,
            "number": self.number,
            "spent": self.entry.description,
            "rounds": self.entry.rounds,
            "label": self.label,
            "key": self.key,
            "lost": self.lost.to_dict(),
            "recorded": self.recorded,
            "reports": list(self.reports),
        }


@dataclass(frozen=True)
class Balance:
    """A cohort's total, and what is lost of it."""

    cohort: str
    epsilon: Decimal
    delta: Decimal
    lost: Loss
    entries: tuple[Entry, ...]
    """What it was spent on, equal things together."""
    spends: int
    created: str

    @property
    def left(self) -> Decimal:
        """Total less lost. A spend may cost less than it would alone: ask ``remaining``."""
        return decimal_below(max(Fraction(self.epsilon) - Fraction(self.lost.epsilon), Fraction(0)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "cohort": self.cohort,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "lost": self.lost.to_dict(),
            "left": str(self.left),
            "spends": self.spends,
            "entries": [{"spent": e.description, "rounds": e.rounds} for e in self.entries],
            "created": self.created,
        }


@dataclass(frozen=True)
class Ledger:
    """The book in a store. Safe to share between threads and processes."""

    store: Store

    @classmethod
    def open(cls, store: str | Path, timeout: float = 60.0) -> Ledger:
        """The book in an SQLite file or at a postgresql:// URL; made by the first ``create``.

        ``timeout`` is how long to wait, in seconds, while others spend.
        """
        timeout = checks.positive("timeout", timeout)
        if isinstance(store, str) and store.startswith(_URLS):
            from shuffledp.ledger.postgres import PostgresStore

            return cls(PostgresStore(store, timeout))
        from shuffledp.ledger.sqlite import SQLiteStore

        return cls(SQLiteStore(store, timeout))

    def create(
        self, cohort: str, epsilon: str | int | Decimal, delta: str | int | Decimal
    ) -> Balance:
        """A new cohort with its total budget, in exact decimals."""
        name = _text("cohort", cohort)
        total, slack = amount("epsilon", epsilon), amount("delta", delta, below=1)
        with self.store.transaction(write=True, create=True) as execute:
            execute(tables.STAMP, tables.VERSION)
            _check_version(execute)
            if execute(tables.READ_COHORT, name):
                raise LedgerError(f"The cohort {name!r} exists already.")
            execute(tables.ADD_COHORT, name, str(total), str(slack), _now())
        return self.balance(name)

    def spend(
        self,
        cohort: str,
        what: Spendable,
        rounds: int = 1,
        *,
        label: str = "",
        key: str | None = None,
        reports: Collection[str] = (),
    ) -> Receipt:
        """Record so many rounds, if they fit; the release may follow the receipt, never precede it.

        With a ``key`` a spend can be repeated safely after an unknown outcome: the second time
        returns the first receipt. So do names of the batches of ``reports`` that are released: all
        of them again, and nothing else, tell nothing new; some of them among others would tell the
        others apart, and are refused.
        """
        entry = Entry.of(what, rounds)
        label = _text("label", label, least=0)
        key = key if key is None else _text("key", key)
        if isinstance(reports, str) or not isinstance(reports, Iterable):
            raise ParameterError("reports", "a collection of names", reports)
        batches = tuple(sorted({_text("reports", name) for name in reports}))
        with self._opened(write=True) as execute:
            total, slack, _ = _cohort(execute, cohort, self.store.row_lock)
            if key is not None:
                for before in _receipts(execute, cohort, tables.BY_KEY, key):
                    return _same(before, entry, batches)
            if (released := _released(execute, cohort, batches)) is not None:
                return _same(released, entry, batches)
            lost = composed(_added(_entries(execute, cohort), entry), slack)
            if lost.epsilon > total:
                raise BudgetExceededError(
                    f"The cohort {cohort!r} may lose epsilon = {total} at delta = {slack}. With this"
                    f" spend it would have lost {lost} in all. Nothing was recorded."
                )
            number = execute(tables.READ_LAST, cohort)[0][0] + 1
            digest = hashlib.sha256(entry.text.encode()).hexdigest()
            now = _now()
            execute(tables.ADD_LOSS, cohort, digest, entry.text, entry.rounds)
            execute(
                tables.ADD_SPEND,
                *(cohort, number, digest, entry.rounds, label, key),
                *(str(lost.epsilon), lost.theorem, int(lost.adaptive), now),
            )
            for name in batches:
                execute(tables.ADD_RELEASE, name, cohort, number)
        return Receipt(cohort, number, entry, label, key, lost, now, batches)

    def balance(self, cohort: str) -> Balance:
        """What the cohort has lost so far, tightly composed."""
        with self._opened() as execute:
            found = _balance(execute, cohort)
        return found()

    def remaining(self, cohort: str, what: Spendable) -> int:
        """How many more rounds fit (at most 1e12)."""
        with self._opened() as execute:
            total, slack, _ = _cohort(execute, cohort)
            entries = _entries(execute, cohort)

        def fits(rounds: int) -> bool:
            try:
                return composed(_added(entries, Entry.of(what, rounds)), slack).epsilon <= total
            except BudgetExceededError:
                return False
            except LedgerError:
                if rounds == 1:
                    raise
                return False

        return _most(fits)

    def cohorts(self) -> list[str]:
        """All names."""
        with self._opened() as execute:
            return [name for (name,) in execute(tables.READ_NAMES)]

    def history(self, cohort: str) -> list[Receipt]:
        """Every spend of a cohort, in order."""
        with self._opened() as execute:
            _cohort(execute, cohort)
            return _receipts(execute, cohort, version=_check_version(execute))

    def export(self) -> dict[str, Any]:
        """Everything at one moment, JSON-ready."""
        with self._opened() as execute:
            version = _check_version(execute)
            found = [
                (_balance(execute, name), _receipts(execute, name, version=version))
                for (name,) in execute(tables.READ_NAMES)
            ]
        return {
            "store": self.store.name,
            "cohorts": [
                balance().to_dict() | {"history": [receipt.to_dict() for receipt in history]}
                for balance, history in found
            ],
        }

    @contextmanager
    def _opened(self, write: bool = False) -> Iterator[Execute]:
        with self.store.transaction(write=write) as execute:
            if _check_version(execute) < tables.VERSION and write:
                self.store.make_tables(execute)
                execute(tables.STAMP, tables.VERSION)
            yield execute


def _text(name: str, value: object, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= 200 or not value.isprintable():
        raise ParameterError(name, f"printable text of {least} to 200 characters", value)
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _check_version(execute: Execute) -> int:
    found = execute(tables.READ_VERSION)[0][0]
    if found not in range(1, tables.VERSION + 1):
        raise LedgerError(
            f"The ledger has format {found}; this version reads formats 1 to {tables.VERSION}."
        )
    return int(found)


def _cohort(execute: Execute, cohort: str, lock: str = "") -> tuple[Decimal, Decimal, str]:
    """Total epsilon, total delta, when it was made."""
    rows = execute(tables.READ_COHORT + lock, _text("cohort", cohort))
    if not rows:
        raise LedgerError(f"There is no cohort {cohort!r}.")
    epsilon, delta, created = rows[0]
    return Decimal(epsilon), Decimal(delta), created


def _entries(execute: Execute, cohort: str) -> tuple[Entry, ...]:
    return tuple(read(*row) for row in execute(tables.READ_LOSSES, cohort))


def _added(entries: tuple[Entry, ...], new: Entry) -> list[Entry]:
    """Rounds of equal things are counted together."""
    before = sum(entry.rounds for entry in entries if entry.text == new.text)
    others = [entry for entry in entries if entry.text != new.text]
    return [*others, Entry(new.what, before + new.rounds)]


def _balance(execute: Execute, cohort: str) -> Callable[[], Balance]:
    """Reads now, composes when called: no transaction stays open meanwhile."""
    total, slack, created = _cohort(execute, cohort)
    entries = _entries(execute, cohort)
    spends = execute(tables.READ_LAST, cohort)[0][0]
    return lambda: Balance(cohort, total, slack, composed(entries, slack), entries, spends, created)


def _receipts(
    execute: Execute, cohort: str, where: str = "", *values: object, version: int = tables.VERSION
) -> list[Receipt]:
    """Those of a cohort, or some of them, in order; the first format knew of no reports."""
    rows = execute(tables.READ_SPENDS + where + tables.IN_ORDER, cohort, *values)
    reports: dict[int, list[str]] = {}
    if rows and version > 1:
        which = where if where == tables.BY_NUMBER else ""
        only = tables.READ_RELEASES + which + tables.IN_NAME_ORDER
        for number, name in execute(only, cohort, *(values if which else ())):
            reports.setdefault(number, []).append(name)
    found = []
    for row in rows:
        number, description, rounds, label, key, lost, theorem, adaptive, recorded = row
        entry, loss = read(description, rounds), Loss(Decimal(lost), theorem, bool(adaptive))
        names = tuple(reports.get(number, ()))
        found.append(Receipt(cohort, number, entry, label, key, loss, recorded, names))
    return found


def _same(receipt: Receipt, entry: Entry, batches: tuple[str, ...]) -> Receipt:
    """The receipt, if this is what it was given for."""
    if (receipt.entry.text, receipt.entry.rounds) != (entry.text, entry.rounds):
        what = "These reports were" if receipt.key is None else f"The key {receipt.key!r} was"
        raise LedgerError(f"{what} used for another spend.")
    if receipt.reports != batches:
        raise LedgerError(f"The key {receipt.key!r} was used for other reports.")
    return replace(receipt, repeated=True)


def _released(execute: Execute, cohort: str, batches: tuple[str, ...]) -> Receipt | None:
    """The spend that paid for exactly these reports; None if none of them was released."""
    found = [row for name in batches for row in execute(tables.READ_RELEASE, name)]
    if not found:
        return None
    payer, number = found[0]
    if payer != cohort:
        raise LedgerError(f"Some of these reports were released before, by {payer!r}.")
    (before,) = _receipts(execute, cohort, tables.BY_NUMBER, number)
    if before.reports != batches:
        raise LedgerError(
            f"Some of these reports were released before ({cohort} #{number}), in other company:"
            " the difference would show what the others sent. Nothing was recorded."
        )
    return before


def _most(fits: Callable[[int], bool]) -> int:
    """The largest count that fits, by doubling and halving."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= _MOST_ROUNDS and fits(high):
        low, high = high, 2 * high
    high = min(high, _MOST_ROUNDS + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
