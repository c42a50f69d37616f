"""Training releases booked in a ledger, beside everything else its cohort has lost."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.protocols import Shuffled
from shuffledp.errors import LedgerError
from shuffledp.ledger import Entry, Guarantee, Ledger
from shuffledp.ledger.claims import marked
from shuffledp.training.accounting import Account


@dataclass(frozen=True)
class LedgerBook:
    """The book of one run, named ``run``, within a cohort; spends that do not fit are refused.

    A name is for one run only: what others have recorded under it is not taken for this one's.
    """

    ledger: Ledger
    cohort: str
    run: str
    account: Account
    uncovered: str = ""
    """What the run shows that no guarantee covers."""

    def spend(self, releases: int) -> None:
        """Record what is missing up to ``releases``; repeating it records nothing."""
        missing = releases - self.total()
        if missing > 0:
            what: Shuffled | Guarantee = self.account.spendable
            key = f"{self.run}:{releases}"
            self.ledger.spend(
                self.cohort, what, missing, label=self.run, key=key, uncovered=self.uncovered
            )

    def total(self) -> int:
        """How many releases of this run are recorded."""
        ours, total = Entry.of(self.account.spendable, 1).text, 0
        labels = (self.run, marked(self.run, self.uncovered))
        for receipt in self.ledger.history(self.cohort):
            if receipt.label not in labels or not (receipt.key or "").startswith(f"{self.run}:"):
                continue
            if receipt.entry.text != ours:
                raise LedgerError(
                    f"The ledger knows a run {self.run!r} of other settings ({receipt.entry.what})."
                    " Take another name."
                )
            total += receipt.entry.rounds
        return total
