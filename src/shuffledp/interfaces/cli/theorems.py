"""shuffledp theorems: the registry."""

from __future__ import annotations

import click

from shuffledp.accounting.bounds import all_theorems, get_theorem
from shuffledp.interfaces.cli.options import json_option, print_json


@click.command()
@click.argument("theorem_id", required=False, metavar="[ID]")
@json_option
def theorems(theorem_id: str | None, as_json: bool) -> None:
    """List every theorem, or show one in full."""
    if theorem_id is not None:
        theorem = get_theorem(theorem_id)
        if as_json:
            print_json(theorem.to_dict())
            return
        from shuffledp.display.text import print_theorem

        print_theorem(theorem)
        return
    known = all_theorems()
    if as_json:
        print_json({"theorems": [theorem.to_dict() for theorem in known]})
        return
    from shuffledp.display.text import print_theorems

    print_theorems(known)
