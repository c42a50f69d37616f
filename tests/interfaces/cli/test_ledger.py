"""shuffledp ledger, on both stores."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shuffledp.interfaces.cli import main
from shuffledp.ledger import Ledger
from tests.cluster import Cluster

KRR = ["--mechanism", "krr", "--k", "16", "--eps0", "1", "--n", "1e4"]


def _run(store: str, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["ledger", command, "--store", store, *arguments])


def _json(store: str, command: str, *arguments: str) -> dict[str, object]:
    result = _run(store, command, *arguments, "--json")
    assert result.exit_code == 0, result.output
    data: dict[str, object] = json.loads(result.stdout)
    return data


def test_a_life_of_a_cohort(store: str, tmp_path: Path) -> None:
    made = _json(store, "init", "users", "--epsilon", "0.5", "--delta", "1e-6")
    assert made["left"] == {"epsilon": "0.5", "delta": "0.000001"}
    assert made["rule"] == {"name": "sum"}
    receipt = _json(store, "spend", "users", *KRR, "--rounds", "4", "--label", "May", "--key", "k")
    assert (receipt["number"], receipt["rounds"], receipt["label"]) == (1, 4, "May")
    again = _json(store, "spend", "users", *KRR, "--rounds", "4", "--key", "k")
    assert again == receipt | {"repeated": True}
    assert receipt["repeated"] is False
    assert _json(store, "spend", "users", "--epsilon", "0.1", "--delta", "1e-8")["number"] == 2
    (cohort,) = _json(store, "show", *KRR)["cohorts"]  # type: ignore[misc]
    assert (cohort["spends"], cohort["status"]) == (2, "PROVEN")
    assert cohort["rounds_left"] > 0
    refused = _run(store, "spend", "users", *KRR, "--rounds", str(cohort["rounds_left"] + 1))
    assert refused.exit_code == 3
    assert "may lose epsilon = 0.5" in refused.stderr
    assert refused.stdout == ""
    assert (
        _run(store, "spend", "users", *KRR, "--rounds", str(cohort["rounds_left"])).exit_code == 0
    )
    files = tmp_path / "all.json", tmp_path / "all.csv"
    done = _run(store, "export", "--json-file", str(files[0]), "--csv-file", str(files[1]))
    assert "1 cohort, 3 spends" in done.stdout
    data = json.loads(files[0].read_text())
    assert {"schema": "ledger export/1", **data} == _json(store, "export")
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    assert [row["number"] for row in rows] == ["1", "2", "3"]
    assert json.loads(rows[0]["spent"]) == data["cohorts"][0]["history"][0]["spent"]


def test_tables_for_people(store: str) -> None:
    said = _run(store, "init", "users", "--epsilon", "1", "--delta", "1e-6").stdout
    assert "may lose epsilon = 1 at delta = 1e-06" in said
    assert "rule: sum: the total holds however spends are chosen" in said
    said = _run(store, "spend", "users", "--epsilon", "0.3333333333").stdout
    assert "recorded: users #1" in said
    assert "lost in all: epsilon 0.333334 of 1, delta 0 of 1e-06" in said  # rounded up
    assert "rule: sum: the total holds however spends are chosen" in said
    shown = _run(store, "show", "users", "--epsilon", "0.1").stdout
    assert "0.333334 of 1" in " ".join(shown.split())
    assert "sum: the total holds however spends are chosen" in shown
    assert "rounds left: of stated (0.1, 0)-DP" in shown
    for done in ("recorded", "recorded before, nothing more is lost"):
        said = _run(store, "spend", "users", "--epsilon", "0.1", "--key", "k").stdout
        assert said.startswith(f"{done}: users #2, 1 round of stated (0.1, 0)-DP\n")
    receipt = _json(store, "spend", "users", *KRR)
    assert str(receipt["digest"]) in _run(store, "verify").stdout


def test_whole_numbers_are_written_out(store: str) -> None:
    made = _json(store, "init", "users", "--epsilon", "50", "--delta", "1e-6")
    assert (made["epsilon"], made["limits"]) == ("50", {"epsilon": "50", "delta": "0.000001"})
    receipt = _json(store, "spend", "users", "--epsilon", "2E+1")
    assert (receipt["spent"], receipt["lost"]) == (
        {"epsilon": "20", "delta": "0"},
        {"epsilon": "20", "delta": "0"},
    )
    assert "E+" not in _run(store, "export").stdout
    assert _run(store, "verify").exit_code == 0


TOTAL = ["--epsilon", "1", "--delta", "1e-6"]


def test_rules_by_options(store: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    entries = [{"spent": {"epsilon": "0.1", "delta": "0"}, "rounds": 2}]
    plan.write_text(
        json.dumps([*entries, {"spent": {"epsilon": "0.2", "delta": "0"}, "rounds": None}])
    )
    for name, options, limits in (
        ("a", ["--rule", "renyi", "--order", "30", "--stated-delta", "2e-7"], "divergence"),
        ("b", ["--rule", "renyi", *KRR], "divergence"),
        ("c", ["--rule", "planned", *KRR, "--rounds", "5"], "kind 1"),
        ("d", ["--rule", "planned", *KRR], "kind 1"),
        ("e", ["--rule", "planned", "--plan", str(plan)], "kind 2"),
    ):
        made = _json(store, "init", name, *TOTAL, *options)
        assert limits in made["limits"]  # type: ignore[operator]
        (shown,) = _json(store, "show", name)["cohorts"]  # type: ignore[misc]
        assert {"schema": "ledger init/1", **shown} == made
        said = " ".join(_run(store, "show", name).stdout.split())
        assert str(made["promise"])[:30] in said
    assert made["limits"] == {"kind 1": "2", "kind 2": "4"}
    said = _run(store, "spend", "e", "--epsilon", "0.2", "--rounds", "3").stdout
    assert "0 of 2 rounds of stated (0.1, 0)-DP; 3 of 4 rounds of stated (0.2, 0)-DP" in said
    assert "rule: planned: the total holds for this plan" in said
    refused = _run(store, "spend", "e", "--epsilon", "0.3")
    assert refused.exit_code == 3
    assert "stated (0.3, 0)-DP is not in the plan" in refused.stderr
    assert _run(store, "verify").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--order", "9"], "--order must be left out with --rule sum"),
        (KRR, "left out with --rule sum"),
        (["--rule", "planned", "--stated-delta", "0"], "left out with --rule planned"),
        (
            ["--rule", "planned"],
            "must be given, or else a protocol (--n, --mechanism ...). Got 'neither'",
        ),
        (["--rule", "planned", "--plan", "x.json", *KRR], "Got 'both'"),
        (["--rule", "planned", "--plan", "/nowhere/x.json"], "a file that can be read"),
        (["--rule", "planned", "--plan", __file__], 'JSON such as [{"spent"'),
        (["--rule", "renyi", "--rounds", "3"], "left out with --rule renyi"),
        (["--rule", "renyi", "--order", "1"], "a number > 1"),
        (["--rule", "best"], "is not one of"),
    ],
)
def test_rules_that_cannot_be(tmp_path: Path, options: list[str], message: str) -> None:
    store = tmp_path / "book.db"
    result = _run(str(store), "init", "users", *TOTAL, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not store.exists()


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("spend", ["users"], "--n must be given, or else --epsilon"),
        ("spend", ["users", "--epsilon", "0.1", "--n", "5"], "left out with a protocol"),
        ("spend", ["users", "--delta", "0.1"], "with --epsilon only"),
        ("spend", ["users", "--epsilon", "abc"], "exact decimal"),
        ("spend", ["users", "--epsilon", "1", "--rounds", "0"], "an integer from 1"),
        ("spend", ["nobody", "--epsilon", "1"], "no cohort 'nobody'"),
        ("show", ["--rounds", "3"], "left out: it is what is asked"),
        ("show", ["nobody"], "no cohort 'nobody'"),
        ("init", ["users", "--epsilon", "1", "--delta", "0"], "exists already"),
        ("export", ["--csv-file", "/nowhere/x.csv"], "a file that can be written"),
    ],
)
def test_bad_input(tmp_path: Path, command: str, arguments: list[str], message: str) -> None:
    store = str(tmp_path / "book.db")
    Ledger.open(store).create("users", "1", "0")
    result = _run(store, command, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_missing_ledger_is_not_made_by_mistake(tmp_path: Path) -> None:
    for command in (["spend", "users", "--epsilon", "1"], ["show"], ["export"]):
        result = _run(str(tmp_path / "typo.db"), *command)
        assert result.exit_code == 2
        assert "no ledger in" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_password_is_not_printed(postgres: Cluster) -> None:
    url = postgres.database("secretive").replace("ledger@", "ledger:s3cret@")
    outputs = [
        _run(url, "show"),
        _run(url, "init", "users", "--epsilon", "1", "--delta", "0"),
        _run(url, "spend", "users", "--epsilon", "1"),
        _run(url, "spend", "users", "--epsilon", "1"),
        _run(url, "show"),
        _run(url, "show", "--json"),
        _run(url, "export"),
        _run(url.replace("secretive", "missing"), "show"),
    ]
    assert [result.exit_code for result in outputs] == [2, 0, 0, 3, 0, 0, 0, 2]
    assert all("s3cret" not in result.output for result in outputs)


def good(*words: object) -> Result:
    result = CliRunner().invoke(main, ["ledger", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result


KRR16 = ("--mechanism", "krr", "--k", 16, "--eps0", 2, "--n", 100_000)


def test_a_dry_run_says_what_a_spend_would_and_records_nothing(store: str) -> None:
    good("init", "users", "--epsilon", "0.5", "--delta", "1e-6", "--store", store)
    words = ("spend", "users", "--epsilon", "0.3", "--store", store)
    tried = json.loads(good(*words, "--dry-run", "--json").stdout)
    assert "nothing was recorded" in good(*words, "--dry-run").stdout
    assert json.loads(good("history", "users", "--store", store, "--json").stdout)["history"] == []
    done = json.loads(good(*words, "--json").stdout)
    assert tried["lost"] == done["lost"]
    refused = _run(store, "spend", "users", "--epsilon", "0.3", "--dry-run")
    assert refused.exit_code == 3
    assert "Nothing was recorded" in refused.stderr


def test_rounds_left_of_what_was_planned_or_spent(store: str) -> None:
    good("init", "a", "--epsilon", "1", "--delta", "0", "--store", store)
    good("spend", "a", "--epsilon", "0.1", "--store", store)
    plan = ("--rule", "planned", "--rounds", 5)
    good("init", "b", "--epsilon", "1", "--delta", "1e-6", *plan, *KRR16, "--store", store)
    good("spend", "b", *KRR16, "--rounds", 2, "--store", store)
    good("init", "c", "--epsilon", "1", "--delta", "0", "--store", store)
    found = json.loads(good("show", "--store", store, "--json").stdout)["cohorts"]
    assert [each["rounds_left"] for each in found] == [9, 3, None]
    shown = " ".join(good("show", "--store", store).stdout.split())
    assert "a 1 0 10 % 9 1 PROVEN sum" in shown
    assert "b 1 1e-06 40 % 3 1 PROVEN planned" in shown


def test_history_lists_every_spend(store: str) -> None:
    good("init", "users", "--epsilon", "1", "--delta", "0", "--store", store)
    for week in (1, 2):
        good("spend", "users", "--epsilon", "0.25", "--label", f"week {week}", "--store", store)
    listed = json.loads(good("history", "users", "--store", store, "--json").stdout)["history"]
    assert [each["label"] for each in listed] == ["week 1", "week 2"]
    shown = good("history", "users", "--store", store).stdout
    assert "25 %" in shown
    assert "50 %" in shown
    assert "week 2" in shown


def test_a_spend_that_takes_the_promise_away_says_so_once(store: str) -> None:
    good("init", "users", "--epsilon", "1", "--delta", "0", "--store", store)
    words = ("spend", "users", "--epsilon", "0.1", "--store", store, "--label")
    assert "warning" not in good(*words, "fine").stderr
    first = good(*words, "NOT COVERED: the list of values").stderr
    assert "from this spend on nothing is proven" in first
    assert "the list of values" in first
    assert "warning" not in good(*words, "NOT COVERED: the list of values").stderr
