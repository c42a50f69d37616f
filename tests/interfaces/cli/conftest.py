"""Every test of the book's command runs on both stores."""

from tests.ledger.conftest import store

__all__ = ["store"]
