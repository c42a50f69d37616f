"""shuffledp plan: which randomizer to use."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shuffledp.interfaces.cli.options import Count, json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import WRITTEN
from shuffledp.labels import in_full

if TYPE_CHECKING:
    from shuffledp.collection.planning import Choice, Plan


@click.command()
@click.option(
    "--task",
    "name",
    type=click.Choice(
        ["histogram", "heavy-hitters", "quantiles", "mean", "mean,quantiles", "sum", "vector"]
    ),
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
    from shuffledp.collection.planning import Shape, Sometimes, Target, attacks, shapes
    from shuffledp.collection.planning import plan as make
    from shuffledp.collection.planning import task as question
    from shuffledp.display.plan import print_attacks, print_plan, save_plan
    from shuffledp.display.text import progress

    whole = "mean" if name == "sum" else name  # a sum of n numbers is n times their mean
    asked = question(whole, k=k, bins=bins, bits=8 * letters, dimensions=dimensions, norm=norm, n=n)
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
    candidates: list[Choice | Shape] = [made.best, *others]
    best = min(candidates, key=lambda choice: choice.error)
    threats = attacks(best, target)
    if "quantiles" in name:  # what is known is how far a cell moves, not all below the median
        threats = [replace(each, bias=None if each.share else 0.0) for each in threats]
    commands = [_command(made, choice, save, letters) for choice in made.choices]
    next_steps = [*_before(made, save), commands[0]]
    if plot is not None:
        save_plan(made, plot)
    if save is not None:
        _write_plan(made, save)
    if as_json:
        found = made.to_dict()
        for choice, command in zip(found["choices"], commands, strict=True):
            choice["command"] = command
        found |= {
            "next": next_steps,
            "attacks": [asdict(threat) for threat in threats],
        }
        if several_messages:
            found["shapes"] = [shape.to_dict() for shape in others]
        print_json(found)
        return
    print_plan(made, others)
    print_attacks(best.name, threats)
    click.echo("next:")
    for step in next_steps:
        click.echo(f"  {step}")
    if commands[1:]:
        click.echo("other rows of the table:")
    for command in commands[1:]:
        click.echo(f"  {command}")


_DATA = {
    "histogram": "--categories VALUES.txt",
    "heavy-hitters": "--letters {letters}",
    "quantiles": "--low LEAST --high MOST --bins {bins}",
    "mean": "--low LEAST --high MOST",
    "mean,quantiles": "--low LEAST --high MOST",
    "vector": "--low LEAST --high MOST",
}
"""What else a run of a task has to be told."""


def _before(plan: Plan, saved: str | None) -> list[str]:
    """What to do before a round is run: keep the budget."""
    if saved is not None:
        return [f"shuffledp ledger init users {_total(plan)} --plan {saved} --store book.db"]
    if plan.target.rounds > 1:
        return ["(the same with --save plan.json: then a ledger can count the rounds)"]
    return []


def _total(plan: Plan) -> str:
    return f"--epsilon {in_full(plan.target.epsilon)} --delta {in_full(plan.target.delta)}"


def _command(plan: Plan, choice: Choice, saved: str | None, letters: int) -> str:
    """To paste: runs a round of this choice."""
    from shuffledp.collection.planning import MeanQuantiles, Quantiles, Sometimes, Vector

    task, target = plan.task, plan.target
    fixed = target.rounds > 1 or target.max_eps0 < math.inf or target.colluders
    if isinstance(task, Sometimes) or (fixed and choice.eps0 is None):
        return f"devices run {choice.device.randomizer if choice.device else choice.name}"
    columns = " --column COLUMN" * (task.dimensions if isinstance(task, Vector) else 1)
    about = _DATA[task.name].format(
        letters=letters, bins=task.bins if isinstance(task, Quantiles) else 0
    )
    if isinstance(task, Vector) and task.norm is not None:
        about += " --norm NORM"
    if isinstance(task, MeanQuantiles):
        about += f" --windows {task.chosen(choice.name, choice.strength).windows}"
    budget = _total(plan)
    if fixed:
        budget = f"--eps0 {choice.strength!r} --delta {in_full(target.delta)}"
    paid = " --ledger book.db --cohort users" if saved is not None and choice is plan.best else ""
    return (
        f"shuffledp run DATA.csv{columns} --task {task.name} {about}"
        f" --mechanism {choice.name} {budget}{paid}"
    )


def _write_plan(plan: Plan, path: str) -> None:
    """As ``ledger init --plan`` reads it."""
    from shuffledp.accounting.protocols import Shuffled
    from shuffledp.files import write_whole
    from shuffledp.ledger.entries import Entry

    assert plan.best.device is not None
    protocol = Shuffled(plan.best.device.randomizer, plan.target.n, plan.target.colluders)
    listed = [{"spent": Entry(protocol, 1).description, "rounds": plan.target.rounds}]
    write_whole("save", Path(path), (json.dumps(listed, indent=2) + "\n").encode())
