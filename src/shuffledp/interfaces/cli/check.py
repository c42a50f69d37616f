"""shuffledp check: is a claimed guarantee right?"""

from __future__ import annotations

from typing import Any

import click

from shuffledp.accounting.protocols.check import OPEN, PROVEN, REFUTED, Verdict
from shuffledp.accounting.protocols.check import check as judge
from shuffledp.accounting.protocols.named import deployment as described
from shuffledp.accounting.protocols.named import settings
from shuffledp.display.sentences import say
from shuffledp.display.waiting import waiting
from shuffledp.interfaces.cli.options import deployment_options, json_option, print_json
from shuffledp.labels import in_full, outward

_EXIT = {PROVEN: 0, REFUTED: 1, OPEN: 3}


@click.command()
@deployment_options
@click.option("--epsilon", type=float, required=True, help="Claimed epsilon.")
@click.option("--delta", type=float, required=True, help="Claimed delta.")
@json_option
@click.pass_context
def check(
    context: click.Context,
    /,
    epsilon: float,
    delta: float,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Is a claim of (epsilon, delta) right? PROVEN, REFUTED or OPEN.

    Exit code 0 if the claim is proven, 1 if a data set refutes it, 3 if neither is known.
    """
    deployment = described(**mechanism)
    with waiting("the claim"):
        found = judge(deployment, epsilon=epsilon, delta=delta)
    if as_json:
        print_json({**found.to_dict(), **settings(deployment)})
    else:
        from shuffledp.display.text import print_heading

        print_heading(deployment, "n public")
        for line in _lines(found):
            say(line)
    context.exit(_EXIT[found.verdict])


def _lines(found: Verdict) -> list[str]:
    claim = f"({in_full(found.claimed_epsilon)}, {in_full(found.claimed_delta)})"
    proven = outward(found.needed, up=True)
    leaked = outward(found.epsilon.lower, up=False)
    at = f"at delta = {in_full(found.claimed_delta)}"
    known = f"known {at}: epsilon {proven} is proven, {leaked} is leaked"
    if found.verdict == PROVEN:
        return [f"PROVEN: {claim} holds for every data set, by {found.proof}", known]
    if found.verdict == REFUTED:
        return [f"REFUTED: {claim} is violated", f"data set: {found.dataset}", known]
    return [f"OPEN: {claim} is neither proven nor refuted", known]
