"""shuffledp encode: what the devices do."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.collection import (
    bar,
    job,
    pure_budget,
    question_about_data,
    simulation_option,
    stream,
)
from shuffledp.interfaces.cli.options import json_option, print_json
from shuffledp.interfaces.cli.paths import TABLE
from shuffledp.labels import counted


class Part(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.2
    """2/4: the second of four."""

    name = "i/k"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        part, slash, parts = str(value).partition("/")
        if not (
            slash and part.isascii() and part.isdigit() and parts.isascii() and parts.isdigit()
        ):
            self.fail(f"{value!r} is not like 2/4", param, ctx)
        return int(part), int(parts)


@click.command()
@question_about_data
@click.option(
    "--out", type=TABLE, required=True, help="Write the reports to this .csv or .parquet file."
)
@click.option(
    "--collection", default="", help="Name of a collection whose users are in several tables."
)
@click.option(
    "--part",
    type=Part(),
    default="1/1",
    show_default=True,
    help="Which of its tables this is; nobody is in two of them. --n counts the users of all.",
)
@simulation_option
@json_option
def encode(
    data: str,
    out: str,
    collection: str,
    part: tuple[int, int],
    n: int | None,
    simulation: int | None,
    as_json: bool,
    **question: Any,
) -> None:
    """Randomize every row of DATA; the reports are not shuffled yet."""
    from shuffledp.collection.devices import SIMULATED
    from shuffledp.collection.pipeline import encode as randomize

    if part[1] > 1 and n is None:
        raise ParameterError("n", "given with --part: the users of all parts", None)
    parts: dict[str, Any] = {"collection": collection, "part": part[0], "parts": part[1]}
    asked = job(data, n=n, **parts, **question)
    with bar("randomizing", asked.most_users) as advance:
        number, dropped = randomize(asked, data, out, stream(simulation), advance)
    if as_json:
        print_json(
            {
                "reports": number,
                "dropped": dropped,
                "file": out,
                "n": asked.n,
                "users": asked.most_users,
                **parts,
                "mechanism": str(asked.device.randomizer),
                "eps0": pure_budget(asked),
                "shuffled": False,
                "simulated": simulation is not None,
                "categories_from_data": asked.values_from_data,
            }
        )
        return
    say(f"{counted(number, 'report')}: {asked.device.randomizer}")
    if dropped:
        say(f"{counted(dropped, 'row')} dropped")
    say(f"{out}: NOT SHUFFLED; hand it to the shuffler only")
    if simulation is not None:
        say(SIMULATED)
