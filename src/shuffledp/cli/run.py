"""shuffledp run: randomize, shuffle and estimate in one go."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.collection import (
    bar,
    job,
    memory_option,
    question_about_data,
    show,
    simulation_option,
    stream,
)
from shuffledp.cli.options import json_option, plot_option


@click.command()
@question_about_data
@click.option("--out", help="Write the estimates to this .csv or .parquet file.")
@click.option("--reports", help="Also write the shuffled reports to this file.")
@click.option("--simplex", is_flag=True, help="Move frequencies to the nearest law.")
@simulation_option
@memory_option
@json_option
@plot_option
def run(
    data: str,
    out: str | None,
    reports: str | None,
    simplex: bool,
    simulation: int | None,
    memory: int,
    as_json: bool,
    plot: str | None,
    **question: Any,
) -> None:
    """Calibrate, randomize every row of DATA as a device would, shuffle, estimate."""
    from shuffledp.pipeline import Embedded
    from shuffledp.pipeline import run as collect
    from shuffledp.pipeline.tables import kind

    for parameter, path in (("out", out), ("reports", reports)):
        if path is not None:
            kind(parameter, path)
    asked = job(data, **question)
    engine = Embedded(stream(simulation), memory << 20)
    with bar("randomizing", asked.n) as advance:
        asked, found = collect(asked, data, engine, reports=reports, advance=advance)
    show(asked, found, out=out, plot=plot, as_json=as_json, project=simplex)
