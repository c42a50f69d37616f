"""The book of budgets for people: a table, and whole files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from shuffledp.display.text import print_rows
from shuffledp.ledger import Balance

_COLUMNS = (
    *("cohort", "number", "rounds", "label", "key", "lost", "rule", "theorem", "recorded"),
    *("spent", "digest", "status", "promise"),
)


def print_balances(
    store: str, found: Sequence[tuple[Balance, int | None]], asked: str | None
) -> None:
    """One row for each cohort; what is lost is rounded up."""
    columns = ["cohort", "delta", "epsilon", "rule", "status", "lost in all", "spends", "digest"]
    rows = [
        [
            balance.cohort,
            f"{balance.delta:f}",
            f"{balance.epsilon:f}",
            balance.rule.name,
            balance.claim.status or "not proven",
            balance.rule.shown(balance.lost),
            balance.spends,
            "none" if balance.digest is None else f"{balance.digest[:16]}...",
            *([] if asked is None else [f"{fit:,}"]),
        ]
        for balance, fit in found
    ]
    remarks = [] if asked is None else [f"rounds left: of {asked}, spent at once"]
    remarks += dict.fromkeys(
        f"{balance.cohort}: {balance.claim}" if balance.claim.uncovered else str(balance.claim)
        for balance, _ in found
    )
    print_rows(store, columns if asked is None else [*columns, "rounds left"], rows, remarks)


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
