"""shuffledp plan: which randomizer to use."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shuffledp.interfaces.cli.options import Count, json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import WRITTEN
from shuffledp.labels import in_full

if TYPE_CHECKING:
    from shuffledp.collection.planning import Choice, Plan, Shape, Target, Task


@click.command()
@click.option(
    "--task",
    "name",
    type=click.Choice(["histogram", "heavy-hitters", "quantiles", "mean", "sum", "vector"]),
    required=True,
    help="What to estimate.",
)
@click.option("--k", type=int, help="Number of values (histogram).")
@click.option("--bins", type=int, default=64, show_default=True, help="Cells (quantiles).")
@click.option(
    "--letters", type=int, default=4, show_default=True, help="Bytes of a word (heavy-hitters)."
)
@click.option("--dimensions", type=int, help="Numbers per user (vector).")
@click.option("--norm", type=float, help="Largest distance of a vector from the middle (range 1).")
@click.option("--n", type=Count(), required=True, help="Number of users.")
@click.option("--epsilon", type=float, required=True, help="Target epsilon, all rounds together.")
@click.option("--delta", type=float, required=True, help="Target delta, all rounds together.")
@click.option("--rounds", type=Count(), default=1, show_default=True, help="Rounds of reports.")
@click.option(
    "--max-eps0", type=float, help="Largest local budget: all that is left if the shuffler fails."
)
@click.option("--check-in", type=float, help="Probability with which users report, each round.")
@click.option(
    "--colluders",
    type=Count(),
    default=0,
    show_default=True,
    help="Users who tell the analyst what they sent.",
)
@click.option(
    "--save", type=WRITTEN, help="Write the best choice to this file, for `ledger init --plan`."
)
@click.option(
    "--several-messages",
    is_flag=True,
    help="Other shapes too: dummies, thresholds, secure sums, split messages (histogram, mean).",
)
@json_option
@plot_option
def plan(
    name: str,
    k: int | None,
    bins: int,
    letters: int,
    dimensions: int | None,
    norm: float | None,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int,
    max_eps0: float | None,
    check_in: float | None,
    colluders: int,
    save: str | None,
    several_messages: bool,
    as_json: bool,
    plot: str | None,
) -> None:
    """Which randomizer? All of them, by expected error at the same central guarantee.

    Ends with the command that runs the best one.
    """
    from shuffledp.collection.planning import Sometimes, Target, attacks, shapes
    from shuffledp.collection.planning import plan as make
    from shuffledp.collection.planning import task as question
    from shuffledp.display.plan import print_attacks, print_plan, save_plan
    from shuffledp.display.text import progress

    whole = "mean" if name == "sum" else name  # a sum of n numbers is n times their mean
    asked = question(whole, k=k, bins=bins, bits=8 * letters, dimensions=dimensions, norm=norm)
    if check_in is not None:
        asked = Sometimes(asked, check_in)
    cap = math.inf if max_eps0 is None else max_eps0
    target = Target(epsilon, delta, n, rounds, cap, colluders)
    made = make(asked, target, lambda names: progress(names, "calibrating"))
    others = (
        shapes(asked, target, lambda names: progress(names, "other shapes"))
        if several_messages
        else ()
    )
    ranked = made.ranked(others)
    rows = [*ranked, *made.baselines]
    threats = [attacks(row, target) for row in rows]
    if name == "quantiles":  # what is known is how far a cell moves, not all below the median
        threats = [
            [replace(each, bias=None if each.share else 0.0) for each in row] for row in threats
        ]
    next_steps = _next_steps(made, ranked[0], save, letters)
    if plot is not None:
        save_plan(made, plot)
    if save is not None:
        _write_plan(made, ranked[0], save)
    if as_json:
        told = {
            id(row): [asdict(each) for each in row_threats]
            for row, row_threats in zip(rows, threats, strict=True)
        }
        found = {
            **made.to_dict(),
            "best": ranked[0].name,
            "next": next_steps,
            "attacks": told[id(ranked[0])],
        }
        listed: dict[str, Sequence[Choice | Shape]] = {
            "choices": made.choices,
            "baselines": made.baselines,
        }
        if several_messages:
            listed["shapes"] = others
        for key, group in listed.items():
            found[key] = [row.to_dict() | {"attacks": told[id(row)]} for row in group]
        print_json(found)
        return
    print_plan(made, others)
    print_attacks(list(zip(rows, threats, strict=True)))
    click.echo("next:")
    for step in next_steps:
        click.echo(f"  {step}")


_DATA = {
    "histogram": "--categories VALUES.txt",
    "heavy-hitters": "--letters {letters}",
    "quantiles": "--low LEAST --high MOST --bins {bins}",
    "mean": "--low LEAST --high MOST",
    "vector": "--low LEAST --high MOST",
}
"""What else a run of a task has to be told."""


def _next_steps(plan: Plan, best: Choice | Shape, saved: str | None, letters: int) -> list[str]:
    """Commands to paste: keep the budget, run a round."""
    from shuffledp.collection.planning import Shape, Sometimes

    task, target = plan.task, plan.target
    total = f"--epsilon {in_full(target.epsilon)} --delta {in_full(target.delta)}"
    steps, paid = [], ""
    if saved is not None:
        steps.append(f"shuffledp ledger init users {total} --plan {saved} --store book.db")
        paid = " --ledger book.db --cohort users"
    elif target.rounds > 1:
        steps.append("(the same with --save plan.json: then a ledger can count the rounds)")
    if isinstance(task, Sometimes):
        return [*steps, f"devices run {best.device.randomizer if best.device else best.name}"]
    data = _about_data(task, letters)
    if isinstance(best, Shape):
        steps.append(f"{data} --mechanism {best.name} {total}{_limits(target)}{paid}")
        if saved is not None:
            return steps
        paid = ""
    one = plan.best
    fixed = target.rounds > 1 or target.max_eps0 < math.inf or target.colluders
    budget = f"--eps0 {one.strength!r} --delta {in_full(target.delta)}" if fixed else total
    return [*steps, f"{data} --mechanism {one.name} {budget}{paid}"]


def _about_data(task: Task, letters: int) -> str:
    from shuffledp.collection.planning import Quantiles, Vector

    columns = " --column COLUMN" * (task.dimensions if isinstance(task, Vector) else 1)
    about = _DATA[task.name].format(
        letters=letters, bins=task.bins if isinstance(task, Quantiles) else 0
    )
    if isinstance(task, Vector) and task.norm is not None:
        about += " --norm NORM"
    return f"shuffledp run DATA.csv{columns} --task {task.name} {about}"


def _limits(target: Target) -> str:
    """What else a run of a shape has to keep."""
    said = f" --rounds {target.rounds}" if target.rounds > 1 else ""
    said += f" --colluders {target.colluders}" if target.colluders else ""
    return said + (f" --max-eps0 {target.max_eps0!r}" if target.max_eps0 < math.inf else "")


def _write_plan(plan: Plan, best: Choice | Shape, path: str) -> None:
    """As ``ledger init --plan`` reads it."""
    from shuffledp.accounting.protocols import Counted, Shuffled
    from shuffledp.collection.planning import Shape
    from shuffledp.files import write_whole
    from shuffledp.ledger.entries import Entry

    protocol: Counted | Shuffled
    if isinstance(best, Shape):
        protocol = best.protocol
    else:
        assert best.device is not None
        protocol = Shuffled(best.device.randomizer, plan.target.n, plan.target.colluders)
    listed = [{"spent": Entry(protocol, 1).description, "rounds": plan.target.rounds}]
    write_whole("save", Path(path), (json.dumps(listed, indent=2) + "\n").encode())
