"""The book of budgets for people: a table, and whole files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shuffledp.ledger import Balance
from shuffledp.ledger.amounts import decimal_above, decimal_below
from shuffledp.reports.text import print_rows

_COLUMNS = ("cohort", "number", "rounds", "label", "key", "lost", "theorem", "recorded", "spent")


def print_balances(
    store: str, found: Sequence[tuple[Balance, int | None]], asked: str | None
) -> None:
    """One row for each cohort; what is lost is rounded up, what is left down."""
    columns = ["cohort", "delta", "epsilon", "lost", "left", "spends", "holds for"]
    rows = [
        [
            balance.cohort,
            balance.delta,
            balance.epsilon,
            decimal_above(Fraction(balance.lost.epsilon), digits=6),
            decimal_below(Fraction(balance.left), digits=6),
            balance.spends,
            "any choice of spends" if balance.lost.adaptive else "planned spends",
            *([] if asked is None else [f"{fit:,}"]),
        ]
        for balance, fit in found
    ]
    remarks = [] if asked is None else [f"rounds left: of {asked}"]
    if any(not balance.lost.adaptive for balance, _ in found):
        remarks.append(
            "planned spends: what to spend on was not chosen by looking at earlier results"
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
            spent = json.dumps(each["spent"], sort_keys=True)
            lost = {"lost": each["lost"]["epsilon"], "theorem": each["lost"]["theorem"]}
            writer.writerow({name: each.get(name) for name in _COLUMNS} | lost | {"spent": spent})
    return file.getvalue().encode()
