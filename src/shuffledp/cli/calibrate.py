"""shuffledp calibrate: which eps0, or how many users, for a target."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.options import Count, json_option, mechanism_options, print_json, randomizer
from shuffledp.errors import ParameterError
from shuffledp.protocols import calibrate as find
from shuffledp.protocols import calibrate_sigma


@click.command()
@mechanism_options
@click.option("--n", type=Count(), help="Number of users; asks the largest eps0.")
@click.option("--epsilon", type=float, required=True, help="Target epsilon.")
@click.option("--delta", type=float, required=True, help="Target delta.")
@json_option
def calibrate(
    n: int | None, eps0: float | None, epsilon: float, delta: float, as_json: bool, **mechanism: Any
) -> None:
    """The largest eps0 for --n users, or the fewest users for --eps0, that meet the target.

    For --mechanism gaussian: the smallest sigma.
    """
    if mechanism["mechanism"] == "gaussian":
        _sigma(n, epsilon, delta, as_json, **mechanism)
        return

    if mechanism["mechanism"] == "channel":
        raise ParameterError("mechanism", "one with a budget eps0, or gaussian", "channel")

    def family(eps0: float) -> Any:
        return randomizer(eps0=eps0, **mechanism)

    found = find(family, epsilon=epsilon, delta=delta, n=n, eps0=eps0)
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    shown = f"{found.value:,}" if found.parameter == "n" else f"{found.value:.10g}"
    word = "smallest" if found.parameter == "n" else "largest"
    click.echo(f"{word} {found.parameter}: {shown}")
    click.echo(
        f"checked: delta({epsilon:g}) <= {found.achieved.upper:.6g} <= {delta:g}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )


def _sigma(
    n: int | None,
    epsilon: float,
    delta: float,
    as_json: bool,
    sensitivity: float | None,
    check_in: float | None,
    drawn: int | None,
    rounds: int | None,
    **_others: Any,
) -> None:
    found = calibrate_sigma(
        epsilon=epsilon,
        delta=delta,
        n=n if n is not None else 0,
        sensitivity=2.0 if sensitivity is None else sensitivity,
        rounds=rounds or 1,
        rate=1.0 if check_in is None else check_in,
        drawn=drawn,
    )
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    click.echo(f"smallest sigma: {found.sigma:.6g}")
    click.echo(f"for: {found.protocol}")
    click.echo(
        f"checked: epsilon at delta = {delta:g} is {found.achieved.value:.6g} <= {epsilon:g}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )
