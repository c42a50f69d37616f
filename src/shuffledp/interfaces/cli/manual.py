"""shuffledp manual: pages for man(1), written from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from shuffledp import __version__
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import json_option, print_json


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@json_option
@click.pass_context
def manual(context: click.Context, folder: str, as_json: bool) -> None:
    """Write a page for man(1) of every command to FOLDER."""
    from shuffledp.files import write_whole

    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("folder", "one that can be made", folder) from error
    root = context.find_root()
    written = []
    for names, command in _commands(["shuffledp"], root.command):
        path = target / f"{'-'.join(names)}.1"
        write_whole("folder", path, page(names, command).encode())
        written.append(str(path))
    if as_json:
        print_json({"files": written})
        return
    click.echo(f"{folder}: {len(written)} pages; read one with `man {written[0]}`")


def _commands(
    names: list[str], command: click.Command
) -> Iterator[tuple[list[str], click.Command]]:
    yield names, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands([*names, name], inner)


def page(names: list[str], command: click.Command) -> str:
    """One command in the language of man."""
    context = click.Context(command, info_name=" ".join(names), max_content_width=10_000)
    title, words = "-".join(names), " ".join(names)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{_escaped(title.upper())}" "1" "" "shuffledp {__version__}" "shuffledp"',
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(command.get_short_help_str(limit=1000))}",
        ".SH SYNOPSIS",
        f".B {_escaped(words)}",
        _escaped(usage),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            lines += [".TP", f".B {_escaped(record[0])}", _escaped(" ".join(record[1].split()))]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name, inner in command.commands.items():
            lines += [".TP", f".BR {title}-{name} (1)", _escaped(inner.get_short_help_str(1000))]
    if command.epilog:
        examples = command.epilog.replace("\b", "").strip().splitlines()[1:]
        lines += [".SH EXAMPLES", ".nf", *(_escaped(line) for line in examples), ".fi"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b", "").split("\n\n"):
        yield ".PP"
        yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """No dash, dot or backslash means anything but itself."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
