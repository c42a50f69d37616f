"""shuffledp ledger: a durable book of privacy budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting.protocols.named import deployment
from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.group import Group
from shuffledp.interfaces.cli.options import added, deployment_options, json_option, print_json
from shuffledp.interfaces.cli.paths import BOOK, READ, WRITTEN
from shuffledp.labels import counted
from shuffledp.ledger import Balance, Guarantee, Ledger, Sum, planned, renyi
from shuffledp.ledger.entries import Spendable, restored
from shuffledp.ledger.rules import RuleMaker

_SOUND: dict[bool | None, tuple[str, int]] = {
    True: ("sound: every row fits its digest", 0),
    False: ("NOT sound", 1),
    None: ("cannot be told: there are rows without a digest", 4),
}
"""What ``verify`` says at the end, and with which code it ends."""
_store_options = added(
    click.option(
        "--store",
        type=BOOK,
        required=True,
        envvar="SHUFFLEDP_LEDGER",
        help="SQLite file or postgresql:// URL; or set SHUFFLEDP_LEDGER.",
    ),
    click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait."),
)


@click.group(cls=Group)
def ledger() -> None:
    """A durable book of privacy budgets: record what a release costs before it happens."""


@ledger.command()
@click.argument("cohort")
@click.option("--epsilon", required=True, help="Total epsilon, an exact decimal.")
@click.option("--delta", required=True, help="Total delta, an exact decimal.")
@click.option(
    "--rule",
    type=click.Choice(["sum", "renyi", "planned"]),
    help="How spends are charged, for good (default: sum, or planned with --plan). sum: epsilons"
    " and deltas add up; renyi: divergences of one order do (many small spends); both hold however"
    " spends are chosen. planned: --rounds of the protocol described, or all that fit, or a --plan,"
    " composed tightly now.",
)
@click.option(
    "--order", type=float, help="Rényi order (renyi; default: the best for the protocol)."
)
@click.option(
    "--stated-delta", help="Part of delta for stated guarantees (renyi; default: a tenth)."
)
@click.option(
    "--plan",
    type=READ,
    help='JSON (planned): [{"spent": {...}, "rounds": 30}, ...], as `ledger show --json` lists'
    ' entries; one of them may have "rounds": null, as many as fit.',
)
@deployment_options
@_store_options
@json_option
def init(
    cohort: str,
    epsilon: str,
    delta: str,
    rule: str | None,
    order: float | None,
    stated_delta: str | None,
    plan: str | None,
    rounds: int | None,
    store: str,
    timeout: float,
    as_json: bool,
    **described: Any,
) -> None:
    """Give a new COHORT its total budget and its rule; makes the store if there is none."""
    book = Ledger.open(store, timeout)
    rule = rule or ("sum" if plan is None else "planned")
    chosen = _rule(rule, order, stated_delta, plan, rounds, _spendable(None, None, described))
    balance = book.create(cohort, epsilon, delta, chosen)
    if as_json:
        print_json(balance.to_dict() | {"rounds_left": balance.rule.rounds_left(balance.lost)})
        return
    say(
        f"{cohort}: may lose {balance.rule.total} ({book.store.name})",
    )
    say(f"rule: {balance.rule}")
    say(f"lost in all: {balance.rule.shown(balance.lost)}")
    say(f"digest: {balance.digest}")


def _rule(
    name: str,
    order: float | None,
    stated_delta: str | None,
    plan: str | None,
    rounds: int | None,
    what: Spendable | None,
) -> RuleMaker:
    """The rule the options describe; an option of another rule is refused."""
    theirs: dict[str, tuple[object, tuple[str, ...]]] = {
        "order": (order, ("renyi",)),
        "stated_delta": (stated_delta, ("renyi",)),
        "plan": (plan, ("planned",)),
        "rounds": (rounds, ("planned",)),
        "mechanism": (what, ("renyi", "planned")),
    }
    for option, (value, rules) in theirs.items():
        if value is not None and name not in rules:
            raise ParameterError(option, f"left out with --rule {name}", str(value))
    if name == "sum":
        return Sum
    if name == "renyi":
        return renyi(order, what, stated_delta)
    if (plan is None) == (what is None):
        got = "neither" if plan is None else "both"
        raise ParameterError("plan", "given, or else a protocol (--n, --mechanism ...)", got)
    return planned((what, rounds)) if what is not None else planned(*_read_plan(plan, rounds))


def _read_plan(plan: str | None, rounds: int | None) -> list[tuple[Spendable, int | None]]:
    if rounds is not None:
        raise ParameterError("rounds", "left out with --plan", rounds)
    assert plan is not None
    try:
        listed = json.loads(Path(plan).read_bytes())
        return [(restored(each["spent"], 1).what, each["rounds"]) for each in listed]
    except OSError as error:
        raise ParameterError("plan", "a file that can be read", f"{plan} ({error})") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        form = 'JSON such as [{"spent": {"epsilon": "0.1", "delta": "0"}, "rounds": 3}]'
        raise ParameterError("plan", f"a file of {form}", f"{plan} ({error})") from error


@ledger.command()
@click.argument("cohort")
@deployment_options
@click.option("--epsilon", help="State a guarantee instead of a protocol: its exact epsilon.")
@click.option("--delta", help="Delta of the stated guarantee (default 0).")
@click.option("--label", default="", help="What the release is, for people.")
@click.option("--key", help="Repeat a spend safely: the same key is never recorded twice.")
@click.option("--dry-run", is_flag=True, help="Say what would be lost; record nothing.")
@_store_options
@json_option
def spend(
    cohort: str,
    epsilon: str | None,
    delta: str | None,
    rounds: int | None,
    label: str,
    key: str | None,
    dry_run: bool,
    store: str,
    timeout: float,
    as_json: bool,
    **described: Any,
) -> None:
    """Record --rounds of a protocol for COHORT, if its budget holds them. Release afterwards.

    Exit code 3 if the budget does not hold them; nothing is recorded then.
    """
    what = _spendable(epsilon, delta, described)
    if what is None:
        raise ParameterError("n", "given, or else --epsilon, a guarantee you state", None)
    count = 1 if rounds is None else rounds
    book = Ledger.open(store, timeout)
    if dry_run:
        _say_what_would_be_lost(book, cohort, what, count, label, as_json)
        return
    receipt = book.spend(cohort, what, count, label=label, key=key)
    if receipt.warning:
        say(f"warning: {receipt.warning}", err=True)
    if as_json:
        print_json(receipt.to_dict() | {"repeated": receipt.repeated})
        return
    done = "recorded before, nothing more is lost" if receipt.repeated else "recorded"
    spent = counted(receipt.entry.rounds, "round")
    say(f"{done}: {cohort} #{receipt.number}, {spent} of {receipt.entry.what}")
    say(f"lost in all: {receipt.rule.shown(receipt.lost)}")
    say(f"rule: {receipt.claim}")
    say(f"digest: {receipt.digest}")


def _say_what_would_be_lost(
    book: Ledger, cohort: str, what: Spendable, rounds: int, label: str, as_json: bool
) -> None:
    """Refused where the spend would be."""
    lost, now = book.lost_with(cohort, what, rounds), book.balance(cohort)
    claim = now.claim.after(now.spends + 1, label)
    if as_json:
        found = {"cohort": cohort, "recorded": None, "spent": str(what), "rounds": rounds}
        amounts = {name: str(amount) for name, amount in lost.items()}
        print_json({**found, **claim.to_dict(), "lost": amounts})
        return
    say(f"nothing was recorded: {cohort}, {counted(rounds, 'round')} of {what} would fit")
    say(f"lost in all, then: {now.rule.shown(lost)}")
    say(f"rule: {claim}")


@ledger.command()
@click.argument("cohort")
@_store_options
@json_option
def history(cohort: str, store: str, timeout: float, as_json: bool) -> None:
    """Every spend of COHORT, in order: when, on what, and what was lost in all after it."""
    from shuffledp.display.ledger import print_history

    book = Ledger.open(store, timeout)
    receipts, balance = book.history(cohort), book.balance(cohort)
    if as_json:
        print_json({"cohort": cohort, "history": [each.to_dict() for each in receipts]})
        return
    print_history(balance, receipts)


@ledger.command()
@click.argument("cohorts", nargs=-1)
@deployment_options
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
    from shuffledp.display.text import progress

    if rounds is not None:
        raise ParameterError("rounds", "left out: it is what is asked", rounds)
    book = Ledger.open(store, timeout)
    what = _spendable(epsilon, delta, described)
    found = []
    for name in progress(cohorts or book.cohorts(), "composing"):
        balance = book.balance(name)
        found.append((balance, _rounds_left(book, balance, what)))
    if as_json:
        asked = {} if what is None else {"protocol": str(what)}
        cohorts_found = [balance.to_dict() | {"rounds_left": fit} for balance, fit in found]
        print_json({"store": book.store.name, **asked, "cohorts": cohorts_found})
        return
    from shuffledp.display.ledger import print_balances

    print_balances(book.store.name, found, None if what is None else str(what))


def _rounds_left(book: Ledger, balance: Balance, asked: Spendable | None) -> int | None:
    """Of the protocol asked about, or what was planned, or the one kind spent so far."""
    if asked is not None:
        return book.remaining(balance.cohort, asked)
    planned = balance.rule.rounds_left(balance.lost)
    if planned is None and len(balance.entries) == 1:
        return book.remaining(balance.cohort, balance.entries[0].what)
    return planned


@ledger.command()
@click.option("--json-file", type=WRITTEN, help="Everything, as JSON.")
@click.option("--csv-file", type=WRITTEN, help="A row for each spend, as CSV.")
@_store_options
@json_option
def export(
    json_file: str | None, csv_file: str | None, store: str, timeout: float, as_json: bool
) -> None:
    """Write the whole book to files, each whole or not at all; without any, JSON on stdout.

    The files are their owner's alone, as the book is.
    """
    from shuffledp.display.ledger import as_csv, as_json_bytes
    from shuffledp.files import write_whole

    data = Ledger.open(store, timeout).export()
    if json_file is not None:
        write_whole("json-file", Path(json_file), as_json_bytes(data), private=True)
    if csv_file is not None:
        write_whole("csv-file", Path(csv_file), as_csv(data), private=True)
    if as_json or (json_file is None and csv_file is None):
        print_json(data)
        return
    spends = sum(len(each["history"]) for each in data["cohorts"])
    for path in filter(None, (json_file, csv_file)):
        seen = f"{counted(len(data['cohorts']), 'cohort')}, {counted(spends, 'spend')}"
        say(f"{path}: {seen}")


@ledger.command()
@click.argument("cohorts", nargs=-1)
@click.option(
    "--digest",
    "digests",
    multiple=True,
    help="A digest from a receipt: it must still be in the chain (may be repeated).",
)
@_store_options
@json_option
@click.pass_context
def verify(
    context: click.Context,
    cohorts: tuple[str, ...],
    digests: tuple[str, ...],
    store: str,
    timeout: float,
    as_json: bool,
) -> None:
    """Look at every row of COHORTS (default: all) and recompute their chains of digests.

    Ends with 1 if something was altered, with 4 if that cannot be told. A chain shows what was
    altered without care: whoever can rewrite the whole store can recompute it, but not the digests
    you kept elsewhere (--digest).
    """
    book = Ledger.open(store, timeout)
    found = book.verify(*cohorts)
    missing = sorted(set(digests) - {each for one in found for each in one.digests})
    sound: bool | None = not missing and not any(each.problems for each in found)
    if sound and any(each.unknown for each in found):
        sound = None
    if as_json:
        print_json(
            {
                "store": book.store.name,
                "sound": sound,
                "missing_digests": missing,
                "cohorts": [each.to_dict() for each in found],
            }
        )
    else:
        for each in found:
            spends = counted(each.spends, "spend")
            say(f"{each.cohort}: {spends}, digest {each.digest}")
            for problem in each.problems:
                say(f"{each.cohort}: PROBLEM: {problem}")
            if each.unknown:
                say(f"{each.cohort}: not known: {each.unknown}")
        for digest in missing:
            say(f"PROBLEM: no chain holds the digest {digest}")
        say(_SOUND[sound][0])
    context.exit(_SOUND[sound][1])


def _spendable(
    epsilon: str | None, delta: str | None, described: dict[str, Any]
) -> Spendable | None:
    """The protocol or the stated guarantee the options describe."""
    chosen = {
        name: value
        for name, value in described.items()
        if value is not None and (name, value) != ("mechanism", "ldp")
    }
    if epsilon is None:
        if delta is not None:
            raise ParameterError("delta", "given with --epsilon only", delta)
        return deployment(**described) if chosen else None
    if chosen:
        raise ParameterError("epsilon", "left out with a protocol", epsilon)
    return Guarantee(epsilon, delta or "0")
