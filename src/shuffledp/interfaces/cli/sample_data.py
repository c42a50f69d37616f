"""shuffledp sample-data: a table to try the other commands on."""

from __future__ import annotations

from pathlib import Path

import click

from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import Count, json_option, print_json
from shuffledp.interfaces.cli.paths import WRITTEN


@click.command("sample-data")
@click.argument("out", type=WRITTEN, default="survey.csv")
@click.option("--rows", type=Count(), default=20_000, show_default=True, help="Invented people.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Another number invents other people."
)
@click.option("--tasks", type=WRITTEN, help="Also write questions about it to this file.")
@json_option
def sample_data(out: str, rows: int, seed: int, tasks: str | None, as_json: bool) -> None:
    """Write an invented survey to OUT (survey.csv), to try the other commands on."""
    from shuffledp.collection.pipeline.sample_data import (
        LONGEST,
        TRANSPORT,
        sample_table,
        sample_tasks,
    )

    _write("out", out, sample_table(rows, seed))
    if tasks is not None:
        _write("tasks", tasks, sample_tasks())
    columns = {
        "transport": f"one of {', '.join(TRANSPORT)}",
        "minutes": f"on the way, 0 to {LONGEST}",
        "app": "a word of four letters",
        "eps": "the budget each person chose: 0.5, 1 or 2",
    }
    if as_json:
        print_json({"file": out, "rows": rows, "columns": columns})
        return
    click.echo(f"{out}: {rows:,} invented people")
    for name, meaning in columns.items():
        click.echo(f"  {name:<10} {meaning}")
    click.echo("try:")
    ask = f"shuffledp run {out} --epsilon 1 --delta 1e-6"
    click.echo(f"  {ask} --column transport --task histogram --categories {','.join(TRANSPORT)}")
    click.echo(f"  {ask} --column minutes --task quantiles --low 0 --high {LONGEST}")
    if tasks is not None:
        click.echo(f"  {ask} --tasks {tasks}")


def _write(name: str, path: str, text: str) -> None:
    """Nothing else is written over."""
    from shuffledp.files import write_whole

    content, target = text.encode(), Path(path)
    if target.exists() and target.read_bytes() != content:
        raise ParameterError(name, "a file that is not there yet: this one is another", path)
    write_whole(name, target, content)
