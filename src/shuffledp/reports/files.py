"""Files people asked for."""

from __future__ import annotations

import os
from pathlib import Path

from shuffledp.errors import ParameterError
from shuffledp.files import whole_file

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


def write_whole(parameter: str, path: Path, content: bytes, *, private: bool = False) -> None:
    """All of it, or nothing; a private file is its owner's alone."""
    with whole_file(parameter, path, private=private) as file:
        file.write(content)
