"""Schemas of answers in JSON, inferred from answers. To write them anew after a change that is meant:

python -m tests.interfaces.cli.schemas
"""

import json
import os
import shlex
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from shuffledp.interfaces.cli import main

TARGET = "--epsilon 2 --delta 1e-6"
HISTOGRAM = "--column transport --task histogram --categories car,bus,train,bike,walk"
KRR = "--mechanism krr --k 4 --eps0 1 --n 2000"
SESSION = f"""
sample-data survey.csv --rows 2000 --tasks tasks.toml
account --eps0 1 --n 1000 --delta 1e-6
account --eps0 1 --n 1000 --epsilon 0.1
account --eps0 1 --n 1000 --alpha 0.1
account --eps0 1 --n 1000 --order 2
account --mechanism gaussian --sigma 4 --n 100 --delta 1e-3
account --mechanism laplace --budgets survey.csv --column eps --delta 1e-3 --budgets-visible
check --eps0 1 --n 1000 {TARGET}
check --mechanism laplace --eps0 4 --n 1000 --epsilon 0.1 --delta 1e-6
compare --eps0 1 --n 1000 --delta 1e-6
calibrate --n 1000 {TARGET}
calibrate --eps0 1 --epsilon 0.5 --delta 1e-6
calibrate --mechanism gaussian --n 20 --epsilon 2 --delta 0.01
refute {KRR} --epsilon 0.01 --delta 1e-6
refute {KRR} {TARGET}
theorems
theorems blanket
plan --task histogram --k 3 --n 500 {TARGET} --several-messages
plan --task mean --n 200 {TARGET}
plan --tasks tasks.toml --n 2000 {TARGET}
run survey.csv {HISTOGRAM} {TARGET} --mechanism krr
run survey.csv --column minutes --task quantiles --low 0 --high 120 {TARGET} --mechanism krr
run survey.csv --column minutes --task mean --low 0 --high 120 {TARGET} --mechanism laplace --simulation 1
run survey.csv --tasks tasks.toml {TARGET}
personalized survey.csv --column transport --categories car,bus,train,bike,walk --budgets-column eps --delta 1e-3 --budgets-visible
encode survey.csv {HISTOGRAM} {TARGET} --mechanism krr --out reports.parquet
shuffle reports.parquet --out shuffled.parquet
analyze shuffled.parquet
audit --mechanism krr --k 4 --eps0 3 --n 20 --delta 1e-2 --trials 500
ledger init users --epsilon 5 --delta 1e-6 --store book.db
ledger init others --epsilon 5 --delta 1e-6 --rule renyi {KRR} --store book.db
ledger init plan --epsilon 5 --delta 1e-6 --rule planned {KRR} --rounds 3 --store book.db
ledger spend users {KRR} --dry-run --store book.db
ledger spend users {KRR} --label week --store book.db
ledger spend plan {KRR} --store book.db
run survey.csv {HISTOGRAM} {TARGET} --mechanism krr --ledger book.db --cohort users
ledger history users --store book.db
ledger show --store book.db
ledger show users {KRR} --store book.db
ledger export --store book.db
ledger verify --store book.db
analyst keygen --out analyst.key
shuffler init shuffler
shuffler keygen --config shuffler/shuffler.toml
shuffler keys --config shuffler/shuffler.toml
train presets
manual man
"""
"""Refuted and open claims end with other codes than 0."""


def commands(names: tuple[str, ...] = (), group: click.Command = main) -> dict[str, click.Command]:
    """By name, those that print JSON."""
    if isinstance(group, click.Group):
        found: dict[str, click.Command] = {}
        for name, inner in group.commands.items():
            found |= commands((*names, name), inner)
        return found
    has = any("--json" in each.opts for each in group.params)
    return {" ".join(names): group} if has else {}


def answers(lines: Iterable[str]) -> list[tuple[str, Any]]:
    """What these commands print, in this folder, with the name of each."""
    known, found = commands(), []
    for line in filter(None, lines):
        words = shlex.split(line)
        result = CliRunner().invoke(main, [*words, "--json"])
        assert result.exit_code in (0, 1, 3), (line, result.output)
        name = next(n for k in (2, 1) if (n := " ".join(words[:k])) in known)
        found.append((name, json.loads(result.stdout)))
    return found


def inferred(values: list[Any], *, top: bool = False) -> dict[str, Any]:
    """A schema that all these have; what an object must have is said at the top only."""
    kinds = {_kind(value) for value in values}
    if {"integer", "number"} <= kinds:
        kinds.remove("integer")
    made: dict[str, Any] = {"type": sorted(kinds) if len(kinds) > 1 else next(iter(kinds), "null")}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        names = dict.fromkeys(name for value in objects for name in value)
        made["properties"] = {
            name: inferred([value[name] for value in objects if name in value]) for name in names
        }
        if top:
            made["required"] = [n for n in names if all(n in value for value in objects)]
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        made["items"] = inferred(items)
    return made


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = {int: "integer", float: "number", str: "string", dict: "object", list: "array"}
    return next((kind for each, kind in kinds.items() if isinstance(value, each)), "null")


def gathered() -> dict[str, Any]:
    """By command, in the order of the help."""
    found: dict[str, list[Any]] = {}
    for name, answer in answers(SESSION.splitlines()):
        found.setdefault(name, []).append(answer)
    return {name: inferred(found[name], top=True) for name in commands() if name in found}


if __name__ == "__main__":
    place = Path(__file__).parents[3] / "src" / "shuffledp" / "interfaces" / "cli" / "schemas.json"
    kept = json.loads(place.read_text()) if place.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = gathered()
    place.write_text(json.dumps(kept | made, indent=1) + "\n", encoding="utf-8")
    print(*(name for name in commands() if name not in kept | made), sep="\n")
