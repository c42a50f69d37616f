"""Groups of commands: errors in one line that names the option typed, and polite ends."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from shuffledp.display.sentences import say
from shuffledp.errors import NOT_SHOWN, ParameterError, ShuffleDPError

_OPTIONS = {"column": "columns", "m": "drawn", "rate": "check_in", "deltas": "local_delta"}
"""Parameters whose options are called otherwise."""
_TRACEBACK = "SHUFFLEDP_TRACEBACK"
_FAULT = 70
"""Exit code of a fault of ours, EX_SOFTWARE of sysexits.h."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What writing to a file may end with; files we write ourselves are named in errors of ours."""


@contextmanager
def _ended_politely() -> Iterator[None]:
    """A request to end is an exception: what is half-written goes."""

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    ours = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def write_commands(
    formatter: click.HelpFormatter, title: str, commands: Iterable[click.Command]
) -> None:
    """A list of commands with all of what each is for."""
    with formatter.section(title):
        formatter.write_dl(
            [(each.name or "", each.get_short_help_str(limit=1000)) for each in commands]
        )


def _got(value: object) -> str:
    if value == NOT_SHOWN:
        return "What is there instead is not shown"
    return "Nothing was given" if value is None else f"Got {value!r}"


class Group(click.Group):
    """Turns the library's errors into one line on stderr and their exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            with _ended_politely():
                return super().main(*args, **options)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            say(f"Error: the answer cannot be written to stdout: {error.strerror}.", err=True)
            # what is left of it must not be tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ShuffleDPError as error:
            say(f"Error: {self._worded(ctx, error)}", err=True)
            ctx.exit(error.exit_code)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            full = isinstance(error, OSError) and error.errno in (*_FULL, errno.EPIPE)
            if full or os.environ.get(_TRACEBACK):
                raise
            # not its text, which may hold what a user has
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
            say(
                f"Error: shuffledp has a fault ({where}); nothing was answered. Please report it,"
                " with"
                f" the command and what {_TRACEBACK}=1 shows.",
                err=True,
            )
            ctx.exit(_FAULT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Summaries are not cut off."""
        write_commands(formatter, "Commands", self.commands.values())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            near = get_close_matches(args[0], self.commands, n=1)
            hint = (
                f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(self.commands)}."
            )
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def _worded(self, ctx: click.Context, error: ShuffleDPError) -> str:
        """Names the option that was typed, or should have been."""
        if isinstance(error, ParameterError) and error.parameter == "question":
            return f"Ask {error.condition}. Got {error.value}."
        if isinstance(error, ParameterError) and ctx.invoked_subcommand:
            options = {each.name: each for each in self.commands[ctx.invoked_subcommand].params}
            other = options.get(_OPTIONS.get(error.parameter, ""))
            option = options.get(error.parameter, other)
            if option is not None:
                by_name = isinstance(option, click.Option)
                named = option.opts[0] if by_name else option.human_readable_name
                return f"{named} must be {error.condition}. {_got(error.value)}."
        return str(error)
