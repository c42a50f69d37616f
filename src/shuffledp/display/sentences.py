"""Sentences for people: on a terminal broken between words, elsewhere one line each."""

from __future__ import annotations

import shutil
import sys
import textwrap

import click


def say(text: str, *, err: bool = False, indent: int = 2) -> None:
    """Print a sentence; what follows its first line is indented. Numbers and ids stay whole."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(
            text,
            width,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    click.echo(text, err=err)
