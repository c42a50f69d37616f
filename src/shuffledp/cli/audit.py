"""shuffledp audit: attack the running pipeline."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.collection import bar, simulation_option, stream
from shuffledp.cli.options import Count, json_option, mechanism_options, print_json, randomizer


@click.command()
@mechanism_options
@click.option("--n", type=Count(), required=True, help="Number of users in a batch.")
@click.option("--delta", type=float, required=True, help="delta of the claim.")
@click.option("--trials", type=Count(), default=100_000, show_default=True, help="Per data set.")
@simulation_option
@json_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    n: int,
    delta: float,
    trials: int,
    simulation: int | None,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Run the devices and the shuffler on two data sets many times and try to tell them apart.

    Exit code 1 if the claim is refuted.
    """
    from shuffledp.auditing import all_trials
    from shuffledp.auditing import audit as attack

    asked = randomizer(**mechanism)
    with bar("attacking", all_trials(int(trials))) as advance:
        found = attack(
            asked, n, delta=delta, trials=int(trials), stream=stream(simulation), advance=advance
        )
    if as_json:
        print_json(found.to_dict())
    else:
        from shuffledp.reports.text import print_rows

        claim = found.claimed
        share = 100.0 / claim.upper if claim.upper > 0.0 else 0.0
        rows: list[list[object]] = [["claimed", "<=", claim.upper, 100.0 * bool(claim.upper)]]
        for name, value in (
            ("likelihood ratio of the counts", found.direct),
            (f"report in place {found.place + 1}, which tells most", found.ordered),
            ("family of the mechanism", found.family),
        ):
            if value is not None:
                rows.append([name, ">=", value, share * value])
        from shuffledp.sampling import SIMULATED

        verdict = "VIOLATED" if found.violated else "not violated"
        if not max(found.direct, found.ordered, found.family or 0.0):
            verdict += ": nothing was seen, which more trials may change"
        print_rows(
            f"epsilon at delta {delta:g}: {found.n:,} users, {found.randomizer}",
            ["bound", "", "epsilon", "% of the claim"],
            rows,
            [
                f"claim {verdict}; {found.trials:,} trials per data set, each bound wrong with at most 1 %",
                *([SIMULATED] if found.simulated else []),
            ],
        )
    if found.violated:
        context.exit(1)
