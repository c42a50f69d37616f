"""PostgreSQL as the store, by psycopg 3: a cohort's row is locked while it is spent from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shuffledp.errors import LedgerError, MissingExtraError, ParameterError, UnknownOutcomeError
from shuffledp.ledger.store import Execute
from shuffledp.ledger.tables import TABLES

if TYPE_CHECKING:
    import psycopg

_MAKING = 7_235_081_402_617_330_021
"""Advisory lock: CREATE TABLE IF NOT EXISTS alone is not safe in two sessions at once."""
_LONGEST = 3_600
"""Seconds after which the server gives up on a spender that holds a cohort and went silent."""


class PostgresStore:
    """Each transaction has its own connection, so threads, forks and restarts are safe."""

    row_lock = " FOR UPDATE"
    has_table = "SELECT 1 WHERE to_regclass(CAST(? AS TEXT)) IS NOT NULL"

    def __init__(self, url: str, timeout: float) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtraError("postgres", "A ledger in PostgreSQL") from error
        self._psycopg: Any = psycopg
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            raise ParameterError(
                "store", "a path or postgresql://user@host/database", "an unreadable URL"
            ) from None
        self._url, self.timeout = url, timeout
        self._secrets = [str(v) for k, v in given.items() if "password" in k and v]
        host, port = given.get("host", ""), given.get("port", "")
        self.name = f"postgresql://{host}{f':{port}' if port else ''}/{given.get('dbname', '')}"

    @contextmanager
    def transaction(self, *, write: bool, create: bool = False) -> Iterator[Execute]:
        """One connection, one transaction."""
        try:
            connection = self._psycopg.connect(self._url, connect_timeout=max(2, int(self.timeout)))
        except self._psycopg.Error as error:
            raise self._failure(error) from None
        try:
            execute = _runner(connection)
            level = self._psycopg.IsolationLevel
            # a spender must see, once it has the row, what was committed while it waited
            connection.isolation_level = level.READ_COMMITTED if write else level.REPEATABLE_READ
            connection.read_only = not write
            self._settle(execute)
            if create:
                self.make_tables(execute)
            yield execute
            self._commit(connection)
        except self._psycopg.Error as error:
            raise self._failure(error) from None
        finally:
            connection.close()

    def make_tables(self, execute: Execute) -> None:
        """Those not there yet, by one session at a time."""
        execute("SELECT pg_advisory_xact_lock(?)", _MAKING)
        for table in TABLES:
            execute(table)

    def _settle(self, execute: Execute) -> None:
        """Insist on a server that syncs, and wait no longer than we were told."""
        if execute("SHOW fsync")[0][0] != "on":
            raise LedgerError(f"The server of {self.name} runs with fsync off: it may forget.")
        if execute("SHOW synchronous_commit")[0][0] == "off":
            execute("SET LOCAL synchronous_commit = on")
        execute(f"SET LOCAL lock_timeout = '{int(1000 * self.timeout)}ms'")
        execute(f"SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST}s'")

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        try:
            connection.commit()
        except self._psycopg.Error as error:
            raise UnknownOutcomeError(self.name, self._clean(error)) from None

    def _failure(self, error: Exception) -> LedgerError:
        if isinstance(error, self._psycopg.errors.UndefinedTable):
            return LedgerError(f"There is no ledger in {self.name} yet.")
        return LedgerError(f"The ledger {self.name} cannot be used: {self._clean(error)}.")

    def _clean(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _runner(connection: psycopg.Connection[Any]) -> Execute:
    def execute(sql: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = connection.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    return execute
