"""shuffledp shuffle: what the shuffler does."""

from __future__ import annotations

import click

from shuffledp.cli.collection import (
    bar,
    job_booking,
    ledger_options,
    memory_option,
    simulation_option,
    stream,
)
from shuffledp.cli.options import Count, json_option, print_json
from shuffledp.labels import outward


@click.command()
@click.argument("reports", type=click.Path(), nargs=-1, required=True)
@click.option("--out", required=True, help="Write the shuffled reports to this file.")
@click.option("--minimum", type=Count(), help="Fewest reports to release (default: as promised).")
@ledger_options
@simulation_option
@memory_option
@json_option
def shuffle(
    reports: tuple[str, ...],
    out: str,
    minimum: int | None,
    ledger: str | None,
    cohort: str | None,
    simulation: int | None,
    memory: int,
    as_json: bool,
) -> None:
    """Put REPORTS in an order that tells nothing; too few are refused.

    Several files of one collection are shuffled together; each user must be in one of them only, and
    reports may be released once only.
    """
    from shuffledp.pipeline import shuffle as mix
    from shuffledp.sampling import SIMULATED

    book = job_booking(ledger, cohort)
    with bar("shuffling") as advance:
        job = mix(
            reports,
            out,
            stream(simulation),
            minimum=minimum,
            memory=memory << 20,
            book=book,
            advance=advance,
        )
    if as_json:
        print_json(
            {
                "reports": job.n,
                "file": out,
                "epsilon": job.guarantee.to_dict(),
                "delta": job.delta,
                "simulated": job.simulated,
            }
        )
        return
    click.echo(f"{out}: {job.n:,} reports shuffled")
    click.echo(
        f"privacy: epsilon {outward(job.guarantee.upper, up=True)} at delta {job.delta:g}"
        f" ({job.guarantee.status.value} by {job.guarantee.theorem})"
    )
    if job.simulated:
        click.echo(SIMULATED)
