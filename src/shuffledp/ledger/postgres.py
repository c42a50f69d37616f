"""PostgreSQL as the store: a cohort's row is locked while it is spent from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shuffledp.errors import LedgerError, UnknownOutcomeError
from shuffledp.ledger.store import Execute
from shuffledp.ledger.tables import TABLES
from shuffledp.postgres import Server, runner

_MAKING = 7_235_081_402_617_330_021
"""Advisory lock: CREATE TABLE IF NOT EXISTS alone is not safe in two sessions at once."""
_LONGEST = 3_600
"""Seconds after which the server gives up on a spender that holds a cohort and went silent."""


class PostgresStore:
    """Each transaction has its own connection, so threads, forks and restarts are safe."""

    row_lock = " FOR UPDATE"
    has_table = "SELECT 1 WHERE to_regclass(CAST(? AS TEXT)) IS NOT NULL"

    def __init__(self, url: str, timeout: float) -> None:
        self._server = Server(url, timeout, "A ledger")
        self.name, self.timeout = self._server.name, timeout

    @contextmanager
    def transaction(self, *, write: bool, create: bool = False) -> Iterator[Execute]:
        """One connection, one transaction."""
        try:
            connection = self._server.connect(LedgerError, _LONGEST)
        except self._server.psycopg.Error as error:
            raise self._failure(error) from None
        try:
            self._server.isolate(connection, write=write)
            execute = runner(connection)
            if create:
                self.make_tables(execute)
            yield execute
            self._commit(connection)
        except self._server.psycopg.Error as error:
            raise self._failure(error) from None
        finally:
            connection.close()

    def make_tables(self, execute: Execute) -> None:
        """Those not there yet, by one session at a time."""
        execute("SELECT pg_advisory_xact_lock(?)", _MAKING)
        for table in TABLES:
            execute(table)

    def _commit(self, connection: Any) -> None:
        try:
            connection.commit()
        except self._server.psycopg.Error as error:
            raise UnknownOutcomeError(self.name, self._server.said(error)) from None

    def _failure(self, error: Exception) -> LedgerError:
        if isinstance(error, self._server.psycopg.errors.UndefinedTable):
            return LedgerError(f"There is no ledger in {self.name} yet.")
        return LedgerError(f"The ledger {self.name} cannot be used: {self._server.said(error)}.")
