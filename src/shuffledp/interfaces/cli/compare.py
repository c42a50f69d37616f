"""shuffledp compare: every bound for one question, side by side."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.named import protocol, question
from shuffledp.display.waiting import waiting
from shuffledp.interfaces.cli.options import (
    json_option,
    plot_option,
    print_json,
    protocol_options,
    question_options,
)


@click.command()
@protocol_options
@question_options
@json_option
@plot_option
def compare(
    delta: float | None,
    epsilon: float | None,
    order: float | None,
    alpha: float | None,
    as_json: bool,
    plot: str | None,
    **mechanism: Any,
) -> None:
    """All applicable bounds, labelled, from the smallest value to the largest."""
    asked = question(delta=delta, epsilon=epsilon, order=order, alpha=alpha)
    deployment = protocol(**mechanism)
    quantity = QUESTIONS[next(iter(asked))]
    with waiting(quantity):
        values, silent = deployment.survey(**asked)
    if plot is not None:
        from shuffledp.display.plot import save_comparison

        save_comparison(deployment, values, quantity, asked, plot)
    if as_json:
        listed = [value.to_dict() for value in values]
        print_json({"quantity": quantity, "bounds": listed, "no_answer": dict(silent)})
        return
    from shuffledp.display.text import print_comparison

    print_comparison(deployment, quantity, values, silent)
