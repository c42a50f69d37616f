"""Options and output shared by the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from shuffledp.accounting.randomizers.catalogue import MECHANISMS
from shuffledp.interfaces.cli.paths import PICTURE, READ

F = TypeVar("F", bound=Callable[..., Any])


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.2
    """A whole number; 1e6 and 1_000_000 are fine."""

    name = "integer"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        if isinstance(value, int | float):
            return value
        try:
            return int(value)
        except ValueError:
            pass
        try:
            number = float(value)
            return int(number) if number.is_integer() else number
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)


_MECHANISM = (
    click.option("--mechanism", default="ldp", show_default=True, help=", ".join(MECHANISMS) + "."),
    click.option("--eps0", type=float, help="Local privacy budget of each user."),
    click.option("--k", type=Count(), help="Number of values (krr, rappor, oue, subset)."),
    click.option("--g", type=Count(), help="Hash range (olh; default: the optimum)."),
    click.option("--d", type=Count(), help="Subset size (subset; default: the optimum)."),
    click.option("--levels", type=Count(), help="Largest value (discrete-laplace)."),
    click.option("--sigma", type=float, help="Noise deviation (gaussian)."),
    click.option(
        "--sensitivity",
        type=float,
        help="Largest distance of two values (gaussian; default 2, the diameter of the unit ball"
        " that values are clipped to).",
    ),
    click.option(
        "--scalar",
        is_flag=True,
        default=None,
        help="Values are numbers in an interval, not vectors (gaussian): a better guarantee.",
    ),
    click.option(
        "--channel", type=READ, help="CSV file, one row of probabilities per input (channel)."
    ),
)
_REPORTING = (
    click.option("--delta0", type=float, help="Local delta, if approximate (ldp)."),
    click.option("--check-in", "check_in", type=float, help="Probability that a user reports."),
    click.option("--drawn", type=Count(), help="Users drawn each round, without replacement."),
    click.option("--rounds", type=Count(), help="Rounds of reports by the same users."),
)
_CROWD = (
    click.option("--n", type=Count(), help="Number of users."),
    click.option("--colluders", type=Count(), help="Users who tell the analyst their reports."),
    click.option("--minimum-batch", type=Count(), help="Fewest reports ever released together."),
)


def device_options(command: F) -> F:
    """--mechanism and the parameters of a report."""
    for option in reversed(_MECHANISM):
        command = option(command)
    return command


def mechanism_options(command: F) -> F:
    """--mechanism and its parameters, also who reports, and how often."""
    for option in reversed(_REPORTING):
        command = option(command)
    return device_options(command)


def protocol_options(command: F) -> F:
    """--mechanism and its parameters, --n, --colluders, --minimum-batch."""
    for option in reversed(_CROWD):
        command = option(command)
    return mechanism_options(command)


def question_options(command: F) -> F:
    """One of --delta, --epsilon, --order, --alpha."""
    for option in (
        click.option("--alpha", type=float, help="Type I error; asks the trade-off function."),
        click.option("--order", type=float, help="Rényi order; asks the divergence."),
        click.option("--epsilon", type=float, help="Asks delta at this epsilon."),
        click.option("--delta", type=float, help="Asks epsilon at this delta."),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
plot_option = click.option(
    "--plot",
    type=PICTURE,
    help="Also write a picture to this file (.png, .pdf or .svg).",
)


def print_json(data: object) -> None:
    """JSON on stdout; infinities and NaN are never written."""
    click.echo(json.dumps(data, indent=2, allow_nan=False))
