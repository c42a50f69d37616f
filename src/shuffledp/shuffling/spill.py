"""Nameless temporary files: they vanish with the process, however it ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shuffledp.errors import ParameterError


def spill_files(count: int, folder: str | Path | None) -> list[IO[bytes]]:
    """So many, empty."""
    with room(folder):
        return [tempfile.TemporaryFile(dir=folder, prefix="shuffledp-") for _ in range(count)]


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
