"""What is not covered, or not proven, is never booked or shown as if it were."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from shuffledp import LedgerError
from shuffledp.interfaces.cli import main
from shuffledp.ledger import Guarantee, Ledger, renyi
from tests.ledger.ages import aged

RUN = "run survey.csv --column dest --task histogram --mechanism krr --epsilon 1 --delta 1e-6"
LISTED = "--categories ATL,BOS,LAX"
PAID = "--ledger book.db --cohort users"
FOUND = "NOT COVERED: the list of values, which was read from the data and is published as it is"
DROPPED = "NOT COVERED: how many rows were dropped"


def _call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


def _said(line: str) -> str:
    result = _call(line)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def _shown() -> dict[str, Any]:
    (cohort,) = json.loads(_call("ledger show users --store book.db --json").stdout)["cohorts"]
    found: dict[str, Any] = cohort
    return found


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text("dest,eps\n" + "ATL,1\nBOS,1\nLAX,1\n" * 300)
    _said("ledger init users --epsilon 50 --delta 1e-4 --store book.db")


@pytest.mark.usefixtures("survey")
@pytest.mark.parametrize(
    "line",
    [
        f"{RUN} {LISTED} --simulation 1 --out x.csv",
        f"{RUN} {LISTED} --simulation 1 --reports x.csv",
        f"personalized survey.csv --column dest --budgets-column eps --delta 1e-6 --budgets-hidden"
        f" {LISTED} --simulation 1 --out x.csv",
        "shuffle e.csv --simulation 1 --out x.csv",
        "shuffle simulated.csv --out x.csv",
    ],
)
def test_a_simulation_is_not_booked(line: str) -> None:
    encode = f"{RUN.replace('run', 'encode')} {LISTED}"
    _said(f"{encode} --out e.csv")
    _said(f"{encode} --out simulated.csv --simulation 1")
    _said(f"shuffle e.csv --out e1.csv {PAID}")
    refused = _call(f"{line} {PAID}")
    assert refused.exit_code == 2
    assert "--ledger must be left out for what is simulated" in refused.output
    assert "protects nobody and spends nothing" in refused.output
    assert not Path("x.csv").exists()
    assert (_shown()["spends"], _shown()["status"]) == (1, "PROVEN")


@pytest.mark.usefixtures("survey")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--categories-from-data", FOUND),
        (f"{LISTED} --on-bad-rows drop --minimum 900", DROPPED),
        ("--categories-from-data --on-bad-rows drop --minimum 900", f"{FOUND}; {DROPPED}"),
    ],
    ids=["from data", "dropped", "both"],
)
def test_a_release_that_is_not_covered_marks_its_cohort_for_good(options: str, why: str) -> None:
    first = _call(f"{RUN} {LISTED} {PAID}").stderr
    assert "(sum: the total holds" in first
    assert "NOT COVERED" not in _said("ledger show --store book.db")
    assert (
        f"({why} (#2). Otherwise: sum: the total holds" in _call(f"{RUN} {options} {PAID}").stderr
    )
    assert f"({why} (#2)." in _call(f"{RUN} {LISTED} {PAID}").stderr  # and all that follow
    assert f"rule: {why} (#2)." in _said("ledger spend users --epsilon 0.1 --store book.db")
    _said(f"{RUN} {options} {PAID}")
    cohort = _shown()
    assert cohort["status"] is None
    assert cohort["uncovered"] == [{"why": why, "first": 2, "spends": 2}]
    assert cohort["promise"].startswith(f"{why} (#2 and 1 more). Otherwise: the total holds")
    shown = _said("ledger show --store book.db")
    assert "PROVEN" not in shown
    assert "not proven" in shown
    assert f"users: {why} (#2 and 1 more). Otherwise: sum:" in shown
    _said("ledger export --store book.db --json-file b.json --csv-file b.csv")
    (exported,) = json.loads(Path("b.json").read_text())["cohorts"]
    del cohort["rounds_left"]  # of what is spent now, not of the book
    assert {name: exported[name] for name in cohort} == cohort
    statuses = ["PROVEN", None, None, None, None]
    assert [each["status"] for each in exported["history"]] == statuses
    rows = list(csv.DictReader(Path("b.csv").read_text().splitlines()))
    assert [row["status"] or None for row in rows] == statuses
    assert [row["promise"].startswith(why) for row in rows] == [s is None for s in statuses]
    assert _call("ledger verify --store book.db").exit_code == 0


@pytest.mark.usefixtures("survey")
def test_shuffled_reports_carry_their_mark_to_the_book() -> None:
    encode = f"{RUN.replace('run', 'encode')} {LISTED} --on-bad-rows drop --minimum 900"
    _said(f"{encode} --out e.csv")
    for out in ("a.csv", "b.csv"):
        _said(f"shuffle e.csv --out {out} {PAID}")
    assert _shown()["uncovered"] == [{"why": DROPPED, "first": 1, "spends": 1}]


@pytest.mark.usefixtures("survey")
def test_many_columns_of_any_name_are_booked() -> None:
    names = [f"a_rather_long_name_of_column_{i}" for i in range(9)]
    rows = ",".join(["1"] * 9) + "\n"
    Path("wide.csv").write_text(",".join(names) + "\n" + rows * 900)
    columns = " ".join(f"--column {name}" for name in names)
    line = f"run wide.csv {columns} --task vector --low 0 --high 9 --epsilon 1 --delta 1e-6"
    assert "ledger: users #1" in _call(f"{line} {PAID}").stderr


def test_marks_are_part_of_the_book(ledger: Ledger) -> None:
    ledger.create("users", "2", "1e-6")
    ledger.create("others", "2", "1e-6", renyi(order=30.0))
    clean = ledger.spend("users", Guarantee("0.1"), key="a")
    mark = ledger.spend("users", Guarantee("0.1"), key="b", label="May", uncovered="a list")
    assert (clean.uncovered, mark.uncovered) == ("", "NOT COVERED: a list")
    assert (clean.claim.status, mark.claim.status) == ("PROVEN", None)
    assert ledger.history("users") == [clean, mark]
    for key, other in (("a", "a list"), ("b", "")):  # a key does not wash a mark off
        with pytest.raises(LedgerError, match="used for another spend"):
            ledger.spend("users", Guarantee("0.1"), key=key, uncovered=other)
    assert ledger.spend("users", Guarantee("0.1"), key="b", uncovered="a list").repeated
    assert ledger.spend("users", Guarantee("0.1"), key="a").claim.status == "PROVEN"  # then
    assert ledger.spend("users", Guarantee("0.1")).claim.status is None
    assert ledger.balance("users").claim.status is None
    assert ledger.balance("others").claim.status == "PROVEN"
    with ledger.store.transaction(write=True) as execute:
        execute("UPDATE shuffledp_spends SET label = 'May' WHERE number = 2")
    assert ledger.verify("users")[0].problems


def test_a_rule_that_was_never_declared_proves_nothing(ledger: Ledger, store: str) -> None:
    ledger.create("users", "2", "1e-6")
    ledger.spend("users", Guarantee("0.1"))
    assert ledger.balance("users").to_dict()["status"] == "PROVEN"
    aged(ledger, 2)
    for _ in range(2):  # also once it is of the current format
        told = json.loads(_call(f"ledger show --store {store} --json").stdout)["cohorts"][0]
        assert told["status"] is None
        assert "only if all spends were fixed in advance" in told["promise"]
        assert "PROVEN" not in _call(f"ledger export --store {store}").stdout
        shown = _said(f"ledger show --store {store}")
        assert "PROVEN" not in shown
        assert "not proven" in shown
        ledger.spend("users", Guarantee("0.1"))
