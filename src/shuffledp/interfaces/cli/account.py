"""shuffledp account: the guarantee of one deployment."""

from __future__ import annotations

import time
from typing import Any

import click

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.gaussian import pair_values
from shuffledp.accounting.protocols.named import deployment as described
from shuffledp.accounting.protocols.named import question, settings
from shuffledp.display.sentences import say
from shuffledp.display.waiting import waiting
from shuffledp.interfaces.cli.budgets import account_budgets, budget_options, taken
from shuffledp.interfaces.cli.options import (
    deployment_options,
    json_option,
    plot_option,
    print_json,
    question_options,
)
from shuffledp.labels import Direction, Status, Value, outward


def _shown(answer: Value, quantity: str) -> str:
    """Rounded to where it stays a bound."""
    return outward(
        answer.value, up=(answer.direction is not Direction.LOWER) != (quantity == "tradeoff")
    )


@click.command()
@deployment_options
@budget_options
@question_options
@click.option("--theorem", help="Ask one theorem by id instead of the best proven interval.")
@json_option
@plot_option
def account(
    delta: float | None,
    epsilon: float | None,
    order: float | None,
    alpha: float | None,
    theorem: str | None,
    as_json: bool,
    plot: str | None,
    **mechanism: Any,
) -> None:
    """What does shuffling guarantee? A proven bound and what a concrete data set leaks."""
    asked = question(delta=delta, epsilon=epsilon, order=order, alpha=alpha)
    chosen = taken(mechanism)
    if chosen["budgets"] is not None:
        account_budgets(chosen, asked, as_json, plot, theorem=theorem, **mechanism)
        return
    deployment = described(**mechanism)
    (given, value), quantity = next(iter(asked.items())), QUESTIONS[next(iter(asked))]
    context = {**settings(deployment), given: value}
    start = time.perf_counter()
    if theorem is not None:
        with waiting(quantity):
            answer = deployment.bound(theorem, **asked)
        seconds = time.perf_counter() - start
        data = {**answer.to_dict(), **context, "seconds": seconds}
        if as_json:
            print_json(data)
            return
        proven = answer.status is Status.PROVEN
        label = f"PROVEN by {theorem}" if proven else f"{theorem}, which is {answer.status.value}"
        say(
            f"{quantity} {_shown(answer, quantity)}: {label}"
            f" ({answer.direction.value} for the privacy loss)"
        )
        if answer.note:
            say(f"note: {answer.note}")
        return
    with waiting(quantity):
        interval = deployment.ask(**asked)
        pair = pair_values(deployment, **asked) if isinstance(deployment, Shuffled) else {}
    seconds = time.perf_counter() - start
    if plot is not None:
        from shuffledp.display.plot import save_account

        save_account(deployment, given, value, interval, plot)
    if as_json:
        print_json(
            {
                quantity: interval.to_dict(),
                "status": interval.status.value,
                "direction": interval.guarantee.direction.value,
                "theorem": interval.theorem,
                **pair,
                **context,
                "seconds": seconds,
            }
        )
        return
    from shuffledp.display.text import print_account

    print_account(deployment, given, value, interval, seconds)
    if pair:
        from shuffledp.display.gaussian import print_pair

        print_pair(pair, quantity)
