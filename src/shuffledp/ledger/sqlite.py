"""The embedded store: one SQLite file, write-ahead log, synced at every commit."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from shuffledp.errors import LedgerError, UnknownOutcomeError
from shuffledp.ledger.store import Execute
from shuffledp.ledger.tables import TABLES

_SMALLEST = 512
"""Bytes of a page: SQLite overwrites what is shorter."""


class SQLiteStore:
    """Each transaction has its own connection, so threads and forks are safe."""

    row_lock = ""  # a writing transaction has the whole file for itself
    has_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"

    def __init__(self, path: str | Path, timeout: float) -> None:
        self.name, self.timeout = str(path), timeout
        self._path = Path(path).absolute()

    @contextmanager
    def transaction(self, *, write: bool, create: bool = False) -> Iterator[Execute]:
        """One connection, one transaction."""
        try:
            with closing(self._connect(create)) as connection:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

                def execute(sql: str, *values: object) -> list[tuple[Any, ...]]:
                    return connection.execute(sql, values).fetchall()

                if create:
                    self.make_tables(execute)
                yield execute
                self._commit(connection)
        except sqlite3.Error as error:
            if not create and (self._missing() or "no such table" in str(error)):
                raise LedgerError(f"There is no ledger in {self.name} yet.") from error
            raise LedgerError(f"The ledger {self.name} cannot be used: {error}.") from error

    def make_tables(self, execute: Execute) -> None:
        """Those not there yet."""
        for table in TABLES:
            execute(table)

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise UnknownOutcomeError(self.name, str(error)) from error

    def _missing(self) -> bool:
        try:
            os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # somewhere we may not look
            return False
        return False

    def _make_file(self) -> None:
        """An empty file that only its owner may read. SQLite gives its logs the same mode, and
        syncs the folder with the first of them. A file that holds something else is left as it
        is."""
        try:
            try:
                handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            except FileExistsError:
                self._take_file()
                return
            try:
                os.fchmod(handle, 0o600)  # whatever the umask took away
            finally:
                os.close(handle)
        except OSError as error:
            reason = f"unable to open database file ({error.strerror})"
            raise LedgerError(f"The ledger {self.name} cannot be used: {reason}.") from error

    def _take_file(self) -> None:
        """One that is there. It is not opened: to close it would take away SQLite's locks on it."""
        found = os.stat(self._path)
        if not stat.S_ISREG(found.st_mode):
            return
        if found.st_size == 0:
            os.chmod(self._path, 0o600)
        elif found.st_size < _SMALLEST:
            raise LedgerError(f"The ledger {self.name} cannot be used: file is not a database.")

    def _connect(self, create: bool) -> sqlite3.Connection:
        if create:
            self._make_file()
        uri = f"{self._path.as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=self.timeout, isolation_level=None)
        try:
            self._check_one_name()
            for setting in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {setting}")
            mode = self._write_ahead(connection) if create else _pragma(connection, "journal_mode")
            if mode != "wal":
                raise LedgerError(f"{self.name} is not a ledger with a write-ahead log.")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_one_name(self) -> None:
        """SQLite names the log after the path: by another hard link others' spends are not seen."""
        with suppress(OSError):  # what cannot be looked at cannot be opened either
            names = os.stat(self._path).st_nlink
            if names > 1:
                raise LedgerError(
                    f"{self.name} is one of {names} hard links to a file,"
                    " each with a log of its own."
                    " A ledger must have one name (symbolic links do no harm)."
                )

    def _write_ahead(self, connection: sqlite3.Connection) -> Any:
        """SQLite does not wait by itself while another process makes the same file."""
        end = time.monotonic() + self.timeout
        while True:
            try:
                self._check_ours(connection)
                return _pragma(connection, "journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _check_ours(self, connection: sqlite3.Connection) -> None:
        """A database of another program is left as it is, its journal too."""
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if names and "shuffledp_ledger" not in names:
            raise LedgerError(
                f"{self.name} is a database of another program. Give the ledger a file of its own."
            )


def _pragma(connection: sqlite3.Connection, text: str) -> Any:
    return connection.execute(f"PRAGMA {text}").fetchone()[0]
