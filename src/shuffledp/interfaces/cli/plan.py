"""shuffledp plan: which randomizer to use."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import Count, OneOf, json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import READ, WRITTEN
from shuffledp.labels import in_full

if TYPE_CHECKING:
    from shuffledp.accounting.protocols import Counted, Shuffled
    from shuffledp.collection.planning import Choice, Plan, Shape, Target, Task


@click.command()
@click.option(
    "--task",
    "task",
    type=OneOf(
        ["histogram", "heavy-hitters", "quantiles", "mean", "mean,quantiles", "sum", "vector"]
    ),
    help="What to estimate.",
)
@click.option(
    "--tasks",
    type=READ,
    help="Several questions under one guarantee: a file in TOML, a [[task]] for each.",
)
@click.option("--k", type=int, help="Number of values (histogram).")
@click.option("--bins", type=int, default=64, show_default=True, help="Cells (quantiles).")
@click.option(
    "--letters", type=int, default=4, show_default=True, help="Bytes of a word (heavy-hitters)."
)
@click.option("--dimensions", type=int, help="Numbers per user (vector).")
@click.option("--norm", type=float, help="Largest distance of a vector from the middle (range 1).")
@click.option(
    "--messages",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Messages a user may send, shuffled separately and linked by nothing (vector).",
)
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
    task: str | None,
    tasks: str | None,
    k: int | None,
    bins: int,
    letters: int,
    dimensions: int | None,
    norm: float | None,
    messages: int,
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

    Ends with the command that runs the best one. With --tasks one for each of several questions,
    all under one guarantee.
    """
    from shuffledp.collection.planning import Sometimes, Target, attacks, shapes
    from shuffledp.collection.planning import plan as make
    from shuffledp.collection.planning import task as question
    from shuffledp.display.plan import print_attacks, print_plan, save_plan
    from shuffledp.display.text import progress

    cap = math.inf if max_eps0 is None else max_eps0
    target = Target(epsilon, delta, n, rounds, cap, colluders)
    if tasks is not None:
        given = {"task": task, "k": k, "dimensions": dimensions, "norm": norm}
        given |= {"check_in": check_in, "plot": plot}
        given |= {"messages": None if messages == 1 else messages}
        given |= {"several_messages": several_messages or None}
        for option, value in given.items():
            if value is not None:
                raise ParameterError(option, "left out with --tasks", value)
        _plan_together(tasks, target, save, as_json)
        return
    if task is None:
        raise ParameterError("task", "given, or else --tasks", None)
    if messages > 1 and task != "vector":
        raise ParameterError("messages", "left out unless the task is vector", messages)
    if messages > 1 and check_in is not None:
        raise ParameterError("check_in", "left out with --messages", check_in)
    whole = "mean" if task == "sum" else task  # a sum of n numbers is n times their mean
    asked = question(
        whole,
        k=k,
        bins=bins,
        bits=8 * letters,
        dimensions=dimensions,
        norm=norm,
        messages=messages,
        n=n,
    )
    if check_in is not None:
        asked = Sometimes(asked, check_in)
    made = make(asked, target, lambda names: progress(names, "calibrating"))
    others = (
        shapes(asked, target, lambda names: progress(names, "other shapes"))
        if several_messages
        else ()
    )
    ranked = made.ranked(others)
    rows = [*ranked, *made.baselines]
    threats = [attacks(row, target) for row in rows]
    if "quantiles" in task:  # what is known is how far a cell moves, not all below the median
        threats = [
            [replace(each, bias=None if each.share else 0.0) for each in row] for row in threats
        ]
    booked = "" if save is None else " --ledger book.db --cohort users"
    commands = [_command(made, row, letters) for row in ranked]
    next_steps = [*_before(made, save), commands[0] + booked]
    if plot is not None:
        save_plan(made, plot)
    if save is not None:
        _write_plan(made, ranked[0], save)
    if as_json:
        told: dict[int, dict[str, Any]] = {
            id(row): {"attacks": [asdict(each) for each in row_threats]}
            for row, row_threats in zip(rows, threats, strict=True)
        }
        for row, command in zip(ranked, commands, strict=True):
            told[id(row)]["command"] = command
        found = {
            **made.to_dict(),
            "best": ranked[0].name,
            "next": next_steps,
            "attacks": told[id(ranked[0])]["attacks"],
        }
        listed: dict[str, Sequence[Choice | Shape]] = {
            "choices": made.choices,
            "baselines": made.baselines,
        }
        if several_messages:
            listed["shapes"] = others
        for key, group in listed.items():
            found[key] = [row.to_dict() | told[id(row)] for row in group]
        print_json(found)
        return
    print_plan(made, others)
    print_attacks(list(zip(rows, threats, strict=True)))
    click.echo("next:")
    for step in next_steps:
        _print_step(step)
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


