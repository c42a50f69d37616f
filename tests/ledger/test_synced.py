"""A trace of system calls: every acknowledged spend was on the disk first.

Being killed does not test this: what a process wrote survives it in the system's memory. A commit
counts as synced if a file of the database was synced since the last acknowledgement, and nothing
written to one since is unsynced.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from shuffledp.ledger import Guarantee, Ledger
from tests import tracer
from tests.cluster import USER, cluster

SPENDS = 5
_SPENDER = """
import os, sys
from shuffledp.ledger import Guarantee, Ledger
from shuffledp.ledger.sqlite import SQLiteStore
ledger = Ledger.open(sys.argv[1])
if sys.argv[3] == "careless":
    connect = SQLiteStore._connect
    def careless(self, create):
        connection = connect(self, create)
        connection.execute("PRAGMA synchronous = OFF")
        return connection
    SQLiteStore._connect = careless
file = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY)
for _ in range(int(sys.argv[4])):
    os.write(file, b"%d\\n" % ledger.spend("users", Guarantee("0.01")).number)
"""


def _verdicts(
    log: Path, acknowledges: Callable[[dict[str, str]], bool], durable: Callable[[str], bool]
) -> list[bool]:
    """For each acknowledgement: was everything synced first?"""
    verdicts, synced = [], False
    dirty: set[str] = set()
    for event in map(json.loads, log.read_text().splitlines()):
        if acknowledges(event):
            verdicts.append(synced and not dirty)
            synced = False
        elif not durable(event["path"]):
            continue
        elif event["call"] == "write":
            dirty.add(event["path"])
        elif event["call"] == "sync":
            dirty.discard(event["path"])
            synced = True
    return verdicts


@pytest.mark.parametrize("manner", ["careful", "careless"])
def test_sqlite_syncs_before_the_receipt(tmp_path: Path, manner: str) -> None:
    """The careless one, a negative control, must be found out."""
    book, receipts, log = tmp_path / "book.db", tmp_path / "receipts", tmp_path / "log"
    Ledger.open(book).create("users", "1", "0")
    program = [sys.executable, "-c", _SPENDER, str(book), str(receipts), manner, str(SPENDS)]
    subprocess.run(
        [sys.executable, tracer.__file__, str(log), str(os.geteuid()), *program], check=True
    )
    assert len(receipts.read_text().splitlines()) == SPENDS
    files = {str(book), f"{book}-wal"}
    verdicts = _verdicts(
        log, lambda event: event["path"] == str(receipts), lambda path: path in files
    )
    assert verdicts == [manner == "careful"] * SPENDS


def test_postgresql_syncs_before_the_commit_is_answered() -> None:
    """The server's own system calls; sessions with asynchronous commits are the control."""
    commit = "C\0\0\0\x0bCOMMIT\0"
    with cluster(sys.executable, tracer.__file__, "trace", str(USER)) as running:
        url = running.database("traced")
        ledger = Ledger.open(url)
        ledger.create("users", "1", "0")
        log = running.folder / "trace"

        def verdicts_of(work: Callable[[], object]) -> list[bool]:
            before = os.stat(log).st_size
            work()
            part = running.folder / "part"
            part.write_bytes(log.read_bytes()[before:])
            return _verdicts(
                part,
                lambda event: event["call"] == "send" and event["start"].startswith(commit),
                lambda path: "/pg_wal/" in path,
            )

        def careless() -> None:
            with psycopg.connect(url) as connection:
                connection.execute("SET synchronous_commit = off")
                connection.execute("UPDATE shuffledp_cohorts SET created = 'never'")

        for _ in range(SPENDS):
            assert verdicts_of(lambda: ledger.spend("users", Guarantee("0.01"))) == [True]
        # the server's own writer may come by in the middle of one, not of all
        assert [False] in [verdicts_of(careless) for _ in range(SPENDS)]
