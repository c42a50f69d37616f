"""Paths on the command line: no command writes over what it reads, or writes twice to one file.

A parameter says by its type whether its file is read or written; each path is compared with all
others of the same command as soon as it is known, before anything is read or spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from shuffledp.files import check_apart, check_folder

_SEEN = "shuffledp.paths"


class _File(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.2
    name = "file"
    _endings: tuple[str, ...] = ("",)
    """Of the names of all files that are written, or read."""

    def __init__(self, *, written: bool, check: Callable[[str, str], object] | None = None) -> None:
        self._written, self._check = written, check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = str(value)
        if param is None or ctx is None:
            return path
        parameter = str(param.name)
        if self._check is not None:
            self._check(parameter, path)
        seen = ctx.meta.setdefault(f"{_SEEN}.{ctx.command_path}", [])
        mine = [(parameter, f"{path}{ending}", self._written) for ending in self._endings]
        for _, file, _ in mine:
            for other, other_file, other_written in seen:
                if self._written:
                    check_apart(parameter, file, _shown(ctx, other), other_file)
                elif other_written:
                    check_apart(other, other_file, _shown(ctx, parameter), file)
        seen.extend(mine)
        return path


def _shown(ctx: click.Context, name: str) -> str:
    """As it was typed."""
    for param in ctx.command.params:
        if param.name == name:
            return param.opts[0] if isinstance(param, click.Option) else name.upper()
    return name


class _Book(_File):
    """A ledger: a file and its logs, unless it is the address of a database."""

    _endings = ("", "-wal", "-shm", "-journal")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) if "://" in str(value) else super().convert(value, param, ctx)


def _table(parameter: str, path: str) -> None:
    from shuffledp.collection.pipeline.tables import kind

    kind(parameter, path)
    check_folder(parameter, path)


def _picture(_parameter: str, path: str) -> None:
    from shuffledp.files import check_picture

    check_picture(path)


READ = _File(written=False)
WRITTEN = _File(written=True, check=check_folder)
TABLE = _File(written=True, check=_table)
PICTURE = _File(written=True, check=_picture)
BOOK = _Book(written=True)
