"""shuffledp encode: what the devices do."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.collection import (
    bar,
    job,
    pure_budget,
    question_about_data,
    simulation_option,
    stream,
)
from shuffledp.cli.options import json_option, print_json


@click.command()
@question_about_data
@click.option("--out", required=True, help="Write the reports to this .csv or .parquet file.")
@simulation_option
@json_option
def encode(data: str, out: str, simulation: int | None, as_json: bool, **question: Any) -> None:
    """Randomize every row of DATA; the reports are not shuffled yet."""
    from shuffledp.pipeline import encode as randomize
    from shuffledp.pipeline.tables import kind
    from shuffledp.sampling import SIMULATED

    kind("out", out)
    asked = job(data, **question)
    with bar("randomizing", asked.n) as advance:
        number = randomize(asked, data, out, stream(simulation), advance)
    if as_json:
        print_json(
            {
                "reports": number,
                "file": out,
                "mechanism": str(asked.device.randomizer),
                "eps0": pure_budget(asked),
                "shuffled": False,
                "simulated": simulation is not None,
            }
        )
        return
    click.echo(f"{number:,} reports: {asked.device.randomizer}")
    click.echo(f"{out}: NOT SHUFFLED; hand it to the shuffler only")
    if simulation is not None:
        click.echo(SIMULATED)
