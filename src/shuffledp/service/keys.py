"""Files of keys: each its owner's alone, none overwritten; and the keys of a shuffler in turn.

A shuffler's folder holds ``ring.json``, which names every key it ever had, and a file for each that
it still accepts. Exactly one is current: new tasks are sealed to it. The others stay accepted while
tasks name them, and are then retired: their files are destroyed, their names are kept.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from shuffledp.errors import LostKeyError, ParameterError, ServiceError
from shuffledp.files import write_whole
from shuffledp.service.sealing import PrivateKey, PublicKey

_RING = "ring.json"
CURRENT = "current.pub"
"""The public key that new tasks are to name."""
_PROTOCOL = "shuffledp-keys-1"


def write_private(path: str | Path, key: PrivateKey) -> None:
    """A new file of mode 0600."""
    target = Path(path)
    if os.path.lexists(target):
        raise ParameterError("out", "a new file: a key is never written over", str(path))
    write_whole("out", target, key.pem(), private=True)


def read_private(path: str | Path) -> PrivateKey:
    """The key in a file that its owner alone can read."""
    try:
        with Path(path).open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(1 << 16)
    except OSError as error:
        raise ParameterError(
            "key", "a file that can be read", f"{path} ({error.strerror or error})"
        ) from error
    if mode & 0o077:
        raise ParameterError(
            "key", "a file of mode 0600: others can read this one", f"{path} (mode {mode:04o})"
        )
    try:
        return PrivateKey.from_pem(content)
    except ValueError:
        raise ParameterError("key", "a private X25519 key in PEM", str(path)) from None


def write_public(path: str | Path, key: PublicKey) -> None:
    """For everybody."""
    write_whole("out", Path(path), key.raw.hex().encode() + b"\n")


def read_public(path: str | Path) -> PublicKey:
    """A public key in hexadecimal."""
    try:
        text = Path(path).read_bytes()[: 1 << 16].decode().strip()
        return PublicKey.from_hex(text)
    except OSError as error:
        raise ParameterError(
            "key", "a file that can be read", f"{path} ({error.strerror or error})"
        ) from error
    except ValueError:  # nothing of it is shown: it may be a private one
        raise ParameterError("key", "a file of a public key", str(path)) from None


class State(StrEnum):
    """What becomes of reports that are sealed to a key."""

    CURRENT = "current"
    ACCEPTED = "accepted"
    RETIRED = "retired"


@dataclass(frozen=True)
class _Listed:
    public: PublicKey
    state: State


class KeyRing:
    """The keys of a shuffler, read from its folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._listed: tuple[_Listed, ...] = ()
        self._private: dict[bytes, PrivateKey] = {}
        self._read: object = None
        self.refresh()

    @property
    def current(self) -> PublicKey:
        """To which new tasks are sealed."""
        for each in self._listed:
            if each.state is State.CURRENT:
                return each.public
        raise ServiceError(
            f"There is no key in {self.folder} yet: `shuffledp shuffler keygen` makes one."
        )

    def private(self, key_id: bytes) -> PrivateKey | None:
        """The key of that name, if reports sealed to it are accepted."""
        self.refresh()  # made or retired by another process
        return self._private.get(key_id)

    def accepted(self) -> list[PrivateKey]:
        """All that are accepted, the current one first."""
        self.refresh()
        return [
            self._private[each.public.id]
            for each in self._listed
            if each.public.id in self._private
        ]

    def state(self, key_id: bytes) -> State | None:
        """None for a key it never had."""
        return next((each.state for each in self._listed if each.public.id == key_id), None)

    @property
    def lost(self) -> list[bytes]:
        """Keys that were never retired, and are gone all the same."""
        return [
            each.public.id
            for each in self._listed
            if each.state is not State.RETIRED and each.public.id not in self._private
        ]

    def check_kept(self, key_id: bytes) -> None:
        """That what is sealed to this key can be opened."""
        self.refresh()
        if key_id in self._private:
            return
        why = {
            None: "this shuffler never had it",
            State.RETIRED: "it was retired, and its file destroyed",
        }.get(self.state(key_id), f"its file is no longer in {self.folder}")
        raise LostKeyError(
            f"The key {key_id.hex()} is lost: {why}. Reports sealed to it can never be opened;"
            " devices"
            " are told to use another key of their task, if it names one."
        )

    def published(self) -> list[dict[str, str]]:
        """What everybody may know."""
        return [
            {"id": each.public.id.hex(), "public": each.public.raw.hex(), "state": str(each.state)}
            for each in self._listed
        ]

    def rotate(self) -> PublicKey:
        """A new current key; the one before stays accepted."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._changing():
            made = PrivateKey.generate()
            write_private(self._file(made.public.id), made)
            before = [
                replace(each, state=State.ACCEPTED) if each.state is State.CURRENT else each
                for each in self._listed
            ]
            self._write([_Listed(made.public, State.CURRENT), *before])
        return made.public

    def retire(self, key_id: bytes) -> None:
        """Reports sealed to this key are no longer accepted; its file is destroyed."""
        with self._changing():
            self._retire(key_id)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """For one process at a time, or one would undo what another does to the list."""
        try:
            handle = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise ParameterError(
                "keys", "a folder that can be read", f"{self.folder} ({error.strerror})"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self.refresh()
            yield
        finally:
            os.close(handle)

    def _retire(self, key_id: bytes) -> None:
        if self.state(key_id) is None:
            raise ParameterError("id", "the name of a key of this shuffler", key_id.hex())
        if self.state(key_id) is State.CURRENT:
            raise ParameterError(
                "id",
                "of a key that is not current (`shuffledp shuffler keygen` makes a new one)",
                key_id.hex(),
            )
        self._write(
            [
                replace(each, state=State.RETIRED) if each.public.id == key_id else each
                for each in self._listed
            ]
        )
        _destroy(self._file(key_id))
        self.refresh()

    def refresh(self) -> bool:
        """Read the folder again if it has changed; whether it had."""
        path = self.folder / _RING
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ParameterError(
                "keys", "a folder that can be read", f"{self.folder} ({error.strerror})"
            ) from error
        mark = (found.st_ino, found.st_mtime_ns, found.st_size)
        if mark == self._read:
            return False
        listed = _listed(path)
        private = {}
        for each in listed:
            file = self._file(each.public.id)
            if each.state is not State.RETIRED and file.exists():
                key = read_private(file)
                if key.public != each.public:
                    raise ServiceError(f"{file} holds another key than {path} says.")
                private[each.public.id] = key
        self._listed, self._private, self._read = listed, private, mark
        return True

    def _file(self, key_id: bytes) -> Path:
        return self.folder / f"{key_id.hex()}.pem"

    def _write(self, listed: list[_Listed]) -> None:
        keys = [{"public": each.public.raw.hex(), "state": str(each.state)} for each in listed]
        text = json.dumps({"protocol": _PROTOCOL, "keys": keys}, indent=1)
        write_whole("keys", self.folder / _RING, text.encode() + b"\n", private=True)
        self.refresh()
        write_public(self.folder / CURRENT, self.current)


def _listed(path: Path) -> tuple[_Listed, ...]:
    """What a ring file says, or an error that says what is wrong with it."""
    try:
        data: Any = json.loads(path.read_bytes())
        if data["protocol"] != _PROTOCOL:
            raise ValueError("of another version")
        found = tuple(
            _Listed(PublicKey.from_hex(each["public"]), State(each["state"]))
            for each in data["keys"]
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ServiceError(f"The list of keys {path} cannot be read: {error}.") from error
    if sum(each.state is State.CURRENT for each in found) != 1:
        raise ServiceError(f"The list of keys {path} must have exactly one current key.")
    return found


def _destroy(path: Path) -> None:
    """Overwritten, then removed; what the disk keeps of earlier writes is beyond us."""
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except FileNotFoundError:
        return
