"""shuffledp audit: attack the running pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.collection import bar, simulation_option, stream
from shuffledp.interfaces.cli.options import Count, device_options, json_option, print_json
from shuffledp.labels import counted, in_full

if TYPE_CHECKING:
    from shuffledp.collection.auditing import Audit, OrderTest, Power


@click.command()
@device_options
@click.option("--n", type=Count(), required=True, help="Number of users in a batch.")
@click.option("--epsilon", type=float, help="epsilon of the claim; what is proven unless given.")
@click.option("--delta", type=float, required=True, help="delta of the claim.")
@click.option(
    "--trials", type=Count(), default=100_000, show_default=True, help="Trials per data set."
)
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="Attack what runs on this Spark cluster, such as local[2] or spark://host:7077.",
)
@simulation_option
@json_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    n: int,
    epsilon: float | None,
    delta: float,
    trials: int,
    master: str | None,
    simulation: int | None,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Run devices and shuffler on two data sets many times, and try to tell them apart.

    What is attacked is what 'run' and 'shuffle' use, on this machine or on Spark. The order of
    release is tested with reports that say where they come from. Exit code 1 if the claim is
    refuted, or the order is not uniform.
    """
    from shuffledp.collection.auditing import EmbeddedPath, EnginePath, Path, all_trials
    from shuffledp.collection.auditing import audit as attack

    asked = build(**mechanism)
    path: Path
    if master is None:
        path = EmbeddedPath(stream(simulation))
    else:
        if simulation is not None:
            raise ParameterError("simulation", "left out with --spark", simulation)
        from shuffledp.collection.pipeline.spark import Spark, session

        path = EnginePath(Spark(session(master)))
    with bar("attacking", all_trials(int(trials), single=path.single)) as advance:
        found = attack(
            asked, n, delta=delta, trials=int(trials), epsilon=epsilon, path=path, advance=advance
        )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    if found.violated:
        context.exit(1)


def _print(found: Audit) -> None:
    from shuffledp.collection.auditing.audit import FAILURE
    from shuffledp.collection.auditing.orders import FALSE_ALARM
    from shuffledp.collection.devices import SIMULATED
    from shuffledp.display.text import print_rows

    claim, proven = found.epsilon, found.claimed.upper
    share = 100.0 / claim if claim > 0.0 else 0.0
    rows: list[list[object]] = [["claimed", "<=", claim, 100.0 * bool(claim)]]
    if proven != claim:
        rows.append(["proven", "<=", proven, share * proven])
    attacks = [("likelihood ratio of the counts", found.direct)]
    if found.ordered is not None and found.place is not None:
        attacks.append((f"report in place {found.place + 1}, which tells most", found.ordered))
    if found.family is not None:
        attacks.append(("family of the mechanism", found.family))
    rows += [[name, ">=", value, share * value] for name, value in attacks]
    verdict = "VIOLATED" if found.violated else "not violated"
    if found.violated and not found.leaks:
        verdict += " by the order of release"
    elif not found.violated and any(value > claim for _, value in attacks):
        verdict += ", but a bound is above it: run more trials"
    elif not any(value for _, value in attacks):
        verdict += ": nothing was seen, which more trials may change"
    print_rows(
        f"epsilon at delta {in_full(found.delta)}: {counted(found.n, 'user')},"
        f" {found.randomizer} ({found.path})",
        ["bound", "", "epsilon", "% of the claim"],
        rows,
        [
            f"claim {verdict}; {counted(found.trials, 'trial')} per data set; a bound is wrong with"
            f" probability at most {FAILURE:g}, a violation with {FALSE_ALARM:g}",
            _power(found.power, claim),
        ],
    )
    _print_orders(found.orders, found.uniform)
    if found.simulated:
        say(SIMULATED)


def _print_orders(tests: Sequence[OrderTest], uniform: bool) -> None:
    """A sentence; what was seen only where something is wrong."""
    from shuffledp.collection.auditing.orders import FALSE_ALARM
    from shuffledp.display.text import print_rows

    if uniform:
        say(f"order of release: no fault found by {len(tests)} tests (--json lists them)")
        return
    print_rows(
        "order of release: NOT UNIFORM",
        [
            "labelled reports",
            "share of",
            "batches",
            "most seen",
            "chance of each",
            "would be told",
            "p <=",
        ],
        [
            [
                t.orders,
                t.statistic,
                t.batches,
                *map(_short, (t.seen, t.expected, t.detectable, t.p)),
            ]
            for t in tests
        ],
        [
            "of all places and parts, the one least like chance is shown;"
            " p accounts for all of them",
            f"uniform orders are found fault with once in {1 / FALSE_ALARM:,.0f} audits; what stays"
            " below 'would be told' may go unseen",
        ],
        words=["labelled reports", "share of"],
        spare=["chance of each", "batches"],
    )


def _short(share: float | None) -> str:
    return "nothing" if share is None else f"{share:.3g}"


def _power(power: Power, claimed: float) -> str:
    """In words, also what was out of reach."""
    seen = f"these trials can prove epsilon up to {power.largest:.3g}"
    if power.largest <= claimed:
        seen += ", below the claim: a release that hides nothing would go unseen"
    if power.eps0 is None:
        return seen + "; they notice no other budget of this mechanism"
    return (
        f"{seen}; they notice this mechanism with eps0 {power.eps0:.3g} (epsilon"
        f" {power.epsilon:.3g}), smaller faults may go unseen"
    )