def _print_step(step: str) -> None:
    """A command in one line, to paste; a remark broken between words."""
    if step.startswith("("):
        say(f"  {step}")
    else:
        click.echo(f"  {step}")


def _before(plan: Plan, saved: str | None) -> list[str]:
    """What to do before a round is run: keep the budget."""
    if saved is not None:
        return [f"shuffledp ledger init users {_total(plan)} --plan {saved} --store book.db"]
    if (rounds := plan.target.rounds) > 1:
        cost = f"each command is one of {rounds:,} rounds, which cost {_total(plan)} together"
        return [f"({cost}; with --save plan.json a ledger can count them)"]
    return []


def _total(plan: Plan) -> str:
    return f"--epsilon {in_full(plan.target.epsilon)} --delta {in_full(plan.target.delta)}"


def _command(plan: Plan, row: Choice | Shape, letters: int) -> str:
    """To paste: runs a round of this row."""
    from shuffledp.collection.planning import MeanQuantiles, Shape, Sometimes

    task, target = plan.task, plan.target
    fixed = target.rounds > 1 or target.max_eps0 < math.inf or target.colluders
    silent = ""
    if isinstance(task, Sometimes):
        silent, task = f" --check-in {in_full(task.rate)}", task.asked
    run = f"{_about_data(task, letters)}{silent} --mechanism {row.name}"
    if isinstance(row, Shape):
        return f"{run} {_total(plan)}{_limits(target)}"
    if row.messages > 1:
        run += f" --messages {row.messages}"
    if isinstance(task, MeanQuantiles):
        run += f" --windows {task.chosen(row.name, row.strength).windows}"
    if not fixed:
        return f"{run} {_total(plan)}"
    budget = "--eps0" if row.eps0 is not None else "--strength"
    return f"{run} {budget} {row.strength!r} --delta {in_full(target.delta)}"


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
    from shuffledp.accounting.protocols import Shuffled
    from shuffledp.collection.planning import Shape, Vector

    if isinstance(best, Shape):
        _write([(best.protocol, 1)], plan.target.rounds, path)
        return
    assert best.device is not None
    sent = [(best.device.randomizer, 1)]
    if best.messages > 1 and isinstance(plan.task, Vector):
        sent = plan.task.devices(best.name, best.strength)
    crowd = plan.target.n, plan.target.colluders
    _write([(Shuffled(each, *crowd), times) for each, times in sent], plan.target.rounds, path)


def _write(sent: Sequence[tuple[Counted | Shuffled, int]], rounds: int, path: str) -> None:
    from shuffledp.accounting.protocols import Rounds
    from shuffledp.files import write_whole
    from shuffledp.ledger.entries import Entry

    entry = Entry.of(Rounds(sent), rounds)
    listed = [{"spent": entry.description, "rounds": entry.rounds}]
    write_whole("save", Path(path), (json.dumps(listed, indent=2) + "\n").encode())


def _plan_together(tasks: str, target: Target, save: str | None, as_json: bool) -> None:
    """Several questions: what each gets of the budget, and what to run."""
    from shuffledp.collection.pipeline import questionnaire
    from shuffledp.collection.planning import together
    from shuffledp.display.plan import print_together
    from shuffledp.display.text import progress

    promise = {"epsilon": target.epsilon, "delta": target.delta, "n": target.n}
    asked = questionnaire(tasks, **promise)
    found = together(
        [each.wanted for each in asked.questions],
        target,
        lambda names: progress(names, "calibrating"),
    )
    about = [each.asked.about for each in asked.questions]
    total = f"--epsilon {in_full(target.epsilon)} --delta {in_full(target.delta)}"
    steps = []
    paid = ""
    if save is not None:
        pairs = zip(asked.questions, found.choices, strict=True)
        sent = [
            (replace(job.protocol, colluders=target.colluders), 1)
            for each, choice in pairs
            for job in each.answered_by(choice).messages
        ]
        _write(sent, target.rounds, save)
        steps.append(f"shuffledp ledger init users {total} --plan {save} --store book.db")
        paid = " --ledger book.db --cohort users"
    if target == type(target)(target.epsilon, target.delta, target.n):
        steps.append(f"shuffledp run DATA.csv --tasks {tasks} {total}{paid}")
    else:
        steps.append("(`run --tasks` is for one round, without --max-eps0 and --colluders)")
    if as_json:
        made = found.to_dict()
        for each, words in zip(made["tasks"], about, strict=True):
            each["about"] = words
        print_json({**made, "next": steps})
        return
    print_together(found, about)
    click.echo("next:")
    for step in steps:
        click.echo(f"  {step}")
