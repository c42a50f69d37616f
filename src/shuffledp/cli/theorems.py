"""shuffledp theorems: the registry."""

from __future__ import annotations

import click

from shuffledp.bounds import all_bounds, get_bound
from shuffledp.cli.options import json_option, print_json


@click.command()
@click.argument("theorem_id", required=False, metavar="[ID]")
@json_option
def theorems(theorem_id: str | None, as_json: bool) -> None:
    """List every theorem, or show one in full."""
    if theorem_id is not None:
        theorem = get_bound(theorem_id).theorem
        if as_json:
            print_json(theorem.to_dict())
            return
        from shuffledp.reports.text import print_theorem

        print_theorem(theorem)
        return
    known = [bound.theorem for bound in all_bounds()]
    if as_json:
        print_json([theorem.to_dict() for theorem in known])
        return
    from shuffledp.reports.text import print_theorems

    print_theorems(known)
