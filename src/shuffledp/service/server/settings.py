"""The configuration of a shuffler: one TOML file, and the environment over it."""

from __future__ import annotations

import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.files import write_whole

PREFIX = "SHUFFLEDP_SHUFFLER_"
_PATHS = ("keys", "outbox", "token_file")
_PLACES = ("store", "ledger")
_SHORTEST_TOKEN = 32


@dataclass(frozen=True)
class Settings:
    """What a shuffler needs to know. Paths are relative to the file that names them."""

    listen: str = "127.0.0.1:8572"
    """Address and port; port 0 is any free one."""
    store: str = "shuffler.db"
    """An SQLite file, or postgresql://..."""
    ledger: str = "ledger.db"
    """Who pays: an SQLite file, or postgresql://..."""
    keys: str = "keys"
    """Folder of private keys."""
    outbox: str = "outbox"
    """Folder of released batches."""
    token_file: str = "admin.token"
    """The administrator's token; SHUFFLEDP_SHUFFLER_TOKEN takes its place."""
    release_every: float = 0.0
    """Seconds between releases of every task that has enough reports; 0: by command only."""
    retention: float = 604800.0
    """Seconds for which a task that has expired can still be released from."""
    body: int = 1 << 20
    """Most bytes of one upload."""
    patience: float = 10.0
    """Seconds a request may take to arrive."""
    waiting: int = 20_000
    """Reports that may wait to be stored, before requests are refused."""
    connections: int = 1000
    """Open at once; the next ones are closed."""
    memory: int = 256
    """MiB for a batch that is permuted, beside what the program itself needs."""

    def __post_init__(self) -> None:
        for name in ("retention", "release_every"):
            checks.non_negative(name, getattr(self, name))
        checks.positive("patience", self.patience)
        for name in ("body", "waiting", "connections", "memory"):
            checks.whole(name, getattr(self, name), 1)
        self.address  # noqa: B018

    @property
    def address(self) -> tuple[str, int]:
        """Where to listen."""
        host, _, port = self.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdigit() or int(port) > 65535:
            raise ParameterError(
                "listen", "an address and a port, as in 127.0.0.1:8572", self.listen
            )
        return host, int(port)

    @property
    def url(self) -> str:
        """Where a program on this machine finds the service."""
        host, port = self.address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def token(self) -> str | None:
        """The administrator's token, from the environment or a file that its owner
        alone can read."""
        if given := os.environ.get(f"{PREFIX}TOKEN"):
            return _long_enough(given.strip(), f"in {PREFIX}TOKEN")
        path = Path(self.token_file)
        if not path.exists():
            return None
        if mode := stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ParameterError(
                "token_file", "of mode 0600: others can read this one", f"{path} ({mode:03o})"
            )
        return _long_enough(path.read_text().strip(), f"in {path}")

    def make_token(self) -> Path:
        """A new token, in its file."""
        path = Path(self.token_file)
        if os.path.lexists(path):
            raise ParameterError("token_file", "a new file", str(path))
        write_whole("token_file", path, secrets.token_urlsafe(32).encode() + b"\n", private=True)
        return path

    @classmethod
    def read(
        cls, path: str | Path | None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """From a file, if there is one, and the environment over it."""
        folder = Path.cwd() if path is None else Path(path).absolute().parent
        given: dict[str, Any] = {} if path is None else _parsed(Path(path))
        kinds = {field.name: type(field.default) for field in fields(cls)}
        for name in given:
            if name not in kinds:
                raise ParameterError("config", f"with {', '.join(kinds)} only", name)
        for name, kind in kinds.items():
            text = (os.environ if environment is None else environment).get(PREFIX + name.upper())
            if text is not None:
                given[name] = _typed(name, text, kind)
            value = given.get(name)
            if kind is float and type(value) is int:
                given[name] = float(value)
            elif value is not None and type(value) is not kind:
                raise ParameterError("config", f"with {name} of type {kind.__name__}", value)
        return cls(**_resolved(cls(**given), folder))


def _resolved(settings: Settings, folder: Path) -> dict[str, Any]:
    found = {field.name: getattr(settings, field.name) for field in fields(settings)}
    for name in (*_PATHS, *_PLACES):
        if "://" not in found[name]:
            found[name] = str(folder / found[name])
    return found


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(
            "config", "a file that can be read", f"{path} ({error.strerror or error})"
        ) from error
    except ValueError as error:
        raise ParameterError("config", "a TOML file", f"{path} ({error})") from error


def _typed(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ParameterError(f"{PREFIX}{name.upper()}", f"of type {kind.__name__}", text) from None


def _long_enough(token: str, where: str) -> str:
    if len(token) < _SHORTEST_TOKEN or not token.isascii():
        raise ParameterError(
            "token", f"of at least {_SHORTEST_TOKEN} characters ({where})", f"{len(token)} of them"
        )
    return token
