"""What a store must do; the rest of the ledger is the same for all of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Execute(Protocol):
    """Runs one statement of ``tables``; returns its rows."""

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]: ...


class Store(Protocol):
    """A database that survives a crash."""

    name: str
    """To be shown: without a password."""
    row_lock: str
    """Appended to READ_COHORT where a spend needs the cohort for itself."""
    has_table: str
    """A statement that gives a row if there is a table of this name."""

    def transaction(self, *, write: bool, create: bool = False) -> AbstractContextManager[Execute]:
        """All or nothing. Left without an error, everything is on the disk.

        ``create`` may make the database and the tables. An error while committing is an
        UnknownOutcomeError, any other error of the database a LedgerError.
        """
        ...

    def make_tables(self, execute: Execute) -> None:
        """Those not there yet, also where others do the same at once."""
        ...
