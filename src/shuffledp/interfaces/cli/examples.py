"""Examples at the end of each help."""

from __future__ import annotations

import click

_TARGET = "--epsilon 1 --delta 1e-6"
_TRANSPORT = "--column transport --task histogram --categories car,bus,train,bike,walk"
_KRR = "--mechanism krr --k 16 --eps0 2 --n 1e5"
_CONFIG = "--config shuffler/shuffler.toml"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "account": (
        "account --eps0 2 --n 1e5 --delta 1e-6",
        f"account {_KRR} --epsilon 0.01",
        f"account {_KRR} --rounds 365 --delta 1e-6 --plot year.png",
        "account --mechanism laplace --budgets survey.csv --column eps --delta 1e-5"
        " --budgets-hidden",
    ),
    "check": (f"check {_KRR} --epsilon 0.3 --delta 1e-6",),
    "compare": ("compare --eps0 2 --n 1e5 --delta 1e-6 --plot bounds.png",),
    "calibrate": (
        "calibrate --n 1e5 --epsilon 0.5 --delta 1e-6",
        "calibrate --mechanism krr --k 16 --eps0 3 --epsilon 0.5 --delta 1e-6",
    ),
    "refute": (f"refute {_KRR} --epsilon 0.01 --delta 1e-6",),
    "theorems": ("theorems", "theorems swap-ldp"),
    "web": ("web", "web --port 8571"),
    "plan": (
        "plan --task histogram --k 50 --n 2e6 --epsilon 1 --delta 1e-9 --rounds 90",
        f"plan --task mean --n 1e5 {_TARGET} --max-eps0 4",
        f"plan --task vector --dimensions 16 --messages 16 --n 1e5 {_TARGET}",
        f"plan --tasks tasks.toml --n 2e4 {_TARGET}",
        f"plan --task histogram --k 5 --n 2e4 {_TARGET} --rounds 12 --save plan.json",
    ),
    "sample-data": (
        "sample-data",
        "sample-data people.csv --rows 1e5",
        "sample-data survey.csv --tasks tasks.toml",
    ),
    "run": (
        f"run survey.csv {_TRANSPORT} {_TARGET} --plot transport.png",
        f"run survey.csv --column minutes --task quantiles --low 0 --high 120 {_TARGET}",
        f"run survey.csv --column app --task heavy-hitters {_TARGET}",
        f"run survey.csv --tasks tasks.toml {_TARGET}",
        f"run survey.csv {_TRANSPORT} {_TARGET} --ledger book.db --cohort users",
    ),
    "personalized": (
        "personalized survey.csv --column transport --categories car,bus,train,bike,walk"
        " --budgets-column eps --delta 1e-6 --budgets-hidden",
    ),
    "encode": (f"encode survey.csv {_TRANSPORT} {_TARGET} --out reports.parquet",),
    "shuffle": ("shuffle reports.parquet --out shuffled.parquet",),
    "analyze": ("analyze shuffled.parquet --simplex",),
    "audit": (
        "audit --mechanism krr --k 4 --eps0 3 --n 100 --delta 1e-4 --trials 5000",
        "audit --mechanism krr --k 4 --eps0 3 --n 100 --epsilon 0.5 --delta 1e-4 --trials 5000",
    ),
    "train shuffled-sgd": ("train shuffled-sgd --simulation --epochs 3 --plot accuracy.png",),
    "train check-in": ("train check-in --simulation --rounds 20 --folder run",),
    "ledger init": (
        "ledger init users --epsilon 1 --delta 1e-6 --store book.db",
        f"ledger init year --epsilon 1 --delta 1e-6 --rule planned {_KRR} --store book.db",
        "ledger init team --epsilon 1 --delta 1e-6 --plan plan.json --store book.db",
    ),
    "ledger spend": (
        f"ledger spend users {_KRR} --rounds 7 --label 'week 1' --store book.db",
        f"ledger spend users {_KRR} --rounds 300 --dry-run --store book.db",
        "ledger spend users --epsilon 0.1 --delta 1e-9 --key report-17 --store book.db",
    ),
    "ledger show": (f"ledger show {_KRR} --store book.db",),
    "ledger history": ("ledger history users --store book.db",),
    "ledger verify": ("ledger verify --store book.db",),
    "ledger export": ("ledger export --csv-file book.csv --store book.db",),
    "train presets": ("train presets",),
    "analyst keygen": ("analyst keygen --out analyst.key",),
    "analyst task": (
        "analyst task --title 'How do you travel?' --task histogram --categories bus,bike,car"
        " --epsilon 1 --delta 1e-6 --minimum 1000 --largest 1e5 --expires +7d --cohort people"
        " --key analyst.key.pub --shuffler-key shuffler/keys/current.pub --out task.json",
    ),
    "analyst open": ("analyst open reports.batch --key analyst.key --out reports.parquet",),
    "shuffler init": ("shuffler init shuffler",),
    "shuffler keygen": (f"shuffler keygen {_CONFIG}",),
    "shuffler keys": (f"shuffler keys {_CONFIG}",),
    "shuffler retire": (f"shuffler retire 18f93e869fee2b7a {_CONFIG}",),
    "shuffler token": (f"shuffler token {_CONFIG}",),
    "shuffler serve": (f"shuffler serve {_CONFIG}",),
    "shuffler open": (f"shuffler open task.json {_CONFIG}",),
    "shuffler status": (f"shuffler status {_CONFIG}",),
    "shuffler release": (f"shuffler release TASK {_CONFIG}",),
    "shuffler verify": (f"shuffler verify {_CONFIG}",),
    "report": ("report --task https://shuffler.example/v1/tasks/TASK --value bus",),
    "collect": ("collect reports.batch --key analyst.key",),
    "reproduce": ("reproduce --list", "reproduce chen-2024-lemma-1"),
    "atlas": ("atlas --out atlas --workers 2",),
    "schema": ("schema ledger show",),
    "manual": ("manual man",),
}
"""By command, as they are typed after ``shuffledp``."""


def add_examples(root: click.Group) -> None:
    """Put them at the end of the help of each command."""
    for name, lines in EXAMPLES.items():
        command: click.Command = root
        for part in name.split():
            assert isinstance(command, click.Group)
            command = command.commands[part]
        shown = "\n".join(f"  shuffledp {line}" for line in lines)
        command.epilog = f"\b\nExamples:\n{shown}"
