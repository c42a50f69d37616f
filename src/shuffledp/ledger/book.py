"""A durable book of privacy budgets: cohorts, what they may lose, what they lost.

Each cohort has a rule, declared when it is made and never changed (``rules``). A spend is recorded
before the release it pays for: inside one transaction that has the cohort for itself the rule says
what is lost in all with it; if that is above a limit, or cannot be computed, nothing is recorded
and an error says why. The receipt exists only once the record is on the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from shuffledp import checks
from shuffledp.errors import BudgetExceededError, LedgerError, ParameterError
from shuffledp.ledger import tables
from shuffledp.ledger.amounts import amount
from shuffledp.ledger.chain import Verified
from shuffledp.ledger.claims import Claim, marked, not_covered
from shuffledp.ledger.entries import Entry, Spendable
from shuffledp.ledger.records import (
    Balance,
    Cohort,
    Receipt,
    Row,
    as_text,
    canonical,
    damaged,
    read_cohort,
    read_entries,
    read_links,
    read_receipts,
)
from shuffledp.ledger.rules import Amounts, Rule, RuleMaker, Sum, most
from shuffledp.ledger.store import Execute, Store
from shuffledp.ledger.verification import verified


@dataclass(frozen=True)
class _Standing:
    """Where a cohort stands: the end of its chain."""

    cohort: Cohort
    claim: Claim
    spends: int
    lost: Amounts
    digest: str | None


@dataclass(frozen=True)
class Ledger:
    """The book in a store. Safe to share between threads and processes.

    ``Ledger.open`` is how to get one. A spend is on the disk before its receipt exists.

    Examples
    --------
    >>> import tempfile
    >>> from shuffledp.ledger import Guarantee, Ledger
    >>> book = Ledger.open(tempfile.mkdtemp() + "/book.db")
    >>> balance = book.create("users", epsilon="1", delta="1e-6")
    >>> book.spend("users", Guarantee("0.25"), rounds=2).lost["epsilon"]
    Decimal('0.5')
    """

    store: Store

    @classmethod
    def open(cls, store: str | Path, timeout: float = 60.0) -> Ledger:
        """The book in an SQLite file or at a postgresql:// URL; made by the first ``create``.

        Parameters
        ----------
        store
            A path, or ``postgresql://user@host/database``.
        timeout
            How long to wait, in seconds, while others spend.
        """
        timeout = checks.positive("timeout", timeout)
        if not isinstance(store, str | Path) or not str(store) or "\0" in str(store):
            raise ParameterError("store", "a path or postgresql://user@host/database", store)
        if isinstance(store, str) and "://" in store:  # a mistyped one is not quoted either
            from shuffledp.ledger.postgres import PostgresStore

            return cls(PostgresStore(store, timeout))
        from shuffledp.ledger.sqlite import SQLiteStore

        return cls(SQLiteStore(store, timeout))

    def create(
        self,
        cohort: str,
        epsilon: str | int | Decimal,
        delta: str | int | Decimal,
        rule: RuleMaker = Sum,
    ) -> Balance:
        """A new cohort with its total budget, in exact decimals, and the rule that guards it.

        Parameters
        ----------
        cohort
            Its name.
        epsilon, delta
            What it may lose in all: text such as "0.1", or exact numbers.
        rule
            ``Sum`` (epsilons and deltas add up), ``renyi(...)`` or ``planned(...)``; never changed.

        Returns
        -------
        Balance
            Nothing lost so far.

        Raises
        ------
        LedgerError
            If the cohort exists already.
        """
        name = _text("cohort", cohort)
        total, slack = amount("epsilon", epsilon), amount("delta", delta, below=1)
        if not callable(rule) or not isinstance(made := rule(total, slack), Rule):
            raise ParameterError("rule", "Sum, renyi(...) or planned(...)", rule)
        with self.store.transaction(write=True, create=True) as execute:
            if self._formats(execute) == (None, 0):
                execute(tables.STAMP, tables.VERSION)
            else:
                self._brought_up(execute)
            if execute(tables.READ_COHORT, name):
                raise LedgerError(f"The cohort {name!r} exists already.")
            new = Cohort.new(name, made, _now())
            execute(tables.ADD_COHORT, *new.row[:4])
            _begin_chain(execute, new)
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
        uncovered: str = "",
    ) -> Receipt:
        """Record these rounds if they fit; the release may follow the receipt, never precede it.

        Parameters
        ----------
        cohort
            Its name.
        what, rounds
            A protocol or a stated guarantee, and how often it runs.
        label
            What the release is, in words.
        key
            With it a spend can be repeated safely after an unknown outcome: the second time returns
            the first receipt.
        reports
            Names of the batches that are released: all of them again, and nothing else, tell
            nothing new and return the first receipt; some of them among others would tell the
            others apart, and are refused.
        uncovered
            What the release shows that no guarantee speaks of: from then on nothing is called
            proven of the cohort.

        Returns
        -------
        Receipt
            It exists only once the record is on the disk.

        Raises
        ------
        BudgetExceededError
            If the spend does not fit; nothing is recorded.
        """
        entry = Entry.of(what, rounds)
        label = _text("label", label, least=0)
        label = marked(label, _text("uncovered", uncovered, least=0))
        key = key if key is None else _text("key", key)
        if isinstance(reports, str) or not isinstance(reports, Iterable):
            raise ParameterError("reports", "a collection of names", reports)
        batches = tuple(sorted({_text("reports", name) for name in reports}))
        with self._opened(write=True) as (execute, version):
            now = _standing(execute, cohort, version, self.store.row_lock)
            rule = now.cohort.rule
            if key is not None:
                for before in read_receipts(execute, now.cohort, version, tables.BY_KEY, key):
                    return _same(before, entry, batches, label)
            if (released := _released(execute, now.cohort, version, batches)) is not None:
                return _same(released, entry, batches, label)
            lost = _lost_with(now, entry, lambda: read_entries(execute, cohort))
            number, moment = now.spends + 1, _now()
            receipt = Receipt(
                *(cohort, number, entry, label, key, now.claim.after(number, label)),
                *(lost, rule.theorem.id, moment, batches),
                row=_row(number, entry, label, key, lost, rule.theorem.id, moment),
            )
            receipt = replace(receipt, digest=receipt.linked(now.digest or ""))
            _record(execute, receipt)
        return receipt

    def lost_with(self, cohort: str, what: Spendable, rounds: int = 1) -> Amounts:
        """What the cohort would have lost in all after these rounds; nothing is recorded.

        Parameters
        ----------
        cohort
            Its name.
        what, rounds
            A protocol or a stated guarantee, and how often it runs.

        Raises
        ------
        BudgetExceededError
            If they do not fit.
        """
        with self._opened() as (execute, version):
            now = _standing(execute, cohort, version)
            return _lost_with(now, Entry.of(what, rounds), lambda: read_entries(execute, cohort))

    def balance(self, cohort: str) -> Balance:
        """What the cohort has lost so far."""
        with self._opened() as (execute, version):
            return _balance(execute, cohort, version)

    def remaining(self, cohort: str, what: Spendable) -> int:
        """How many more rounds fit, spent at once (at most 1e12).

        Parameters
        ----------
        cohort
            Its name.
        what
            A protocol or a stated guarantee.
        """
        return most(self._fits(cohort, what))

    def affords(self, cohort: str, what: Spendable, rounds: int = 1) -> bool:
        """Whether so many more rounds fit now; nothing is recorded.

        Parameters
        ----------
        cohort
            Its name.
        what
            A protocol or a stated guarantee.
        rounds
            How many of it.
        """
        return self._fits(cohort, what)(rounds)

    def _fits(self, cohort: str, what: Spendable) -> Callable[[int], bool]:
        with self._opened() as (execute, version):
            now = _standing(execute, cohort, version)
            entries = read_entries(execute, cohort)
        rule = now.cohort.rule

        def fits(rounds: int) -> bool:
            try:
                lost = rule.charged(now.lost, Entry.of(what, rounds), lambda: entries)
            except BudgetExceededError:
                return False
            except LedgerError:
                if rounds == 1:
                    raise
                return False
            return not rule.over(lost)

        return fits

    def cohorts(self) -> list[str]:
        """All names."""
        with self._opened() as (execute, _):
            return _names(execute)

    def history(self, cohort: str) -> list[Receipt]:
        """Every spend of a cohort, in order."""
        with self._opened() as (execute, version):
            found = read_cohort(execute, _text("cohort", cohort), version)
            return read_receipts(execute, found, version)

    def verify(self, *cohorts: str) -> list[Verified]:
        """Look at every row of these cohorts (default: all) and recompute the chain of digests.

        Parameters
        ----------
        *cohorts
            Their names; all if left out.

        Returns
        -------
        list of Verified
            One per cohort, with what was altered.
        """
        with self.store.transaction(write=False) as execute:
            stamped, least = self._formats(execute)
            version = _check_known(stamped)
            found = [
                verified(execute, _text("cohort", name), max(version, least))
                for name in cohorts or _names(execute)
            ]
        if version < least:
            wrong = _wrong_stamp(version, least)
            found = [replace(each, problems=(wrong, *each.problems)) for each in found]
        return found

    def export(self) -> dict[str, Any]:
        """Everything at one moment, JSON-ready."""
        with self._opened() as (execute, version):
            found = []
            for name in _names(execute):
                history = read_receipts(execute, read_cohort(execute, name, version), version)
                found.append(
                    _balance(execute, name, version).to_dict()
                    | {"history": [receipt.to_dict() for receipt in history]}
                )
        return {"store": self.store.name, "cohorts": found}

    @contextmanager
    def _opened(self, write: bool = False) -> Iterator[tuple[Execute, int]]:
        with self.store.transaction(write=write) as execute:
            yield execute, self._brought_up(execute) if write else self._version(execute)

    def _formats(self, execute: Execute) -> tuple[Any, int]:
        """What the stamp says, and what the rows do: the least format that has such rows."""
        # rows first: whoever adds them commits the stamp with them
        least = 0
        for name, version in tables.SINCE.items():
            if execute(self.store.has_table, name) and execute(tables.HAS_ROWS[name]):
                least = version
        return execute(tables.READ_VERSION)[0][0], least

    def _version(self, execute: Execute) -> int:
        stamped, least = self._formats(execute)
        if (version := _check_known(stamped)) < least:
            raise LedgerError(f"The ledger was altered: {_wrong_stamp(version, least)}.")
        return version

    def _brought_up(self, execute: Execute) -> int:
        """The current format: cohorts of older ones get the rule that was never declared."""
        if self._version(execute) == tables.VERSION:
            return tables.VERSION
        self.store.make_tables(execute)
        if (version := self._version(execute)) == tables.VERSION:  # another process was first
            return version
        for name in _names(execute):
            cohort = read_cohort(execute, name, version, self.store.row_lock)
            digest = _begin_chain(execute, cohort)
            for receipt in read_receipts(execute, cohort, version):
                digest = receipt.linked(digest)
                execute(tables.ADD_LINK, name, receipt.number, digest)
        execute(tables.STAMP, tables.VERSION)
        return tables.VERSION


def _text(name: str, value: object, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= 200 or not value.isprintable():
        raise ParameterError(name, f"printable text of {least} to 200 characters", value)
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _check_known(found: Any) -> int:
    if found not in range(1, tables.VERSION + 1):
        raise LedgerError(
            f"The ledger has format {found}; this version reads formats 1 to {tables.VERSION}."
        )
    return int(found)


def _wrong_stamp(stamped: int, least: int) -> str:
    return f"it is stamped as format {stamped}, and has rows of format {least}"


def _names(execute: Execute) -> list[str]:
    names = [name for (name,) in execute(tables.READ_NAMES)]
    for name in names:
        if not isinstance(name, str):
            raise damaged("the name of a cohort", name)
    return names


def _begin_chain(execute: Execute, cohort: Cohort) -> str:
    execute(tables.ADD_RULE, cohort.name, cohort.row[4])
    execute(tables.ADD_LINK, cohort.name, 0, cohort.digest)
    return cohort.digest


def _row(
    number: int,
    entry: Entry,
    label: str,
    key: str | None,
    lost: Amounts,
    theorem: str,
    recorded: str,
) -> Row:
    """In the order in which READ_SPENDS gives it back."""
    amounts = canonical(as_text(lost))
    return (number, entry.text, entry.rounds, label, key, amounts, theorem, recorded)


def _record(execute: Execute, receipt: Receipt) -> None:
    number, text, rounds, label, key, lost, theorem, recorded = receipt.row
    kind = hashlib.sha256(str(text).encode()).hexdigest()
    execute(tables.ADD_LOSS, receipt.cohort, kind, text, rounds)
    execute(
        tables.ADD_SPEND,
        *(receipt.cohort, number, kind, rounds, label, key, lost, theorem, 0, recorded),
    )
    for name in receipt.reports:
        execute(tables.ADD_RELEASE, name, receipt.cohort, receipt.number)
    execute(tables.ADD_LINK, receipt.cohort, receipt.number, receipt.digest)


def _standing(execute: Execute, cohort: str, version: int, lock: str = "") -> _Standing:
    """The end of the chain; its first and last digests must fit. All of them: ``verify``."""
    found = read_cohort(execute, _text("cohort", cohort), version, lock)
    spends = execute(tables.READ_LAST, cohort)[0][0]
    if not isinstance(spends, int):
        raise damaged(f"the number of a spend of {cohort!r}", spends)
    last = read_receipts(execute, found, version, tables.BY_NUMBER, spends)
    lost = last[0].lost if last else dict.fromkeys(found.rule.limits, Decimal(0))
    claim = last[0].claim if last else Claim(found.rule)
    if version < 3:
        return _Standing(found, claim, spends, lost, None)
    links = read_links(execute, cohort, version, spends)
    digest = last[0].linked(links.get(spends - 1, "")) if last else found.digest
    ends = links.get(spends) == digest and spends + 1 not in links
    if links.get(0) != found.digest or not ends:
        raise LedgerError(
            f"The rows of the cohort {cohort!r} were altered: they do not fit their digests."
            " `shuffledp ledger verify` says which."
        )
    return _Standing(found, claim, spends, lost, digest)


def _lost_with(now: _Standing, entry: Entry, before: Callable[[], list[Entry]]) -> Amounts:
    """What is lost in all with one more entry, if it fits."""
    rule = now.cohort.rule
    lost = rule.charged(now.lost, entry, before)
    if over := rule.over(lost):
        raise BudgetExceededError(
            f"The cohort {now.cohort.name!r} may lose {rule.total}. With this spend it would have"
            f" lost {rule.shown(lost)}: more {' and '.join(over)} than its rule allows ({rule})."
            " Nothing was recorded."
        )
    return lost


def _balance(execute: Execute, cohort: str, version: int) -> Balance:
    now = _standing(execute, cohort, version)
    entries = tuple(read_entries(execute, cohort))
    return Balance(cohort, now.claim, now.lost, entries, now.spends, now.cohort.created, now.digest)


def _same(receipt: Receipt, entry: Entry, batches: tuple[str, ...], label: str) -> Receipt:
    """The receipt, if this is what it was given for; what people call it may differ."""
    paid = receipt.entry.text, receipt.entry.rounds, receipt.uncovered
    if paid != (entry.text, entry.rounds, not_covered(label)):
        what = "These reports were" if receipt.key is None else f"The key {receipt.key!r} was"
        raise LedgerError(f"{what} used for another spend.")
    if receipt.reports != batches:
        raise LedgerError(f"The key {receipt.key!r} was used for other reports.")
    return replace(receipt, repeated=True)


def _released(
    execute: Execute, cohort: Cohort, version: int, batches: tuple[str, ...]
) -> Receipt | None:
    """The spend that paid for exactly these reports; None if none of them was released."""
    found = [row for name in batches for row in execute(tables.READ_RELEASE, name)]
    if not found:
        return None
    payer, number = found[0]
    if payer != cohort.name:
        raise LedgerError(f"Some of these reports were released before, by {payer!r}.")
    before = read_receipts(execute, cohort, version, tables.BY_NUMBER, number)
    if not before:
        raise damaged("the spend that paid for these reports", number)
    if before[0].reports != batches:
        raise LedgerError(
            f"Some of these reports were released before ({cohort.name} #{number}), in other"
            " company: the difference would show what the others sent. Nothing was recorded."
        )
    return before[0]
