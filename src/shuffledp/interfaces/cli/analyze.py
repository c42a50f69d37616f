"""shuffledp analyze: what the analyst does."""

from __future__ import annotations

import click

from shuffledp.interfaces.cli.collection import bar, show
from shuffledp.interfaces.cli.options import json_option, plot_option
from shuffledp.interfaces.cli.paths import READ, TABLE


@click.command()
@click.argument("reports", type=READ)
@click.option("--out", type=TABLE, help="Write the estimates to this .csv or .parquet file.")
@click.option("--simplex", is_flag=True, help="Make frequencies non-negative with sum 1.")
@click.option(
    "--unshuffled", is_flag=True, help="Take reports that were not shuffled; outputs say so."
)
@json_option
@plot_option
def analyze(
    reports: str, out: str | None, simplex: bool, unshuffled: bool, as_json: bool, plot: str | None
) -> None:
    """Estimate from a file of REPORTS, with errors and the privacy they cost."""
    from shuffledp.collection.pipeline import analyze as estimate

    with bar("counting") as advance:
        job, found = estimate(reports, advance, unshuffled=unshuffled)
    show(job, found, out=out, plot=plot, as_json=as_json, project=simplex)
