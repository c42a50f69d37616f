"""Training releases booked in a ledger, beside everything else its cohort has lost."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.ledger import Guarantee, Ledger
from shuffledp.protocols import Shuffled
from shuffledp.training.accounting import Account


@dataclass(frozen=True)
class LedgerBook:
    """The book of one run, named ``run``, within a cohort; spends that do not fit are refused."""

    ledger: Ledger
    cohort: str
    run: str
    account: Account

    def spend(self, releases: int) -> None:
        """Record what is missing up to ``releases``; repeating it records nothing."""
        missing = releases - self.total()
        if missing > 0:
            what: Shuffled | Guarantee = self.account.spendable
            key = f"{self.run}:{releases}"
            self.ledger.spend(self.cohort, what, missing, label=self.run, key=key)

    def total(self) -> int:
        """How many releases of this run are recorded."""
        receipts = self.ledger.history(self.cohort)
        return sum(receipt.entry.rounds for receipt in receipts if receipt.label == self.run)
