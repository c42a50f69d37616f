"""Commands that pay from a ledger, under each rule."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from shuffledp.interfaces.cli import main
from tests.training.test_run import DATA

TOTAL = "--epsilon 2.2 --delta 1e-5 --store book.db"
RUN = (
    "run survey.csv --column dest --task histogram --categories ATL,BOS --mechanism krr"
    " --epsilon 1 --delta 1e-6 --ledger book.db --cohort"
)
TRAIN = (
    "train shuffled-sgd --epochs 2 --blocks 20 --eps0 1 --unit client"
    " --data own.npz --threads 1"
    " --ledger book.db --cohort"
)


def _call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text("dest\n" + "ATL\nBOS\n" * 1000)


def test_the_receipt_is_in_the_json_of_what_was_paid() -> None:
    assert _call(f"ledger init users {TOTAL}").exit_code == 0
    paid = json.loads(_call(f"{RUN} users --json").stdout)["ledger"]
    shown = json.loads(_call("ledger export --store book.db").stdout)["cohorts"][0]["history"][0]
    assert (paid["cohort"], paid["number"], paid["repeated"]) == ("users", 1, False)
    assert paid["digest"] == shown["digest"]
    assert paid["lost"] == shown["lost"]
    free = RUN.split(" --ledger")[0]
    assert json.loads(_call(f"{free} --json").stdout)["ledger"] is None


@pytest.mark.parametrize("rule", ["sum", "renyi"])
def test_a_run_pays_under_rules_that_let_one_look(rule: str) -> None:
    assert _call(f"ledger init users {TOTAL} --rule {rule}").exit_code == 0
    done = _call(f"{RUN} users --out a.csv")
    assert done.exit_code == 0, done.output
    assert "ledger: users #1, lost in all: " in done.stderr
    assert f"({rule}" in done.stderr
    assert "however spends are chosen" in done.stderr
    while (done := _call(f"{RUN} users --out b.csv")).exit_code == 0:
        pass
    assert done.exit_code == 3
    assert "Nothing was recorded" in done.stderr
    assert _call("ledger verify --store book.db").exit_code == 0


def test_a_run_pays_from_a_plan_that_has_it() -> None:
    plan = [{"spent": {"epsilon": "0.1", "delta": "0"}, "rounds": 1}]
    Path("plan.json").write_text(json.dumps(plan))
    planned = f"{TOTAL} --rule planned --plan plan.json"
    assert _call(f"ledger init poor {planned}").exit_code == 0
    refused = _call(f"{RUN} poor --out a.csv")
    assert refused.exit_code == 3
    assert "is not in the plan of the cohort, which has: stated (0.1, 0)-DP" in refused.stderr
    assert not Path("a.csv").exists()
    listed = re.search(r"A plan in a file lists it as (\{.*\})\.\)", refused.stderr)
    assert listed is not None
    Path("plan.json").write_text(json.dumps([*plan, {"spent": json.loads(listed[1]), "rounds": 2}]))
    assert _call(f"ledger init users {planned}").exit_code == 0
    for out in ("a.csv", "b.csv"):
        done = _call(f"{RUN} users --out {out}")
        assert done.exit_code == 0, done.output
    assert "0 of 1 round of stated (0.1, 0)-DP; 2 of 2 rounds of 2,000 users" in done.stderr
    assert "planned: the total holds for this plan" in done.stderr
    refused = _call(f"{RUN} users --out c.csv")
    assert refused.exit_code == 3
    assert "more rounds of 2,000 users" in refused.stderr


@pytest.mark.parametrize("rule", ["sum", "renyi"])
def test_training_pays_under_each_rule(rule: str) -> None:
    np.savez(
        "own.npz",
        x_train=DATA.train_inputs,
        y_train=DATA.train_labels,
        x_test=DATA.test_inputs,
        y_test=DATA.test_labels,
    )
    init = f"ledger init users --epsilon 60 --delta 1e-5 --store book.db --rule {rule}"
    assert _call(init).exit_code == 0
    done = _call(f"{TRAIN} users")
    assert done.exit_code == 0, done.output
    shown = json.loads(_call("ledger show users --store book.db --json").stdout)["cohorts"][0]
    assert shown["spends"] == 2
    assert shown["rule"]["name"] == rule
    assert _call("ledger verify --store book.db").exit_code == 0
