"""shuffledp account --budgets: a budget per user."""

from __future__ import annotations

import time
from typing import Any

import click
from click.core import ParameterSource

from shuffledp.display.sentences import say
from shuffledp.display.waiting import waiting
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import added, print_json
from shuffledp.interfaces.cli.paths import READ

UNSTATED = (
    "Whether budgets are visible was not stated, so the worst is assumed. If nothing but the report"
    " leaves the device say --budgets-hidden: everybody then hides everybody. "
)
_NAMES = ("budgets", "column", "budgets_visible", "local_delta")


budget_options = added(
    click.option("--budgets", type=READ, help="CSV file with a header and a budget per user."),
    click.option("--column", help="Column of the budgets.  [default: eps]"),
    click.option(
        "--budgets-visible/--budgets-hidden",
        default=None,
        help="Does a user's budget travel next to the report? Please state it with --budgets;"
        " otherwise the worst is assumed.",
    ),
    click.option("--local-delta", type=float, help="Local delta of all users (gaussian)."),
)


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """The options above, removed from the rest; without --budgets none may be given."""
    chosen = {name: options.pop(name) for name in _NAMES}
    source = click.get_current_context().get_parameter_source("mechanism")
    if chosen["budgets"] is not None and source is ParameterSource.DEFAULT:
        raise ParameterError("mechanism", "given with --budgets", None)
    for name, value in chosen.items():
        if chosen["budgets"] is None and value is not None:
            raise ParameterError(name, "left out without --budgets", value)
    return chosen


def account_budgets(
    chosen: dict[str, Any],
    asked: dict[str, float],
    as_json: bool,
    plot: str | None,
    mechanism: str,
    k: int | None = None,
    colluders: int | None = None,
    minimum_batch: int | None = None,
    **given: Any,
) -> None:
    """The guarantee of every class of users."""
    from shuffledp.accounting.protocols.budgets import read_budgets
    from shuffledp.accounting.protocols.personalized import Personalized
    from shuffledp.accounting.randomizers.families import family

    visible, unstated = chosen["budgets_visible"], ""
    if visible is None:
        visible, unstated = True, UNSTATED
    for name, value in given.items():
        if value is not None:
            raise ParameterError(name, "left out with --budgets", value)
    (question, value) = next(iter(asked.items()))
    if question not in ("delta", "epsilon"):
        raise ParameterError("question", "--delta or --epsilon with --budgets", question)
    deployment = Personalized(
        family(mechanism, k),
        read_budgets(chosen["budgets"], chosen["column"] or "eps"),
        budgets_visible=visible,
        deltas=chosen["local_delta"],
        colluders=colluders or 0,
        minimum_batch=minimum_batch,
    )
    start = time.perf_counter()
    with waiting("every class of users"):
        answer = deployment.guarantees(**{question: value})
    seconds = time.perf_counter() - start
    if plot is not None:
        from shuffledp.display.personalized import save_guarantees

        save_guarantees(answer, plot)
    if as_json:
        worst = answer.worst
        print_json(
            {
                answer.quantity: worst.interval.to_dict(),
                "status": worst.interval.status.value,
                "direction": worst.interval.guarantee.direction.value,
                "theorem": worst.interval.theorem,
                "n": deployment.n,
                "mechanism": deployment.family.name,
                "eps0": worst.eps0,
                question: value,
                "budgets_visible": deployment.budgets_visible,
                "warning": unstated + answer.warning,
                "classes": [each.to_dict() for each in answer.classes],
                "seconds": seconds,
            }
        )
        return
    from shuffledp.display.personalized import print_guarantees

    print_guarantees(deployment, answer, seconds)
    if unstated:
        say(unstated.strip(), err=True)
