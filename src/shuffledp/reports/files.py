"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from shuffledp.errors import ParameterError

_PICTURES = {".png", ".pdf", ".svg"}


def check_picture(path: str | Path) -> Path:
    """A path a picture can be written to, before anything is computed for it."""
    target = Path(path)
    if target.suffix.lower() not in _PICTURES:
        raise ParameterError("plot", "a .png, .pdf or .svg file", str(path))
    if not os.path.isdir(target.parent):
        raise ParameterError("plot", "in an existing folder", str(path))
    try:
        writable = not target.is_dir() and os.access(target.parent, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise ParameterError("plot", "a file that can be written", str(path))
    return target


def write_whole(parameter: str, path: Path, content: bytes) -> None:
    """Write beside the target, then take its place."""
    mask = os.umask(0)
    os.umask(mask)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise ParameterError(parameter, "a file that can be written", str(path)) from error
