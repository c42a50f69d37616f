"""shuffledp refute: try to break a claimed guarantee."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.accounting.protocols import RefutationAttempt
from shuffledp.accounting.protocols import refute as search
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.display.sentences import say
from shuffledp.display.waiting import waiting
from shuffledp.interfaces.cli.options import Count, json_option, mechanism_options, print_json
from shuffledp.labels import in_full, outward


@click.command()
@mechanism_options
@click.option("--n", type=Count(), required=True, help="Number of users.")
@click.option("--epsilon", type=float, required=True, help="Claimed epsilon.")
@click.option("--delta", type=float, required=True, help="Claimed delta.")
@json_option
@click.pass_context
def refute(
    context: click.Context,
    /,
    n: int,
    epsilon: float,
    delta: float,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Search concrete data sets that leak more than the claimed (epsilon, delta).

    Exit code 1 if one is found; 'shuffledp check' also says whether the claim is proven.
    """
    randomizer = build(**mechanism)
    with waiting("data sets"):
        found = search(randomizer, n, epsilon=epsilon, delta=delta)
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found, epsilon)
    context.exit(int(found.refuted))


def _print(found: RefutationAttempt, epsilon: float) -> None:
    if found.refuted:
        say(
            f"REFUTED: delta({in_full(epsilon)}) >= {outward(found.delta, up=False)},"
            f" {found.factor:.3g} times the claim"
        )
        say(f"data set: {found.dataset}")
    else:
        say(
            f"not refuted: the worst data set found leaks delta({in_full(epsilon)})"
            f" = {outward(found.delta, up=False)}"
        )
        say(f"data set: {found.dataset}")
    say(f"searched: {found.searched}")
