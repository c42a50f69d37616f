"""run --tasks, run --messages, plan --tasks: what is printed, booked and refused."""

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shuffledp.interfaces.cli import main
from shuffledp.ledger import Ledger

TARGET = ["--epsilon", "2", "--delta", "1e-6"]
TASKS = """
[[task]]
task = "histogram"
column = "transport"
categories = ["car", "bus", "train", "bike", "walk"]
mechanism = "krr"

[[task]]
task = "mean"
column = "minutes"
low = 0
high = 120
mechanism = "rounding"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tasks.toml").write_text(TASKS)
    assert _run("sample-data", "survey.csv", "--rows", "1500").exit_code == 0


def _run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def _answer(*words: str) -> dict:
    done = _run(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_text_and_json_say_the_same() -> None:
    asked = ["run", "survey.csv", "--tasks", "tasks.toml", *TARGET, "--simulation", "3"]
    found = _answer(*asked, "--out", "found.csv", "--plot", "found.png")
    said = _run(*asked).stdout
    assert f"privacy of all: {found['label']}" in said
    assert "NOT PRIVATE" in found["label"]
    assert found["privacy"] is None
    assert [each["task"] for each in found["tasks"]] == ["histogram", "mean"]
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d+", said)]
    for each in found["tasks"]:
        assert each["mechanism"] in said
        for row in each["estimates"]:
            near = [x for x in numbers if abs(x - row["value"]) <= 0.06 * row["error"]]
            assert near, row
    with Path("found.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["of"] for row in rows} == {"histogram of transport", "mean of minutes"}
    listed = [row["value"] for each in found["tasks"] for row in each["estimates"]]
    assert [float(row["value"]) for row in rows] == listed
    assert all(row["privacy"].startswith("NOT PRIVATE") for row in rows)
    assert Path("found.png").stat().st_size > 10_000


def test_all_of_it_is_one_spend() -> None:
    book = Ledger.open("book.db")
    book.create("users", "3", "1e-5")
    paid = ["--ledger", "book.db", "--cohort", "users"]
    found = _answer("run", "survey.csv", "--tasks", "tasks.toml", *TARGET, *paid)
    (receipt,) = book.history("users")
    assert found["ledger"]["number"] == receipt.number == 1
    assert receipt.label == "histogram of transport; mean of minutes"
    assert len(found["ledger"]["spent"]["together"]) == 2
    assert found["privacy"]["upper"] <= 2.0
    refused = _run("run", "survey.csv", "--tasks", "tasks.toml", *TARGET, *paid)
    assert refused.exit_code != 0
    assert "0." not in refused.stdout  # nothing is released
    assert len(book.history("users")) == 1


def test_a_plan_is_what_runs() -> None:
    planned = _answer("plan", "--tasks", "tasks.toml", "--n", "1500", *TARGET, "--save", "p.json")
    assert planned["achieved"]["value"] <= 1e-6
    assert [each["about"] for each in planned["tasks"]] == [
        "histogram of transport",
        "mean of minutes",
    ]
    words = [step.replace("DATA.csv", "survey.csv").split()[1:] for step in planned["next"]]
    for step in words:
        assert _run(*step).exit_code == 0, step
    again = _run(*words[1])
    assert again.exit_code != 0
    assert "than its rule allows" in again.stderr
    said = _run("plan", "--tasks", "tasks.toml", "--n", "1500", *TARGET, "--rounds", "2").stdout
    assert "2 rounds" in said
    assert "is for one round" in said


VECTOR = ["--column", "minutes", "--column", "eps", "--task", "vector", "--low", "0", "--high"]


def test_a_vector_in_messages() -> None:
    asked = ["run", "survey.csv", *VECTOR, "120", "--messages", "2", *TARGET]
    found = _answer(*asked, "--mechanism", "rounding-x2")
    (vector,) = found["tasks"]
    assert (vector["messages"], found["messages"]) == (2, 2)
    assert [row["name"] for row in vector["estimates"]] == ["minutes", "eps"]
    fixed = ["run", "survey.csv", *VECTOR, "120", "--messages", "2", "--delta", "1e-6"]
    same = _answer(*fixed, "--mechanism", "rounding-x2", "--eps0", repr(vector["eps0"]))
    assert same["privacy"]["upper"] == pytest.approx(found["privacy"]["upper"], rel=1e-3, abs=0.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tasks", "tasks.toml", "--column", "app", *TARGET], "--column must be left out with"),
        (["--tasks", "tasks.toml", "--task", "mean", *TARGET], "--task must be left out with"),
        (["--tasks", "tasks.toml", "--messages", "2", *TARGET], "--messages must be left out"),
        (["--tasks", "tasks.toml", "--mechanism", "krr", *TARGET], "said in the file of --tasks"),
        (["--tasks", "tasks.toml", "--eps0", "2", "--delta", "1e-6"], "--eps0 must be left out"),
        (["--tasks", "tasks.toml", "--delta", "1e-6"], "--epsilon must be given with --tasks"),
        (["--tasks", "none.toml", *TARGET], "--tasks must be a file that can be read"),
        (["--tasks", "survey.csv", *TARGET], "--tasks must be a file in TOML"),
        (["--tasks", "tasks.toml", "--reports", "r.csv", *TARGET], "--reports must be left out"),
        (["--tasks", "tasks.toml", "--spark", "local[1]", *TARGET], "--spark must be left out"),
        (["--column", "minutes", *TARGET], "--task must be given, or else --tasks"),
        (["--task", "mean", *TARGET], "--column must be given, or else --tasks"),
        (
            ["--column", "app", "--task", "heavy-hitters", "--messages", "2", *TARGET],
            "--messages must be left out unless the task is vector",
        ),
        (
            ["--tasks", "tasks.toml", "--on-bad-rows", "drop", *TARGET],
            "--minimum must be given with --on-bad-rows drop",
        ),
    ],
)
def test_refused(words: list[str], said: str) -> None:
    done = _run("run", "survey.csv", *words)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tasks", "tasks.toml", "--task", "mean"], "--task must be left out with --tasks"),
        (["--tasks", "tasks.toml", "--k", "3"], "--k must be left out with --tasks"),
        (["--tasks", "tasks.toml", "--check-in", "0.5"], "--check-in must be left out"),
        ([], "--task must be given, or else --tasks"),
        (["--task", "mean", "--messages", "3"], "--messages must be left out unless"),
    ],
)
def test_no_plan(words: list[str], said: str) -> None:
    done = _run("plan", "--n", "1500", *TARGET, *words)
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_calibrate_and_account_know_messages() -> None:
    asked = ["--mechanism", "krr", "--k", "4", "--n", "1000", "--messages", "8"]
    found = _answer("calibrate", *asked, "--epsilon", "1", "--delta", "1e-6")
    cost = _answer("account", *asked, "--eps0", repr(found["eps0"]), "--epsilon", "1")
    assert 0.5e-6 < cost["delta"]["upper"] <= 1e-6
    once = _answer("account", *asked[:-2], "--eps0", repr(found["eps0"]), "--epsilon", "1")
    assert once["delta"]["upper"] < 1e-9


def test_columns_of_a_file_of_tasks_are_not_options() -> None:
    Path("wrong.toml").write_text(TASKS.replace('"minutes"', '"minuts"'))
    refused = _run("run", "survey.csv", "--tasks", "wrong.toml", *TARGET)
    assert refused.exit_code == 2
    assert "--tasks must be a file whose columns are each one of the 4 names" in refused.output


def test_rows_are_faults_of_the_data() -> None:
    words = ["--column", "transport", "--task", "mean", "--low", "0", "--high", "1"]
    refused = _run("run", "survey.csv", *words, *TARGET)
    assert refused.output.startswith("Error: DATA must be numbers (row 1). What is there")
