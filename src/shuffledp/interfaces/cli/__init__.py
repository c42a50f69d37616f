"""The command line: one file per command."""

from __future__ import annotations

from itertools import chain

import click

from shuffledp import __version__
from shuffledp.interfaces.cli.account import account
from shuffledp.interfaces.cli.analyst import analyst, collect
from shuffledp.interfaces.cli.analyze import analyze
from shuffledp.interfaces.cli.atlas import atlas
from shuffledp.interfaces.cli.audit import audit
from shuffledp.interfaces.cli.calibrate import calibrate
from shuffledp.interfaces.cli.check import check
from shuffledp.interfaces.cli.compare import compare
from shuffledp.interfaces.cli.encode import encode
from shuffledp.interfaces.cli.examples import add_examples
from shuffledp.interfaces.cli.group import Group, write_commands
from shuffledp.interfaces.cli.ledger import ledger
from shuffledp.interfaces.cli.manual import manual
from shuffledp.interfaces.cli.personalized import personalized
from shuffledp.interfaces.cli.plan import plan
from shuffledp.interfaces.cli.refute import refute
from shuffledp.interfaces.cli.report import report
from shuffledp.interfaces.cli.reproduce import reproduce
from shuffledp.interfaces.cli.run import run
from shuffledp.interfaces.cli.sample_data import sample_data
from shuffledp.interfaces.cli.schema import schema
from shuffledp.interfaces.cli.shuffle import shuffle
from shuffledp.interfaces.cli.shuffler import shuffler
from shuffledp.interfaces.cli.theorems import theorems
from shuffledp.interfaces.cli.train import train
from shuffledp.interfaces.cli.web import web

__all__ = ["main"]


_SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Account": (account, check, compare, calibrate, refute, theorems, web),
    "Plan": (plan,),
    "Run on a file": (sample_data, run, personalized, encode, shuffle, analyze, audit, train),
    "Collect over a network": (analyst, shuffler, report, collect),
    "Keep a budget": (ledger,),
    "Research": (reproduce, atlas),
    "About": (schema, manual),
}


class _Main(Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By what they are for, in the order one needs them; summaries are not cut off."""
        for title, commands in _SECTIONS.items():
            write_commands(formatter, title, commands)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Privacy accounting for the shuffle model of differential privacy.

    Every number comes as an interval with its status, direction and theorem.
    """


for _command in chain.from_iterable(_SECTIONS.values()):
    main.add_command(_command)
add_examples(main)
