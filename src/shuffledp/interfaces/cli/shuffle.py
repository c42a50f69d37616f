"""shuffledp shuffle: what the shuffler does."""

from __future__ import annotations

import click

from shuffledp.display.sentences import say
from shuffledp.interfaces.cli.collection import (
    bar,
    job_booking,
    ledger_options,
    memory_option,
    recorded,
    simulation_option,
    stream,
)
from shuffledp.interfaces.cli.options import Count, json_option, print_json
from shuffledp.interfaces.cli.paths import READ, TABLE
from shuffledp.labels import counted


@click.command()
@click.argument("reports", type=READ, nargs=-1, required=True)
@click.option("--out", type=TABLE, required=True, help="Write the shuffled reports to this file.")
@click.option(
    "--minimum",
    type=Count(),
    help="Fewest reports to release; the guarantee is for so many (default: as promised).",
)
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
    """Put REPORTS in an order drawn uniformly at random; too few are refused.

    Several parts of one collection are shuffled together; each user must be in one of them only,
    and reports may be released once only.
    """
    from shuffledp.collection.pipeline import shuffle as mix

    book = job_booking(ledger, cohort, simulated=simulation is not None)
    with bar("shuffling") as advance:
        job, number = mix(
            reports,
            out,
            stream(simulation),
            minimum=minimum,
            memory=memory << 20,
            book=book,
            advance=advance,
        )
    proven = job.proven
    if as_json:
        print_json(
            {
                "reports": number,
                "n": job.n,
                "file": out,
                "epsilon": None if proven is None else proven.to_dict(),
                "delta": job.delta,
                "promised": {
                    "epsilon": job.epsilon,
                    "kept": proven is not None and proven.upper <= job.epsilon,
                },
                "label": job.label,
                "simulated": job.simulated,
                "categories_from_data": job.values_from_data,
                "not_covered": job.not_covered,
                "ledger": recorded(),
            }
        )
        return
    say(f"{out}: {counted(number, 'report')} shuffled")
    say(f"privacy: {job.label}")
