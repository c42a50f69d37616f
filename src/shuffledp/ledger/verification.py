"""A whole cohort looked at: every row, every digest, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shuffledp.errors import LedgerError
from shuffledp.ledger import tables
from shuffledp.ledger.chain import Verified
from shuffledp.ledger.entries import Entry, read
from shuffledp.ledger.records import read_cohort, read_links, read_receipts
from shuffledp.ledger.store import Execute


def verified(execute: Execute, name: str, version: int) -> Verified:
    """Recompute the chain of a cohort; rows that cannot even be read are a problem too."""
    if not execute(tables.READ_COHORT, name):
        raise LedgerError(f"There is no cohort {name!r}.")
    if version < 3:
        why = f"format {version} has no chain yet: it begins with the next spend"
        return Verified(name, execute(tables.READ_LAST, name)[0][0], None, unknown=why)
    try:
        cohort = read_cohort(execute, name, version)
        history = read_receipts(execute, cohort, version)
        links = read_links(execute, name, version)
        written = _rounds(read(*row) for row in execute(tables.READ_LOSSES, name))
    except LedgerError as error:
        return Verified(name, 0, None, (str(error),))
    problems = []
    if links.get(0) != cohort.digest:
        problems.append("the cohort itself (its total, its rule or its date) was altered")
    digest = links.get(0, "")
    for expected, receipt in enumerate(history, 1):
        if receipt.number != expected:
            problems.append(f"#{expected} is missing")
            break
        if receipt.digest != receipt.linked(digest):
            problems.append(f"#{expected} was altered, or the digest before it")
        digest = receipt.digest or ""
    if lone := set(links) - {0} - {receipt.number for receipt in history}:
        problems.append(f"#{min(lone, key=str)} has a digest and no row")
    if written != _rounds(receipt.entry for receipt in history):
        problems.append("the rounds of its spends do not add up to those of its kinds")
    if any(cohort.rule.over(receipt.lost) for receipt in history):
        problems.append("a spend is above the limits of its rule")
    known = frozenset(links.values())
    return Verified(name, len(history), digest or None, tuple(problems), digests=known)


def _rounds(entries: Iterable[Entry]) -> Counter[str]:
    found: Counter[str] = Counter()
    for entry in entries:
        found[entry.text] += entry.rounds
    return found
