"""shuffledp calibrate: which eps0, or how many users, for a target."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.accounting.protocols import calibrate as find
from shuffledp.accounting.protocols import calibrate_sigma
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import Count, json_option, mechanism_options, print_json
from shuffledp.labels import Status, in_full, outward


@click.command()
@mechanism_options
@click.option("--n", type=Count(), help="Number of users; asks the largest eps0, up to 60.")
@click.option("--epsilon", type=float, required=True, help="Target epsilon.")
@click.option("--delta", type=float, required=True, help="Target delta.")
@click.option(
    "--status",
    type=click.Choice([Status.PROVEN.value, Status.FIXED_PAIR.value], case_sensitive=False),
    default=Status.PROVEN.value,
    show_default=True,
    help="For every data set, or (gaussian) for the pair of shuffle-gaussian only.",
)
@json_option
def calibrate(
    n: int | None,
    eps0: float | None,
    epsilon: float,
    delta: float,
    status: str,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """The largest eps0 for --n users, or the fewest users for --eps0, that meet the target.

    For --mechanism gaussian: the smallest sigma.
    """
    if mechanism["mechanism"] == "gaussian":
        _sigma(n, epsilon, delta, status, as_json, eps0=eps0, **mechanism)
        return
    if status != Status.PROVEN.value:
        raise ParameterError("status", "PROVEN unless the mechanism is gaussian", status)

    if mechanism["mechanism"] == "channel":
        raise ParameterError("mechanism", "one with a budget eps0, or gaussian", "channel")

    def family(eps0: float) -> Any:
        return build(eps0=eps0, **mechanism)

    found = find(family, epsilon=epsilon, delta=delta, n=n, eps0=eps0)
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    shown = (
        f"{found.value:,}" if found.parameter == "n" else outward(found.value, up=False, digits=10)
    )
    word = "smallest" if found.parameter == "n" else "largest"
    click.echo(f"{word} {found.parameter}: {shown}")
    click.echo(
        f"checked: delta({in_full(epsilon)}) <= {_within(found.achieved.upper, delta)}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )


def _within(value: float, target: float) -> str:
    """Rounded up, to as many digits as it takes to see that it is below the target."""
    shown = (outward(value, up=True, digits=digits) for digits in range(6, 18))
    return f"{next((each for each in shown if float(each) < target), value)} <= {in_full(target)}"


def _sigma(
    n: int | None,
    epsilon: float,
    delta: float,
    status: str,
    as_json: bool,
    sensitivity: float | None,
    scalar: bool | None,
    ball: bool | None,
    check_in: float | None,
    drawn: int | None,
    rounds: int | None,
    mechanism: str,
    **others: Any,
) -> None:
    for name, value in others.items():
        if value is not None:
            raise ParameterError(
                name, f"left out: the smallest sigma for {mechanism} is asked", value
            )
    if n is None:
        raise ParameterError("n", "given", None)
    if check_in is not None and drawn is not None:
        raise ParameterError("drawn", "left out with --check-in", drawn)
    found = calibrate_sigma(
        epsilon=epsilon,
        delta=delta,
        n=n,
        sensitivity=2.0 if sensitivity is None else sensitivity,
        rounds=1 if rounds is None else rounds,
        rate=1.0 if check_in is None else check_in,
        drawn=drawn,
        scalar=bool(scalar),
        ball=bool(ball),
        status=Status(status),
    )
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    click.echo(f"smallest sigma: {in_full(found.sigma)}")
    click.echo(f"for: {found.protocol}")
    click.echo(
        f"checked: epsilon at delta = {in_full(delta)} is {_within(found.achieved.value, epsilon)}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )
    if found.achieved.note:
        click.echo(f"note: {found.achieved.note}")
