"""shuffledp ledger: a durable book of privacy budgets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from shuffledp.cli.options import json_option, print_json, protocol, protocol_options
from shuffledp.errors import ParameterError
from shuffledp.ledger import Guarantee, Ledger
from shuffledp.protocols import Shuffled

F = TypeVar("F", bound=Callable[..., Any])


def _store_options(command: F) -> F:
    for option in (
        click.option(
            "--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait."
        ),
        click.option(
            "--store",
            required=True,
            envvar="SHUFFLEDP_LEDGER",
            help="SQLite file or postgresql:// URL; or set SHUFFLEDP_LEDGER.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def ledger() -> None:
    """A durable book of privacy budgets: record what a release costs before it happens."""


@ledger.command()
@click.argument("cohort")
@click.option("--epsilon", required=True, help="Total epsilon, an exact decimal.")
@click.option("--delta", required=True, help="Total delta, an exact decimal.")
@_store_options
@json_option
def init(cohort: str, epsilon: str, delta: str, store: str, timeout: float, as_json: bool) -> None:
    """Give a new COHORT its total budget; makes the store if there is none."""
    book = Ledger.open(store, timeout)
    balance = book.create(cohort, epsilon, delta)
    if as_json:
        print_json(balance.to_dict())
        return
    click.echo(
        f"{cohort}: may lose epsilon = {balance.epsilon} at delta = {balance.delta}"
        f" ({book.store.name})"
    )


@ledger.command()
@click.argument("cohort")
@protocol_options
@click.option("--epsilon", help="State a guarantee instead of a protocol: its exact epsilon.")
@click.option("--delta", help="Delta of the stated guarantee (default 0).")
@click.option("--label", default="", help="What the release is, for people.")
@click.option("--key", help="Repeat a spend safely: the same key is never recorded twice.")
@_store_options
@json_option
def spend(
    cohort: str,
    epsilon: str | None,
    delta: str | None,
    rounds: int | None,
    label: str,
    key: str | None,
    store: str,
    timeout: float,
    as_json: bool,
    **described: Any,
) -> None:
    """Record --rounds of a protocol for COHORT, if its budget holds them. Release afterwards."""
    what = _spendable(epsilon, delta, described)
    if what is None:
        raise ParameterError("n", "given (--n), or a stated guarantee (--epsilon)", None)
    count = 1 if rounds is None else rounds
    receipt = Ledger.open(store, timeout).spend(cohort, what, count, label=label, key=key)
    if as_json:
        print_json(receipt.to_dict())
        return
    click.echo(
        f"recorded: {cohort} #{receipt.number}, {receipt.entry.rounds:,} x {receipt.entry.what}"
    )
    click.echo(f"lost in all: epsilon <= {receipt.lost}")


@ledger.command()
@click.argument("cohorts", nargs=-1)
@protocol_options
@click.option("--epsilon", help="How many stated guarantees of this epsilon fit?")
@click.option("--delta", help="Delta of the stated guarantee (default 0).")
@_store_options
@json_option
def show(
    cohorts: tuple[str, ...],
    epsilon: str | None,
    delta: str | None,
    rounds: int | None,
    store: str,
    timeout: float,
    as_json: bool,
    **described: Any,
) -> None:
    """What COHORTS (default: all) have lost, and how many more rounds of a protocol fit."""
    from shuffledp.reports.text import progress

    if rounds is not None:
        raise ParameterError("rounds", "left out: it is what is asked", rounds)
    book = Ledger.open(store, timeout)
    what = _spendable(epsilon, delta, described)
    found = []
    for name in progress(cohorts or book.cohorts(), "composing"):
        fit = None if what is None else book.remaining(name, what)
        found.append((book.balance(name), fit))
    if as_json:
        asked = {} if what is None else {"protocol": str(what)}
        print_json(
            {
                "store": book.store.name,
                **asked,
                "cohorts": [
                    balance.to_dict() | ({} if what is None else {"rounds_left": fit})
                    for balance, fit in found
                ],
            }
        )
        return
    from shuffledp.reports.ledger import print_balances

    print_balances(book.store.name, found, None if what is None else str(what))


@ledger.command()
@click.option("--json-file", type=click.Path(path_type=Path), help="Everything, as JSON.")
@click.option("--csv-file", type=click.Path(path_type=Path), help="A row for each spend, as CSV.")
@_store_options
@json_option
def export(
    json_file: Path | None, csv_file: Path | None, store: str, timeout: float, as_json: bool
) -> None:
    """Write the whole book to files, each whole or not at all; without any, JSON on stdout."""
    from shuffledp.reports.files import write_whole
    from shuffledp.reports.ledger import as_csv, as_json_bytes

    data = Ledger.open(store, timeout).export()
    if json_file is not None:
        write_whole("json-file", json_file, as_json_bytes(data))
    if csv_file is not None:
        write_whole("csv-file", csv_file, as_csv(data))
    if as_json or (json_file is None and csv_file is None):
        print_json(data)
        return
    spends = sum(len(each["history"]) for each in data["cohorts"])
    for path in filter(None, (json_file, csv_file)):
        click.echo(f"{path}: {len(data['cohorts'])} cohorts, {spends} spends")


def _spendable(
    epsilon: str | None, delta: str | None, described: dict[str, Any]
) -> Shuffled | Guarantee | None:
    """The protocol or the stated guarantee the options describe."""
    chosen = {
        name: value
        for name, value in described.items()
        if value is not None and (name, value) != ("mechanism", "ldp")
    }
    if epsilon is None:
        if delta is not None:
            raise ParameterError("delta", "given with --epsilon only", delta)
        return protocol(**described) if chosen else None
    if chosen:
        raise ParameterError("epsilon", "left out with a protocol", epsilon)
    return Guarantee(epsilon, delta or "0")
