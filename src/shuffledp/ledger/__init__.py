"""A durable book of privacy budgets, in SQLite or PostgreSQL."""

from shuffledp.ledger.book import Ledger
from shuffledp.ledger.chain import Verified
from shuffledp.ledger.entries import Entry, Guarantee
from shuffledp.ledger.records import Balance, Receipt
from shuffledp.ledger.rules import Planned, Renyi, Rule, Sum, planned, renyi

__all__ = [
    "Balance",
    "Entry",
    "Guarantee",
    "Ledger",
    "Planned",
    "Receipt",
    "Renyi",
    "Rule",
    "Sum",
    "Verified",
    "planned",
    "renyi",
]
