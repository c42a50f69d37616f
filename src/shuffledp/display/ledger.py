"""The book of budgets for people: a table, and whole files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shuffledp.display.text import print_rows
from shuffledp.labels import counted
from shuffledp.ledger import Balance, Receipt
from shuffledp.ledger.amounts import limit_in_words

_COLUMNS = (
    *("cohort", "number", "rounds", "label", "key", "lost", "rule", "theorem", "recorded"),
    *("spent", "digest", "status", "promise"),
)


def print_balances(
    store: str, found: Sequence[tuple[Balance, int | None]], asked: str | None
) -> None:
    """One row for each cohort; what is lost is rounded up."""
    columns = ["cohort", "epsilon", "delta", "spent", "rounds left", "spends", "status", "rule"]
    rows = [
        [
            balance.cohort,
            limit_in_words(balance.epsilon),
            limit_in_words(balance.delta),
            _percent(balance.rule.share(balance.lost)),
            "-" if fit is None else f"{fit:,}",
            balance.spends,
            balance.claim.status or "not proven",
            balance.rule.name,
            "none" if balance.digest is None else f"{balance.digest[:16]}...",
        ]
        for balance, fit in found
    ]
    remarks = [
        f"{balance.cohort}: lost in all: {balance.rule.shown(balance.lost)}" for balance, _ in found
    ]
    if any(fit is not None for _, fit in found):
        kind = asked or "what was planned, or of the one kind spent so far"
        remarks.append(f"rounds left: of {kind}, spent at once")
    remarks += dict.fromkeys(
        f"{balance.cohort}: {balance.claim}" if balance.claim.uncovered else str(balance.claim)
        for balance, _ in found
    )
    print_rows(store, [*columns, "digest"], rows, remarks, spare=["digest", "rule", "spends"])


def _percent(share: Fraction) -> str:
    """Rounded up: what is spent is not less."""
    return f"{math.ceil(share * 1000) / 10:g} %"


def print_history(balance: Balance, receipts: Sequence[Receipt]) -> None:
    """One row for each spend."""
    rows = [
        [
            f"#{each.number}",
            each.recorded.replace("T", " ").removesuffix("+00:00"),
            _percent(each.rule.share(each.lost)),
            each.label or "-",
            f"{counted(each.entry.rounds, 'round')} of {each.entry.what}",
        ]
        for each in receipts
    ]
    print_rows(
        f"{balance.cohort}: may lose {balance.rule.total}",
        ["spend", "recorded (UTC)", "spent", "label", "what"],
        rows,
        [f"lost in all: {balance.rule.shown(balance.lost)}", str(balance.claim)],
        words=["label", "what"],
    )


def as_json_bytes(data: dict[str, Any]) -> bytes:
    """The data as a file."""
    return (json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def as_csv(data: dict[str, Any]) -> bytes:
    """A row for each spend."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, _COLUMNS)
    writer.writeheader()
    for cohort in data["cohorts"]:
        for each in cohort["history"]:
            nested = {name: json.dumps(each[name], sort_keys=True) for name in ("lost", "spent")}
            rule = {"rule": each["rule"]["name"]}
            writer.writerow({name: each.get(name) for name in _COLUMNS} | nested | rule)
    return file.getvalue().encode()
