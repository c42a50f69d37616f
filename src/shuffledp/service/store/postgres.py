"""PostgreSQL as the store: for several shuffler processes at once.

A task's row is locked while reports are added to it, so that they are counted one group after
another, and a batch is closed between two groups.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from shuffledp.errors import BusyError, ServiceError
from shuffledp.postgres import Server, runner
from shuffledp.service.store import tables
from shuffledp.service.store.base import Execute, Store

_MAKING = 7_235_081_402_617_330_022
_RELEASING = 7_235_081_402_617_330_023
"""Advisory locks."""
_LONGEST = 600
"""Seconds after which the server gives up on a process that holds a task and went silent."""


class PostgresStore(Store):
    """For many machines."""

    bytes_type = "BYTEA"
    unordered = ""
    row_lock = " FOR UPDATE"

    def __init__(self, url: str, timeout: float = 60.0) -> None:
        self._server = Server(url, timeout, "A store")
        self.name, self.timeout = self._server.name, timeout
        self._kept: Any = None
        self._lock = threading.Lock()

    @contextmanager
    def transaction(
        self, *, write: bool = True, create: bool = False, kept: bool = False
    ) -> Iterator[Execute]:
        try:
            with self._connection(kept) as connection:
                self._server.isolate(connection, write=write)
                execute = runner(connection, binary=True)
                try:
                    if create:
                        execute("SELECT pg_advisory_xact_lock(?)", _MAKING)
                        for table in tables.TABLES:
                            execute(self._sql(table))
                    yield execute
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
        except self._server.psycopg.errors.UndefinedTable:
            raise ServiceError(f"There is no store in {self.name} yet.") from None
        except self._server.psycopg.Error as error:
            raise self._failure(error) from None

    @contextmanager
    def _connection(self, kept: bool) -> Iterator[Any]:
        if not kept:
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()
            return
        with self._lock:
            if self._kept is None or self._kept.closed:
                self._kept = self._connect()
            try:
                yield self._kept
            except BaseException:
                self._kept.close()
                self._kept = None
                raise

    def _connect(self) -> Any:
        return self._server.connect(ServiceError, _LONGEST)

    def _failure(self, error: Exception) -> ServiceError:
        return ServiceError(f"The store {self.name} cannot be used: {self._server.said(error)}.")

    def _alone(self, execute: Execute) -> None:
        execute("SELECT pg_advisory_xact_lock(?)", _MAKING)

    def _new(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        sql = (
            f"INSERT INTO shuffledp_seen_{int(task)} SELECT UNNEST(CAST(? AS BYTEA[]))"
            " ON CONFLICT DO NOTHING RETURNING id"
        )
        return {bytes(name) for (name,) in execute(sql, sorted(names))}

    def _known(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        sql = f"SELECT id FROM shuffledp_seen_{int(task)} WHERE id = ANY(CAST(? AS BYTEA[]))"
        return {bytes(name) for (name,) in execute(sql, list(names))}

    def _stream(self, number: int) -> Iterator[tuple[int, bytes]]:
        try:
            with (
                self._connection(False) as connection,
                connection.cursor("shuffledp_chunks", binary=True) as cursor,
            ):
                cursor.itersize = 64
                cursor.execute(self._sql(tables.READ_CHUNKS, number))
                for size, content in cursor:
                    yield size, bytes(content)
        except self._server.psycopg.Error as error:
            raise self._failure(error) from None

    def _empty(self, number: int) -> None:
        """Nothing: a table's files go when it is dropped."""

    def _has_table(self, execute: Execute, name: str) -> bool:
        return bool(execute("SELECT 1 WHERE to_regclass(CAST(? AS TEXT)) IS NOT NULL", name))

    def scrub(self) -> bool:
        """The server removes the files of tables with the commit; its own log is the operator's."""
        return True

    @contextmanager
    def releasing(self) -> Iterator[None]:
        """A lock of the session: it goes when the process does."""
        try:
            with self._connection(False) as connection:
                connection.autocommit = True
                sql = "SELECT pg_try_advisory_lock(%s)"
                if not connection.execute(sql, (_RELEASING,)).fetchone()[0]:
                    raise BusyError("Another process is releasing from this store.")
                try:
                    yield
                finally:  # at once: the server notices the end of a session a little later
                    with suppress(self._server.psycopg.Error):
                        connection.execute("SELECT pg_advisory_unlock(%s)", (_RELEASING,))
        except self._server.psycopg.Error as error:
            raise self._failure(error) from None

    def close(self) -> None:
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None
