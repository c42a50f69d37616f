"""shuffledp personalized: a collection in which every user has a budget of their own."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from shuffledp import checks
from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.collection import (
    bar,
    booking,
    category_options,
    declared,
    ledger_options,
    recorded,
    simulation_option,
    stream,
)
from shuffledp.interfaces.cli.options import json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import READ, TABLE
from shuffledp.labels import counted

if TYPE_CHECKING:
    from shuffledp.accounting.protocols.personalized import Guarantees


@click.command()
@click.argument("data", type=READ)
@click.option("--column", required=True, help="Column to ask about.")
@click.option("--budgets-column", required=True, help="Column of the users' budgets eps.")
@click.option("--delta", type=float, required=True, help="delta of the guarantees.")
@click.option(
    "--budgets-visible/--budgets-hidden",
    default=None,
    help="Does a user's budget travel next to the report?",
)
@category_options
@click.option("--out", type=TABLE, help="Write the estimates to this .csv or .parquet file.")
@ledger_options
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
    from_data: bool,
    other: str,
    out: str | None,
    ledger: str | None,
    cohort: str | None,
    simulation: int | None,
    as_json: bool,
    plot: str | None,
) -> None:
    """Randomize every row of DATA at its own budget, shuffle, estimate the frequencies."""
    from shuffledp.collection.pipeline import write_estimate
    from shuffledp.collection.pipeline.personalized import personalized as collect
    from shuffledp.ledger.amounts import decimal_above, float_below

    if budgets_visible is None:
        raise ParameterError("budgets_visible", "stated, or --budgets-hidden", None)
    spend = booking(ledger, cohort, simulated=simulation is not None)

    def book(guarantees: Guarantees) -> None:
        """What everyone is guaranteed: that of the worst class, rounded up."""
        from shuffledp.ledger import Guarantee

        loss = decimal_above(Fraction(guarantees.worst.interval.upper), digits=20)
        about = f"frequencies of {column}, a budget per user"
        spend(Guarantee(loss, str(delta)), about, guarantees.uncovered, frozenset())

    # no more than the decimal that was typed, which is what a book records
    exact = float_below(Fraction(str(checks.probability("delta", delta))))
    start = time.perf_counter()
    known = declared(data, column, categories, from_data, other)
    with bar("randomizing") as advance:
        guarantees, found = collect(
            data,
            column,
            budgets_column,
            known,
            stream(simulation),
            delta=exact,
            budgets_visible=budgets_visible,
            other=other,
            values_from_data=from_data,
            book=book,
            advance=advance,
        )
    if out is not None:
        write_estimate(found, out)
    if plot is not None:
        from shuffledp.display.personalized import save_guarantees

        save_guarantees(guarantees, plot)
    if as_json:
        described = {
            "column": column,
            "delta": delta,
            "budgets_visible": budgets_visible,
            "simulated": simulation is not None,
            "categories_from_data": from_data,
            "ledger": recorded(),
            "warning": guarantees.warning,
            "classes": [each.to_dict(guarantees.uncovered) for each in guarantees.classes],
            "seconds": time.perf_counter() - start,
        }
        print_json(described | found.to_dict())
        return
    from shuffledp.display.estimates import print_table
    from shuffledp.display.personalized import print_classes

    print_classes(guarantees)
    print_table(f"frequencies of {column}: {counted(found.reports, 'report')}", found)
    say(guarantees.warning, err=True)
