"""Options and output shared by the commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from shuffledp import checks
from shuffledp.accounting.protocols.named import CROWD, QUESTION, SHAPE, SHAPES
from shuffledp.accounting.randomizers.catalogue import OFFERED, PARAMETERS, Parameter
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


class OneOf(click.Choice):  # type: ignore[type-arg]
    """A name of a list; unknown ones get the error of the library, with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return checks.one_of(param.name if param and param.name else "value", value, self.choices)


_TYPES: dict[type, dict[str, Any]] = {
    float: {"type": float},
    int: {"type": Count()},
    bool: {"is_flag": True, "default": None},
    Path: {"type": READ},
    str: {"type": str},
}


def added(*options: Callable[[F], F]) -> Callable[[F], F]:
    """All these options, in this order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def _options(table: Mapping[str, Parameter]) -> list[Callable[[F], F]]:
    """Of a table of parameters."""
    return [
        click.option(f"--{name.replace('_', '-')}", help=each.help(name), **_TYPES[each.kind])
        for name, each in table.items()
    ]


_RUN = {name for row in OFFERED.values() if not row.no_device for name in row.parameters}
"""What a device can be told."""


def _mechanism(names: list[str]) -> Callable[[F], F]:
    return click.option(
        "--mechanism",
        type=OneOf(names),
        default="ldp",
        show_default=True,
        help="What each user runs.",
    )


_device: list[Any] = _options({name: x for name, x in PARAMETERS.items() if name in _RUN})
_others: list[Any] = _options({name: x for name, x in PARAMETERS.items() if name not in _RUN})
device_options = added(_mechanism(list(OFFERED)), *_device)
mechanism_options = added(device_options, *_others)
protocol_options = added(mechanism_options, *_options(CROWD))
deployment_options = added(
    _mechanism([*OFFERED, *SHAPES]), *_device, *_others, *_options(CROWD), *_options(SHAPE)
)
question_options = added(*_options(QUESTION))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
plot_option = click.option(
    "--plot",
    type=PICTURE,
    help="Also write a picture to this file (.png, .pdf or .svg).",
)


SCHEMA = 1
"""Grows when a field of an answer in JSON goes or means something else; fields may come."""


def command_name(context: click.Context) -> str:
    """Without the program: ``ledger show``."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)


def print_json(data: Mapping[str, object]) -> None:
    """JSON on stdout, which names its schema; infinities and NaN are never written."""
    named = {"schema": f"{command_name(click.get_current_context())}/{SCHEMA}", **data}
    click.echo(json.dumps(named, indent=2, allow_nan=False))
