"""shuffledp schema: what the answers in JSON look like."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import click

from shuffledp import checks
from shuffledp.interfaces.cli.options import SCHEMA, json_option


def schemas() -> dict[str, Any]:
    """By command; kept beside this file, and compared with what commands print by the tests."""
    text = files("shuffledp.interfaces.cli").joinpath("schemas.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@click.command()
@click.argument("command", nargs=-1)
@json_option
def schema(command: tuple[str, ...], as_json: bool) -> None:
    """The JSON schema of what COMMAND prints with --json, or a list of all that have one.

    Each answer names it in its field `schema`, as "ledger show/1"; the number grows when a field
    goes or means something else. --json: all schemas.
    """
    known = schemas()
    if not command:
        if as_json:
            click.echo(json.dumps(known, indent=2))
            return
        for name in known:
            click.echo(name)
        return
    name = checks.one_of("command", " ".join(command), known)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:shuffledp:{name.replace(' ', ':')}:{SCHEMA}",
        "title": f"shuffledp {name} --json",
    }
    click.echo(json.dumps(head | known[name], indent=2))
