"""shuffledp reproduce: the papers' tables and figures, beside our values."""

from __future__ import annotations

from pathlib import Path

import click

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import json_option, print_json
from shuffledp.research.reproduce import ITEMS


@click.command()
@click.argument("item", required=False)
@click.option("--list", "show_list", is_flag=True, help="List the items.")
@click.option("--all", "run_all", is_flag=True, help="Reproduce every item that takes seconds.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduced"),
    show_default=True,
    help="Folder for CSV, JSON and PNG files.",
)
@json_option
def reproduce(item: str | None, show_list: bool, run_all: bool, out: Path, as_json: bool) -> None:
    """Recompute a published table or figure: printed value, ours, relative difference."""
    if show_list:
        if as_json:
            print_json({"items": {name: entry.title for name, entry in ITEMS.items()}})
            return
        for name, entry in ITEMS.items():
            takes = f" ({entry.takes}; not in --all)" if entry.takes else ""
            click.echo(f"{name:28} {entry.title}{takes}")
        return
    if run_all == (item is not None):
        raise ParameterError(
            "item", "one of those --list shows, unless --all or --list is given", item
        )
    if item is not None:
        checks.one_of("item", item, ITEMS)
    from shuffledp.display.text import print_rows, progress

    names = [name for name in ITEMS if not ITEMS[name].takes] if item is None else [item]
    results = []
    for name in progress(names, "reproducing"):
        result = ITEMS[name].run()
        files = result.save(out, name, ITEMS[name].title)
        results.append(
            {"item": name, "title": ITEMS[name].title, "files": files, **result.to_dict()}
        )
        if not as_json:
            remarks = [*result.remarks, "files: " + ", ".join(files)]
            print_rows(ITEMS[name].title, result.columns, result.rows, remarks)
    if as_json:
        print_json({"results": results} if run_all else results[0])
