"""shuffledp personalized: a collection in which every user has a budget of their own."""

from __future__ import annotations

import time

import click

from shuffledp.cli.collection import bar, declared, simulation_option, stream
from shuffledp.cli.options import json_option, plot_option, print_json
from shuffledp.errors import ParameterError
from shuffledp.labels import outward


@click.command()
@click.argument("data", type=click.Path())
@click.option("--column", required=True, help="Column to ask about.")
@click.option("--budgets-column", required=True, help="Column of the users' budgets eps.")
@click.option("--delta", type=float, required=True, help="delta of the guarantees.")
@click.option(
    "--budgets-visible/--budgets-hidden",
    default=None,
    help="Does a user's budget travel next to the report?",
)
@click.option("--categories", help="Public values, separated by commas, or a text file of them.")
@click.option("--out", help="Write the estimates to this .csv or .parquet file.")
@simulation_option
@json_option
@plot_option
def personalized(
    data: str,
    column: str,
    budgets_column: str,
    delta: float,
    budgets_visible: bool | None,
    categories: str | None,
    out: str | None,
    simulation: int | None,
    as_json: bool,
    plot: str | None,
) -> None:
    """Randomize every row of DATA at its own budget, shuffle, estimate the frequencies."""
    from shuffledp.pipeline import write_estimate
    from shuffledp.pipeline.personalized import personalized as collect
    from shuffledp.pipeline.tables import kind

    if budgets_visible is None:
        raise ParameterError("budgets_visible", "stated, or --budgets-hidden", None)
    if out is not None:
        kind("out", out)
    start = time.perf_counter()
    known = declared(data, column, categories)
    with bar("randomizing") as advance:
        guarantees, found = collect(
            data,
            column,
            budgets_column,
            known,
            stream(simulation),
            delta=delta,
            budgets_visible=budgets_visible,
            advance=advance,
        )
    if out is not None:
        write_estimate(found, out)
    if plot is not None:
        from shuffledp.reports.personalized import save_guarantees

        save_guarantees(guarantees, plot)
    if as_json:
        described = {
            "column": column,
            "delta": delta,
            "budgets_visible": budgets_visible,
            "simulated": simulation is not None,
            "warning": guarantees.warning,
            "classes": [each.to_dict() for each in guarantees.classes],
            "seconds": time.perf_counter() - start,
        }
        print_json(described | found.to_dict())
        return
    from shuffledp.reports.estimates import print_table
    from shuffledp.reports.personalized import print_classes

    print_classes(guarantees)
    worst = guarantees.worst
    privacy = (
        f"privacy of the worst class (budget {worst.eps0:g}): epsilon"
        f" {outward(worst.interval.upper, up=True)} at delta {delta:g}"
    )
    print_table(f"frequencies of {column}: {found.reports:,} reports", found, [privacy])
    click.echo(guarantees.warning, err=True)
