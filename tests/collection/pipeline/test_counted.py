"""`run` in every other shape: from a table to estimates, the ledger, what is refused."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shuffledp.collection.planning import SHAPES, SHAPES_OF_MEANS
from shuffledp.interfaces.cli import main

ASKED = "--epsilon 1 --delta 1e-6"
HISTOGRAM = f"--task histogram --column colour --categories red,green,blue {ASKED}"
MEAN = f"--task mean --column age --low 0 --high 100 {ASKED}"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counted") / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["colour", "age"])
        rows.writerows([["red", "green", "red", "blue"][i % 4], i % 101] for i in range(3000))
    return path


def _run(table: Path, asked: str) -> Result:
    return CliRunner().invoke(main, ["run", str(table), *asked.split()])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_histogram(table: Path, shape: str) -> None:
    result = _run(table, f"{HISTOGRAM} --mechanism {shape} --json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["privacy"]["upper"] <= 1.0
    assert "(PROVEN by" in found["label"]
    assert "trusted:" in found["label"]
    assert found["reports"] == found["n"] == 3000
    for estimate, truth in zip(found["estimates"], (0.5, 0.25, 0.25), strict=True):
        assert abs(estimate["value"] - truth) < 6.0 * estimate["error"]
    assert (found["eps0"] is None) == (not shape.startswith(("krr-", "summed-")))


@pytest.mark.parametrize("shape", SHAPES_OF_MEANS)
def test_a_mean(table: Path, shape: str) -> None:
    result = _run(table, f"{MEAN} --mechanism {shape} --json")
    assert result.exit_code == 0, result.output
    (estimate,) = json.loads(result.stdout)["estimates"]
    truth = sum(i % 101 for i in range(3000)) / 3000
    most = 0.4 if shape in ("noise-shares", "split-and-mix") else 1.4
    assert abs(estimate["value"] - truth) < 8.0 * estimate["error"] < most
    assert estimate["low"] < estimate["value"] < estimate["high"]


def test_a_ledger_pays_for_the_protocol(table: Path, tmp_path: Path) -> None:
    book = tmp_path / "book.db"
    init = ["ledger", "init", "users", "--epsilon", "1.5", "--delta", "1e-5", "--store", str(book)]
    assert CliRunner().invoke(main, init).exit_code == 0
    spent = f"{HISTOGRAM} --mechanism dummies --ledger {book} --cohort users"
    assert _run(table, spent).exit_code == 0
    again = _run(table, spent)
    assert again.exit_code != 0
    assert "estimate" not in again.stdout


def test_simulations_protect_nobody_and_bad_rows_are_dropped_if_asked(table: Path) -> None:
    result = _run(table, f"{HISTOGRAM} --mechanism dummies --simulation 4")
    assert "NOT PRIVATE" in result.stdout
    fewer = HISTOGRAM.replace(",blue", "")
    assert _run(table, f"{fewer} --mechanism dummies").exit_code != 0
    dropped = f"{fewer} --mechanism dummies --on-bad-rows drop --minimum 2000 --json"
    found = json.loads(_run(table, dropped).stdout)
    assert found["dropped"] == 750
    assert found["n"] == 2000


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (f"{MEAN} --mechanism dummies", "one of noise-shares, gaussian-shares"),
        (f"{HISTOGRAM} --mechanism dummies --reports x.csv", "left out for 'dummies'"),
        (f"{HISTOGRAM} --mechanism dummies --minimum 1000 --n 2000", "rows of the table"),
        (f"{HISTOGRAM} --mechanism dummies --n 4000", "4000"),
    ],
)
def test_what_is_refused(table: Path, asked: str, said: str) -> None:
    result = _run(table, asked)
    assert result.exit_code != 0
    assert said in result.stderr.replace("\n", " ")
    assert "estimate" not in result.stdout


def test_other_steps_take_no_shapes(table: Path, tmp_path: Path) -> None:
    asked = f"encode {table} {HISTOGRAM} --mechanism dummies --out {tmp_path / 'x.csv'}"
    result = CliRunner().invoke(main, asked.split())
    assert result.exit_code != 0
    assert "--mechanism" in result.stderr
