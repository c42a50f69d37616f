"""A PostgreSQL server that tables are kept on, by psycopg 3: sessions that sync, errors without
passwords, and one way to run statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.errors import MissingExtraError, ParameterError, ShuffleDPError

Rows = list[tuple[Any, ...]]


class Server:
    """Where it is, as a URL says; ``what`` is kept there ("A ledger")."""

    def __init__(self, url: str, timeout: float, what: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtraError("postgres", f"{what} in PostgreSQL") from error
        self.psycopg: Any = psycopg
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            raise ParameterError(
                "store", "a path or postgresql://user@host/database", "an unreadable URL"
            ) from None
        self._url, self._timeout = url, timeout
        self._secrets = [str(v) for k, v in given.items() if "password" in k and v]
        host, port = given.get("host", ""), given.get("port", "")
        self.name = f"postgresql://{host}{f':{port}' if port else ''}/{given.get('dbname', '')}"
        """To be shown: without a password."""

    def connect(self, failure: type[ShuffleDPError], longest: int) -> Any:
        """A session that syncs, and waits for others no longer than we were told; the server gives
        up on it once it has been silent in a transaction for ``longest`` seconds."""
        connection = self.psycopg.connect(
            self._url, connect_timeout=max(2, int(self._timeout)), autocommit=True
        )
        try:
            if connection.execute("SHOW fsync").fetchone()[0] != "on":
                raise failure(f"The server of {self.name} runs with fsync off: it may forget.")
            if connection.execute("SHOW synchronous_commit").fetchone()[0] == "off":
                connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{int(1000 * self._timeout)}ms'")
            connection.execute(f"SET idle_in_transaction_session_timeout = '{longest}s'")
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection

    def isolate(self, connection: Any, *, write: bool) -> None:
        """For the next transaction. Whoever writes must see, once it has a row for itself, what was
        committed while it waited; whoever reads sees one moment."""
        level = self.psycopg.IsolationLevel
        connection.isolation_level = level.READ_COMMITTED if write else level.REPEATABLE_READ
        connection.read_only = not write

    def said(self, error: Exception) -> str:
        """The server's words in one line, without a password; what it says of single rows is left
        out."""
        primary = error.diag.message_primary if isinstance(error, self.psycopg.Error) else None
        text = " ".join((primary or str(error)).split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def runner(connection: Any, *, binary: bool = False) -> Callable[..., Rows]:
    """Runs one statement, whose values stand as ``?``; returns its rows."""

    def execute(sql: str, *values: object) -> Rows:
        cursor = connection.execute(sql.replace("?", "%s"), values or None, binary=binary)
        return cursor.fetchall() if cursor.description else []

    return execute
