"""Files that appear whole or not at all, and never in the place of one that is still needed."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from shuffledp.errors import ParameterError

_PARTIAL = ".partial"
_PICTURES = {".png", ".pdf", ".svg"}


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one file: by links of any kind,
    or by capitals where those are alike."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        first, second = (Path(os.path.realpath(path)) for path in (one, other))
    except ValueError:  # no name of a file
        return False
    if first == second:
        return True
    if os.path.exists(first) or os.path.exists(second):  # one is there and the other is not
        return False
    names = (unicodedata.normalize("NFC", path.name).casefold() for path in (first, second))
    return first.parent == second.parent and len(set(names)) == 1


def check_apart(output: str, path: str | Path, other: str, other_path: str | Path) -> None:
    """That what is written to ``path`` does not take the place of another file of the
    same command."""
    if same_file(path, other_path):
        raise ParameterError(output, f"another file than {other}", str(path))


def check_folder(parameter: str, path: str | Path) -> None:
    """That a file can be made there, asked before anything is spent on it."""
    target = Path(path).absolute()
    folder = target.parent
    with suppress(OSError, ValueError):
        if folder.is_dir() and os.access(folder, os.W_OK) and not stat.S_ISDIR(_mode(target)):
            return
    raise ParameterError(parameter, "a file that can be written, in an existing folder", str(path))


def _mode(path: Path) -> int:
    """Of what is there; raises ValueError for what is no name."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return 0


@contextmanager
def whole_file(parameter: str, path: str | Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write; on success it is on disk and takes its name, otherwise it is gone.

    Until then it is hidden beside its target, and locked: what a killed process left behind is not,
    and is removed by the next one with the same target. A private one is its owner's alone.
    """
    target = Path(path)
    try:
        _remove_stale(target)
        handle, name = _locked(target)
    except OSError as error:
        raise _unwritable(parameter, path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not private:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(name, 0o666 & ~mask)
            os.replace(name, target)
            _sync_folder(target.parent)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _unwritable(parameter, path, error) from error
        raise


def _unwritable(parameter: str, path: str | Path, error: OSError) -> ParameterError:
    reason = f"{path} ({error.strerror or error})"
    return ParameterError(parameter, "a file that can be written", reason)


def _locked(target: Path) -> tuple[int, str]:
    """A new hidden file that says whose it is, and its name."""
    if target.is_dir():
        raise IsADirectoryError(None, "is a folder")
    while True:
        handle, name = tempfile.mkstemp(_PARTIAL, f".{target.name}.", target.parent)
        with suppress(OSError):  # a file system without locks: nobody will take it for a leftover
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # nobody took it for a leftover before it was locked
            return handle, name
        os.close(handle)


def _remove_stale(target: Path) -> None:
    """Leftovers of processes that are gone."""
    for entry in os.scandir(target.parent):
        if not (entry.name.startswith(f".{target.name}.") and entry.name.endswith(_PARTIAL)):
            continue
        try:
            handle = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(entry.path)
        except OSError:  # somebody is writing it, or has just finished
            pass
        finally:
            os.close(handle)


def _sync_folder(folder: Path) -> None:
    """A name is safe once its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
