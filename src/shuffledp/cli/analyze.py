"""shuffledp analyze: what the analyst does."""

from __future__ import annotations

import click

from shuffledp.cli.collection import bar, show
from shuffledp.cli.options import json_option, plot_option


@click.command()
@click.argument("reports", type=click.Path())
@click.option("--out", help="Write the estimates to this .csv or .parquet file.")
@click.option("--simplex", is_flag=True, help="Move frequencies to the nearest law.")
@json_option
@plot_option
def analyze(reports: str, out: str | None, simplex: bool, as_json: bool, plot: str | None) -> None:
    """Estimate from a file of REPORTS, with errors and the privacy they cost."""
    from shuffledp.pipeline import analyze as estimate
    from shuffledp.pipeline.tables import kind

    if out is not None:
        kind("out", out)
    with bar("counting") as advance:
        job, found = estimate(reports, advance)
    show(job, found, out=out, plot=plot, as_json=as_json, project=simplex)
