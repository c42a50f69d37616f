"""shuffledp calibrate: which eps0, or how many users, for a target."""

from __future__ import annotations

from typing import Any

import click

from shuffledp import checks
from shuffledp.accounting.protocols import SigmaCalibration, calibrate_allocation, calibrate_sigma
from shuffledp.accounting.protocols import calibrate as find
from shuffledp.accounting.protocols.named import SHAPE, SHAPES, out_of_place, smallest
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.display.sentences import say
from shuffledp.display.waiting import waiting
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import deployment_options, json_option, print_json
from shuffledp.labels import Status, in_full, outward


@click.command()
@deployment_options
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

    For --mechanism gaussian or allocation: the smallest sigma. With --only-sums: the largest eps0
    where sums are released. For dummies (--noise poisson, binomial, negative-binomial or
    truncated-laplace), noise-share (--noise polya, skellam, discrete-gaussian, binomial,
    negative-binomial or poisson) and split-and-mix the least noise, for sample-threshold the
    smallest threshold of a --rate.
    """
    if mechanism["mechanism"] == "allocation":
        _allocation(epsilon, delta, as_json, n=n, eps0=eps0, status=status, **mechanism)
        return
    if mechanism["only_sums"] or mechanism["mechanism"] in SHAPES:
        if status != Status.PROVEN.value:
            raise ParameterError("status", "PROVEN unless the mechanism is gaussian", status)
        _smallest(as_json, eps0=eps0, n=n, epsilon=epsilon, delta=delta, **mechanism)
        return
    messages = mechanism.pop("messages")
    if messages is not None:  # each is a round of its own
        times = checks.count("messages", messages)
        mechanism["rounds"] = times * checks.count("rounds", mechanism["rounds"] or 1)
    for name in (*SHAPE, "colluders", "minimum_batch"):
        if name == "messages":
            continue
        if (value := mechanism.pop(name)) is not None:
            raise ParameterError(name, out_of_place(name), value)
    if mechanism["mechanism"] == "gaussian":
        _sigma(n, epsilon, delta, status, as_json, eps0=eps0, **mechanism)
        return
    if status != Status.PROVEN.value:
        raise ParameterError("status", "PROVEN unless the mechanism is gaussian", status)

    if mechanism["mechanism"] == "channel":
        raise ParameterError("mechanism", "one with a budget eps0, or gaussian", "channel")

    def family(eps0: float) -> Any:
        return build(eps0=eps0, **mechanism)

    with waiting("calibrating"):
        found = find(family, epsilon=epsilon, delta=delta, n=n, eps0=eps0)
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    shown = (
        f"{found.value:,}" if found.parameter == "n" else outward(found.value, up=False, digits=10)
    )
    word = "smallest" if found.parameter == "n" else "largest"
    say(f"{word} {found.parameter}: {shown}")
    say(
        f"checked: delta({in_full(epsilon)}) <= {_within(found.achieved.upper, delta)}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )
    if found.note:
        say(f"note: {found.note}")


def _smallest(as_json: bool, *, epsilon: float, delta: float, **given: Any) -> None:
    found = smallest(epsilon=epsilon, delta=delta, **given)
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    word = "largest" if found.parameter == "eps0" else "smallest"
    say(f"{word} {found.parameter}: {in_full(found.value)}")
    say(f"for: {found.protocol}")
    say(
        f"checked: delta({in_full(epsilon)}) <= {_within(found.achieved.value, delta)}"
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
    if check_in == 0.0:
        raise ParameterError("check_in", "a number in (0, 1]", check_in)
    if check_in is not None and drawn is not None:
        raise ParameterError("drawn", "left out with --check-in", drawn)
    with waiting("calibrating"):
        found = calibrate_sigma(
            epsilon=epsilon,
            delta=delta,
            n=n,
            sensitivity=2.0 if sensitivity is None else sensitivity,
            rounds=1 if rounds is None else rounds,
            rate=1.0 if check_in is None else checks.unit("check_in", check_in),
            drawn=drawn,
            scalar=bool(scalar),
            ball=bool(ball),
            status=Status(status),
        )
    _print_sigma(found, epsilon, delta, as_json)


def _allocation(
    epsilon: float,
    delta: float,
    as_json: bool,
    steps: int | None,
    epochs: int | None,
    k: int | None,
    status: str,
    mechanism: str,
    **others: Any,
) -> None:
    for name, value in others.items():
        if value is not None:
            raise ParameterError(name, f"left out for {mechanism!r}", value)
    if status != Status.PROVEN.value:
        raise ParameterError("status", "PROVEN unless the mechanism is gaussian", status)
    if steps is None:
        raise ParameterError("steps", f"given for {mechanism!r}", None)
    with waiting("calibrating"):
        found = calibrate_allocation(
            epsilon=epsilon,
            delta=delta,
            steps=steps,
            epochs=1 if epochs is None else epochs,
            k=1 if k is None else k,
        )
    _print_sigma(found, epsilon, delta, as_json)


def _print_sigma(found: SigmaCalibration, epsilon: float, delta: float, as_json: bool) -> None:
    if as_json:
        print_json({**found.to_dict(), "target": {"epsilon": epsilon, "delta": delta}})
        return
    say(f"smallest sigma: {in_full(found.sigma)}")
    say(f"for: {found.protocol}")
    say(
        f"checked: epsilon at delta = {in_full(delta)} is {_within(found.achieved.value, epsilon)}"
        f" ({found.achieved.status.value} by {found.achieved.theorem})"
    )
    if found.achieved.note:
        say(f"note: {found.achieved.note}")
