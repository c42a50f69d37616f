"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shuffledp.errors import ParameterError


@contextmanager
def whole_file(parameter: str, path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write; on success it is on disk and takes its name, otherwise it is gone."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".partial")
    except OSError as error:
        raise ParameterError(parameter, "a file that can be written", str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
        _sync_folder(target.parent)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, ParameterError):
            reason = f"{path} ({error.strerror or error})"
            raise ParameterError(parameter, "a file that can be written", reason) from error
        raise


def _sync_folder(folder: Path) -> None:
    """A name is safe once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
