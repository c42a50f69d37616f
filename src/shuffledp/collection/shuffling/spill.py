"""Temporary files that nobody else can read: nameless, and sealed with a key that is never written.

Nameless: they vanish with the process, however it ends. Sealed: what is left of them on the disk
itself says nothing either.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import MissingExtraError, ParameterError

_CHUNK = 1 << 16


class SpillFile:
    """Bytes to append, and to read from the start. AES-256 in counter mode, one key per file."""

    def __init__(self, folder: str | Path | None) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError as error:
            raise MissingExtraError("run", "Sealing temporary files") from error
        # a key is used for one file only, so that every file may count from zero
        self._cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
        self._sealing: Any = self._cipher.encryptor()
        self._folder, self.size = folder, 0

    @cached_property
    def _file(self) -> IO[bytes]:
        """Made for the first byte: most piles of few reports stay empty."""
        return tempfile.TemporaryFile(dir=self._folder, prefix="shuffledp-")

    def append(self, content: NDArray[Any]) -> None:
        """Write the bytes of an array to the end."""
        data = np.ascontiguousarray(content).reshape(-1).view(np.uint8).data
        with room(self._folder):
            self._file.seek(0, os.SEEK_END)
            for start in range(0, len(data), _CHUNK):
                self._file.write(self._sealing.update(data[start : start + _CHUNK]))
            self._file.flush()
        self.size += len(data)

    def pieces(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """All bytes, this many at a time."""
        opening, left = self._cipher.decryptor(), self.size
        if left:
            self._file.seek(0)
        while left:
            piece = np.empty(min(size, left), np.uint8)
            for start in range(0, piece.size, _CHUNK):
                part = piece[start : start + _CHUNK]
                opening.update_into(self._file.read(part.size), part.data)
            left -= piece.size
            yield piece

    def close(self) -> None:
        """Throw it away."""
        if "_file" in self.__dict__:
            with suppress(OSError):  # what the disk did not take, it need not keep
                self._file.close()


@contextmanager
def room(folder: str | Path | None) -> Iterator[None]:
    """A full disk is said to be the one of these files."""
    try:
        yield
    except OSError as error:
        raise ParameterError(
            "folder",
            "for temporary files (TMPDIR), with room for all reports",
            f"{folder or tempfile.gettempdir()} ({error.strerror or error})",
        ) from error
