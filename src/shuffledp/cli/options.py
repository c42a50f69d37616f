"""Options and output shared by the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from shuffledp.errors import ParameterError
from shuffledp.protocols import Shuffled
from shuffledp.protocols.shuffled import QUESTIONS
from shuffledp.randomizers import LDP

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
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)


def protocol_options(command: F) -> F:
    """--eps0, --delta0 and --n."""
    for option in (
        click.option("--n", type=Count(), required=True, help="Number of users."),
        click.option("--delta0", type=float, default=0.0, help="Local delta, if approximate."),
        click.option(
            "--eps0", type=float, required=True, help="Local privacy budget of each user."
        ),
    ):
        command = option(command)
    return command


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
    "--plot", type=click.Path(dir_okay=False), help="Also write a picture to this file."
)


def protocol(eps0: float, delta0: float, n: int) -> Shuffled:
    """The protocol the options describe."""
    return Shuffled(LDP(eps0, delta0) if delta0 else LDP(eps0), n)


def question(**given: float | None) -> dict[str, float]:
    """The one question asked."""
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1:
        raise ParameterError(
            "question",
            "exactly one of " + ", ".join(f"--{name}" for name in QUESTIONS),
            sorted(asked),
        )
    return asked


def print_json(data: object) -> None:
    """JSON on stdout; infinities and NaN are never written."""
    click.echo(json.dumps(data, indent=2, allow_nan=False))
