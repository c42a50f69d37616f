"""The embedded store: one SQLite file, write-ahead log, synced at every commit,
deletions overwritten."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from shuffledp.errors import BusyError, ServiceError
from shuffledp.service.store import tables
from shuffledp.service.store.base import Execute, Store
from shuffledp.service.wire import REPORT_ID

_PAGES = 8192
"""Of the log, before it is written back: a page is written once for many commits."""
_CHUNKS = 64
"""Chunks deleted at a time."""
_NAMES = (
    "WITH RECURSIVE places (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM places WHERE i + 1 < ?1),"
    f" names (name) AS (SELECT SUBSTR(?2, {REPORT_ID} * i + 1, {REPORT_ID}) FROM places)"
)
"""The names of so many reports that are given one after another: the same text for any number."""
_ADD = _NAMES + " INSERT OR IGNORE INTO shuffledp_seen_{number} SELECT name FROM names RETURNING id"
_KNOWN = _NAMES + " SELECT id FROM names JOIN shuffledp_seen_{number} ON id = name"


class SQLiteStore(Store):
    """For one machine."""

    bytes_type = "BLOB"
    unordered = " WITHOUT ROWID"
    row_lock = ""  # a writing transaction has the whole file for itself
    settings: tuple[str, ...] = (
        "synchronous = FULL",
        "fullfsync = ON",
        "secure_delete = ON",
        "cache_size = -65536",
        f"wal_autocheckpoint = {_PAGES}",
    )

    def __init__(self, path: str | Path, timeout: float = 60.0) -> None:
        self.name, self.timeout = str(path), timeout
        self._path = Path(path).absolute()
        self._kept: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @contextmanager
    def transaction(
        self, *, write: bool = True, create: bool = False, kept: bool = False
    ) -> Iterator[Execute]:
        try:
            with self._connection(create, kept) as connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

                def execute(sql: str, *values: object) -> list[tuple[Any, ...]]:
                    return connection.execute(sql, values).fetchall()

                try:
                    if create:
                        self._check_ours(execute)
                        for table in tables.TABLES:
                            execute(self._sql(table))
                    yield execute
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            if not create and "no such table: shuffledp_service" in str(error):
                raise ServiceError(f"There is no store in {self.name} yet.") from error
            raise ServiceError(f"The store {self.name} cannot be used: {error}.") from error

    @contextmanager
    def _connection(self, create: bool, kept: bool) -> Iterator[sqlite3.Connection]:
        if not kept:
            with closing(self._connect(create)) as connection:
                yield connection
            return
        with self._lock:
            if self._kept is None:
                self._kept = self._connect(create)
            try:
                yield self._kept
            except BaseException:
                self._kept.close()  # whatever state it is in
                self._kept = None
                raise

    def _connect(self, create: bool) -> sqlite3.Connection:
        if create:
            self._make_file()
        uri = f"{self._path.as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=self.timeout, isolation_level=None, check_same_thread=False
        )
        try:
            for setting in self.settings:
                connection.execute(f"PRAGMA {setting}")
            if create:
                connection.execute("PRAGMA journal_mode = WAL")
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            if mode != "wal":
                raise ServiceError(f"{self.name} is not a store with a write-ahead log.")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_file(self) -> None:
        """One that only its owner may read; SQLite gives its logs the same mode."""
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise ServiceError(
                f"The store {self.name} cannot be made: {error.strerror}."
            ) from error

    def _check_ours(self, execute: Execute) -> None:
        names = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if names and "shuffledp_service" not in names:
            raise ServiceError(
                f"{self.name} is a database of another program. Give the store a file of its own."
            )

    def _new(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        sql = self._sql(_ADD, task)
        return {name for (name,) in execute(sql, len(names), b"".join(sorted(names)))}

    def _known(self, execute: Execute, task: int, names: Sequence[bytes]) -> set[bytes]:
        return {name for (name,) in execute(self._sql(_KNOWN, task), len(names), b"".join(names))}

    def _stream(self, number: int) -> Iterator[tuple[int, bytes]]:
        try:
            with closing(self._connect(False)) as connection:
                yield from connection.execute(self._sql(tables.READ_CHUNKS, number))
        except sqlite3.Error as error:
            raise ServiceError(f"The store {self.name} cannot be used: {error}.") from error

    def _empty(self, number: int) -> None:
        """A little at a time: what is overwritten goes through the log."""
        name = f"shuffledp_chunks_{number}"
        some = f"SELECT place FROM {name} LIMIT {_CHUNKS}"
        while True:
            with self.transaction() as execute:
                if not execute(f"DELETE FROM {name} WHERE place IN ({some}) RETURNING 1"):
                    return

    def _has_table(self, execute: Execute, name: str) -> bool:
        return bool(execute("SELECT 1 FROM sqlite_master WHERE name = ?", name))

    def scrub(self) -> bool:
        """Write the log back and empty it; it cannot be emptied while somebody reads from it."""
        end = time.monotonic() + min(self.timeout, 10.0)
        while True:
            try:
                with closing(self._connect(False)) as connection:
                    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error as error:
                raise ServiceError(f"The store {self.name} cannot be used: {error}.") from error
            if not busy:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)

    @contextmanager
    def releasing(self) -> Iterator[None]:
        lock = os.open(f"{self._path}-release", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BusyError("Another process is releasing from this store.") from error
            yield
        finally:
            os.close(lock)

    def close(self) -> None:
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None
