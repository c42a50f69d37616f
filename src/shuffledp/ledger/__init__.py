"""A durable book of privacy budgets, in SQLite or PostgreSQL."""

from shuffledp.ledger.book import Balance, Ledger, Receipt
from shuffledp.ledger.entries import Entry, Guarantee
from shuffledp.ledger.losses import Loss

__all__ = ["Balance", "Entry", "Guarantee", "Ledger", "Loss", "Receipt"]
