"""The command line: one file per command."""

from __future__ import annotations

import click

from shuffledp import __version__
from shuffledp.cli.account import account
from shuffledp.cli.analyze import analyze
from shuffledp.cli.atlas import atlas
from shuffledp.cli.audit import audit
from shuffledp.cli.calibrate import calibrate
from shuffledp.cli.compare import compare
from shuffledp.cli.encode import encode
from shuffledp.cli.ledger import ledger
from shuffledp.cli.personalized import personalized
from shuffledp.cli.plan import plan
from shuffledp.cli.refute import refute
from shuffledp.cli.reproduce import reproduce
from shuffledp.cli.run import run
from shuffledp.cli.shuffle import shuffle
from shuffledp.cli.theorems import theorems
from shuffledp.cli.train import train
from shuffledp.cli.web import web
from shuffledp.errors import ParameterError, ShuffleDPError

__all__ = ["main"]


_OPTIONS = {"m": "drawn", "rate": "check_in", "deltas": "local_delta"}
"""Parameters whose options are called otherwise."""


class _Group(click.Group):
    """Turns the library's errors into one line on stderr and their exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ShuffleDPError as error:
            click.echo(f"Error: {self._worded(ctx, error)}", err=True)
            ctx.exit(error.exit_code)

    def _worded(self, ctx: click.Context, error: ShuffleDPError) -> str:
        """Names the option that was typed, or should have been."""
        if isinstance(error, ParameterError) and ctx.invoked_subcommand:
            name = _OPTIONS.get(error.parameter, error.parameter)
            for option in self.commands[ctx.invoked_subcommand].params:
                if isinstance(option, click.Option) and option.name == name:
                    got = "Nothing was given" if error.value is None else f"Got {error.value!r}"
                    return f"{option.opts[0]} must be {error.condition}. {got}."
        return str(error)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Privacy accounting for the shuffle model of differential privacy.

    Every number comes as an interval with its status, direction and theorem.
    """


for _command in (
    account,
    compare,
    calibrate,
    plan,
    refute,
    theorems,
    reproduce,
    train,
    run,
    personalized,
    encode,
    shuffle,
    analyze,
    audit,
    ledger,
    atlas,
    web,
):
    main.add_command(_command)
