"""shuffledp plan: which randomizer to use."""

from __future__ import annotations

from dataclasses import asdict

import click

from shuffledp.interfaces.cli.options import Count, json_option, plot_option, print_json


@click.command()
@click.option(
    "--task",
    "name",
    type=click.Choice(["histogram", "mean", "vector"]),
    required=True,
    help="What to estimate.",
)
@click.option("--k", type=int, help="Number of values (histogram).")
@click.option("--dimensions", type=int, help="Numbers per user (vector).")
@click.option("--norm", type=float, help="Largest distance of a vector from the middle (range 1).")
@click.option("--n", type=Count(), required=True, help="Number of users.")
@click.option("--epsilon", type=float, required=True, help="Target epsilon, all rounds together.")
@click.option("--delta", type=float, required=True, help="Target delta, all rounds together.")
@click.option("--rounds", type=Count(), default=1, show_default=True, help="Rounds of reports.")
@click.option(
    "--several-messages",
    is_flag=True,
    help="Other shapes too: dummies, secure sums of encodings or of shares of noise (histogram).",
)
@json_option
@plot_option
def plan(
    name: str,
    k: int | None,
    dimensions: int | None,
    norm: float | None,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int,
    several_messages: bool,
    as_json: bool,
    plot: str | None,
) -> None:
    """Rank the randomizers by expected error at the same central guarantee."""
    from shuffledp.collection.planning import Choice, Shape, Target, attacks, shapes, task
    from shuffledp.collection.planning import plan as make
    from shuffledp.display.plan import print_attacks, print_plan, save_plan
    from shuffledp.display.text import progress

    asked = task(name, k=k, dimensions=dimensions, norm=norm)
    target = Target(epsilon, delta, n, rounds)
    made = make(asked, target, lambda names: progress(names, "calibrating"))
    others = (
        shapes(asked, target, lambda names: progress(names, "other shapes"))
        if several_messages
        else ()
    )
    candidates: list[Choice | Shape] = [made.best, *others]
    best = min(candidates, key=lambda choice: choice.error)
    threats = attacks(best, target)
    if plot is not None:
        save_plan(made, plot)
    if as_json:
        found = {**made.to_dict(), "attacks": [asdict(threat) for threat in threats]}
        if several_messages:
            found["shapes"] = [shape.to_dict() for shape in others]
        print_json(found)
        return
    print_plan(made, others)
    print_attacks(best.name, threats)
