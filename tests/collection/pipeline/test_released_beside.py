"""What leaves a collection beside its numbers: lists of values, labels, rows, files."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from shuffledp.interfaces.cli import main
from shuffledp.labels import counted

TARGET = "--epsilon 1 --delta 1e-6"
SECRET = "Zoe-secret-value"
RUN = f"run survey.csv --column dest --task histogram {TARGET} --mechanism krr"
BUDGETS = "personalized survey.csv --column dest --budgets-column eps --delta 1e-6 --budgets-hidden"
LISTED = "--categories ATL,BOS,LAX"


def _call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


def _ok(line: str) -> dict[str, Any]:
    result = _call(f"{line} --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _refused(line: str) -> str:
    before = sorted(os.listdir())
    result = _call(line)
    assert result.exit_code == 2, result.output
    assert sorted(os.listdir()) == before
    assert SECRET not in result.output
    return result.output


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "ATL,1\nBOS,2\nLAX,1\n" * 300
    Path("good.csv").write_text(f"dest,eps\n{rows}")
    Path("survey.csv").write_text(f"dest,eps\n{rows}{SECRET},1\n")


@pytest.mark.parametrize(
    "line", [RUN, f"{RUN.replace('run ', 'encode ')} --out e.csv", BUDGETS], ids=lambda x: x[:6]
)
def test_values_are_declared(line: str) -> None:
    """One user's value is not published because nobody listed the others."""
    said = _refused(line)
    assert "--categories must be given" in said
    assert "heavy-hitters" in said
    assert "--categories-from-data" in said
    # a value that is not declared is refused, and not quoted
    assert "declared categories only (row 901)" in _refused(f"{line} {LISTED}")
    assert "left out with --categories-from-data" in _refused(
        f"{line} {LISTED} --categories-from-data"
    )


@pytest.mark.parametrize("line", [RUN, BUDGETS], ids=["run", "personalized"])
def test_the_first_user_is_not_quoted_for_want_of_a_header(line: str) -> None:
    Path("survey.csv").write_text(f"{SECRET},1\nATL,2\n")
    assert "one of the 2 names in the first line of the table" in _refused(f"{line} {LISTED}")


@pytest.mark.parametrize("line", [RUN, BUDGETS], ids=["run", "personalized"])
def test_the_table_is_no_public_list(line: str) -> None:
    os.link("survey.csv", "list.txt")
    for name in ("survey.csv", "list.txt"):
        assert "--categories must be another file than DATA" in _refused(
            f"{line} --categories {name}"
        )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("line", [RUN, BUDGETS], ids=["run", "personalized"])
def test_values_from_the_data_change_the_label(line: str, kind: str) -> None:
    """In text, JSON, the table and the picture; nothing is called proven."""
    line += f" --categories-from-data --out out.{kind}"
    shown = _call(f"{line} --plot out.svg")
    assert shown.exit_code == 0, shown.output
    privacy = [row for row in shown.stdout.splitlines() if row.startswith("privacy")]
    assert len(privacy) == 1
    assert "NOT COVERED: the list of values" in privacy[0]
    assert "PROVEN" not in shown.stdout
    assert "warning: the list of the 4 values found is published" in shown.stderr
    found = _ok(line)
    assert found["privacy"] is None
    assert found["categories_from_data"]
    assert found["label"].startswith("NOT COVERED")
    table = pq.read_table("out.parquet") if kind == "parquet" else pa.csv.read_csv("out.csv")
    assert all(str(row).startswith("NOT COVERED") for row in table["privacy"])
    # words of a picture are drawn letter by letter: its size tells that there are more of them
    listed = line.replace("--categories-from-data", f"--categories ATL,BOS,LAX,{SECRET}")
    assert _call(f"{listed} --plot listed.svg").exit_code == 0
    assert "PROVEN" in _ok(listed)["label"]
    assert Path("out.svg").stat().st_size != Path("listed.svg").stat().st_size


SEEDED = f"--categories ATL,BOS,LAX,{SECRET} --simulation 3"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--categories-from-data", "NOT COVERED: the list of values"),
        (SEEDED, "NOT PRIVATE: simulated randomness"),
    ],
    ids=["from data", "simulated"],
)
@pytest.mark.parametrize("line", [RUN, BUDGETS], ids=["run", "personalized"])
def test_nothing_is_called_proven_where_nothing_is(
    line: str, options: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in text nor in JSON, tables, pictures or the book, which takes no simulations."""
    pictured: list[str] = []

    def dress(axes: Any, title: str) -> None:
        said = [title, *axes.get_legend_handles_labels()[1], *(t.get_text() for t in axes.texts)]
        pictured.append(" ".join(" ".join(said).split()))

    for module in ("estimates", "personalized"):
        monkeypatch.setattr(f"shuffledp.display.{module}.dress", dress)
    _ok("ledger init users --epsilon 9 --delta 1e-5 --store book.db")
    line += f" {options} --out x.csv --plot x.png"
    paid = f"{line} --ledger book.db --cohort users"
    if options == SEEDED:
        assert "a simulation protects nobody and spends nothing" in _refused(paid)
        assert not Path("x.csv").exists()
    else:
        line = paid
    found = _ok(line)
    assert found["privacy"] is None
    assert found["label"].startswith(reason)
    shown = _call(line)
    assert f"privacy: {reason}" in shown.stdout
    assert reason in pictured[0]
    assert Path("x.csv").read_text().count(reason) == 4
    for said in (json.dumps(found), shown.output, *pictured, Path("x.csv").read_text()):
        assert "PROVEN" not in said
    (cohort,) = json.loads(_call("ledger export --store book.db").stdout)["cohorts"]
    spends = 0 if options == SEEDED else 2
    assert [reason in each["label"] for each in cohort["history"]] == [True] * spends
    assert ("PROVEN" in json.dumps(cohort)) == (spends == 0)


def test_simulated_reports_are_called_so_in_every_step() -> None:
    _ok(f"{RUN.replace('run ', 'encode ')} {SEEDED} --out e.csv")
    assert _ok("analyze e.csv --unshuffled")["label"].startswith("NOT PRIVATE: simulated")
    mixed = _ok("shuffle e.csv --out m.csv")
    assert mixed["epsilon"] is None
    assert not mixed["promised"]["kept"]
    assert mixed["label"].startswith("NOT PRIVATE: simulated")
    shown = _call("shuffle e.csv --out m.csv").stdout + _call("analyze m.csv").stdout
    assert shown.count("NOT PRIVATE: simulated") == 2
    assert "PROVEN" not in shown
    assert _ok("analyze m.csv")["privacy"] is None


@pytest.mark.parametrize("line", [RUN, BUDGETS], ids=["run", "personalized"])
def test_a_delta_is_not_shown_smaller_than_it_is(line: str) -> None:
    line = f"{line} {LISTED} --other REST".replace("1e-6", "1.2345649e-6")
    assert "at delta 1.2345649e-06 (PROVEN" in _ok(line)["label"]
    assert "at delta 3e-06 (PROVEN" in _ok(line.replace("1.2345649e-6", "3e-6"))["label"]


def test_the_label_goes_through_the_files() -> None:
    line = f"{RUN.replace('run ', 'encode ')} --categories-from-data"
    assert _ok(f"{line} --out e.parquet")["categories_from_data"]
    mixed = _ok("shuffle e.parquet --out m.csv")
    assert mixed["epsilon"] is None
    assert mixed["label"].startswith("NOT COVERED")
    assert "PROVEN" not in _call("shuffle e.parquet --out m.csv").stdout
    found = _ok("analyze m.csv")
    assert found["privacy"] is None
    assert found["label"] == mixed["label"]


def test_the_ledger_says_what_it_does_not_cover() -> None:
    _ok("ledger init users --epsilon 4 --delta 1e-6 --store book.db")
    _ok(f"{RUN} --categories-from-data --ledger book.db --cohort users")
    assert "NOT COVERED" in _call("ledger export --store book.db").stdout


def test_values_that_are_not_listed_may_go_to_one_that_is() -> None:
    for line in (RUN, BUDGETS):
        found = _ok(f"{line} {LISTED} --other else")
        assert [row["name"] for row in found["estimates"]] == ["ATL", "BOS", "LAX", "else"]
        assert found["reports"] == 901
    found = _ok(f"{RUN} --categories ATL,BOS --other BOS")
    assert [row["name"] for row in found["estimates"]] == ["ATL", "BOS"]
    Path("holes.csv").write_text("dest,eps\nATL,1\n,1\n")
    assert "missing values (row 2)" in _refused(
        f"{RUN.replace('survey', 'holes')} {LISTED} --other else"
    )


BAD = {
    "histogram": (f"--column dest {LISTED} --mechanism krr", [f"{SECRET},1,1"]),
    "heavy-hitters": ("--column dest", [",1,1"]),
    "mean": (
        "--column eps --low 0 --high 3 --mechanism piecewise",
        ["ATL,,1", f"ATL,{SECRET},1", "ATL,nan,1"],
    ),
    "quantiles": ("--column eps --low 0 --high 3 --mechanism krr", [f"ATL,{SECRET},1"]),
    "vector": (
        "--column eps --column also --low 0 --high 3 --mechanism one-bit",
        [f"ATL,{SECRET},1", "ATL,1,x"],
    ),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("task", BAD)
def test_bad_rows(task: str, kind: str) -> None:
    """Refused, or dropped and counted; accounted for a number known beforehand."""
    options, bad = BAD[task]
    rows = "\n".join(["dest,eps,also", *["ATL,1,1"] * 500, *bad, "ATL,1,1", ""])
    Path("bad.csv").write_text(rows)
    if kind == "parquet":
        names = ("dest", "eps", "also")
        text = pa.csv.ConvertOptions(
            column_types={name: pa.string() for name in names}, strings_can_be_null=True
        )
        pq.write_table(pa.csv.read_csv("bad.csv", convert_options=text), "bad.parquet")
    line = f"run bad.{kind} --task {task} {options} {TARGET}"
    assert "(row 501)" in _refused(line)
    assert "--minimum must be given with --on-bad-rows drop" in _refused(
        f"{line} --on-bad-rows drop"
    )
    found = _ok(f"{line} --on-bad-rows drop --minimum 450")
    assert found["reports"] == 501
    assert found["dropped"] == len(bad)
    assert found["n"] == 450
    assert found["privacy"]["upper"] <= 1.0
    assert found["label"].endswith("NOT COVERED: how many rows were dropped")
    assert found["not_covered"] == ["NOT COVERED: how many rows were dropped"]
    shown = _call(f"{line} --on-bad-rows drop --minimum 450 --out x.csv").stdout
    assert f"{counted(len(bad), 'row')} dropped\n" in shown
    assert "NOT COVERED: how many rows were dropped" in shown
    assert "NOT COVERED: how many rows were dropped" in Path("x.csv").read_text()
    assert "promised batch of 502" in _refused(f"{line} --on-bad-rows drop --minimum 502")
    encoded = _ok(
        f"{line.replace('run', 'encode')} --on-bad-rows drop --minimum 450 --out e.{kind}"
    )
    assert encoded["dropped"] == found["dropped"]
    assert _ok(f"shuffle e.{kind} --out m.csv")["reports"] == 501


def test_unshuffled_reports_are_called_so_everywhere() -> None:
    encode = f"{RUN.replace('run survey', 'encode good')} {LISTED}"
    _ok(f"{encode} --out e.csv")
    assert "--unshuffled" in _refused("analyze e.csv --out x.csv --plot x.png")
    shown = _call("analyze e.csv --unshuffled --out x.csv")
    assert shown.exit_code == 0
    assert "NOT SHUFFLED" in shown.stdout
    assert Path("x.csv").read_text().count("NOT SHUFFLED") == 3
    found = _ok("analyze e.csv --unshuffled --out x.parquet")
    assert found["label"].startswith("NOT SHUFFLED")
    assert found["privacy"] is None
    assert not found["shuffled"]
    assert all(str(row).startswith("NOT SHUFFLED") for row in pq.read_table("x.parquet")["privacy"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_reports_are_their_owners_alone(kind: str) -> None:
    _ok(f"{RUN.replace('run survey', 'encode good')} {LISTED} --out e.{kind}")
    _ok(f"shuffle e.{kind} --out m.{kind}")
    _ok(f"{RUN.replace('survey', 'good')} {LISTED} --reports r.{kind} --out o.{kind}")
    for name in "emr":
        assert stat.S_IMODE(Path(f"{name}.{kind}").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(f"o.{kind}").stat().st_mode) != 0o600


def _edited(text: str, change: dict[str, Any]) -> str:
    first, rest = text.split("\n", 1)
    mark = "# shuffledp "
    return mark + json.dumps(json.loads(first.removeprefix(mark)) | change) + "\n" + rest


def test_edited_reports_are_refused() -> None:
    _ok(f"{RUN.replace('run survey', 'encode good')} {LISTED} --out e.csv")
    text = Path("e.csv").read_text()
    lines = text.splitlines(keepends=True)
    for changed in (
        _edited(text, {"shuffled": True, "batch": ""}),
        _edited(text, {"n": 10**6, "users": 10**6}),
        _edited(text, {"strength": 1.0}),
        _edited(text, {"digest": "0" * 64}),
        "".join(lines[:-1]),
        "".join([*lines[:2], *lines[3:], lines[2]]) if lines[2] != lines[3] else text + lines[2],
        text + "0\n",
        "".join([*lines[:-1], re.sub(r"\d", lambda m: str((int(m[0]) + 1) % 3), lines[-1])]),
    ):
        Path("changed.csv").write_text(changed)
        assert "changed or cut short" in _refused("analyze changed.csv --unshuffled")
        _refused("shuffle changed.csv --out x.csv")
    Path("changed.csv").write_text(_edited(text, {}))  # the same, otherwise spaced
    assert _call("analyze changed.csv --unshuffled").exit_code == 0
    _ok("shuffle e.csv --out m.parquet")
    table = pq.read_table("m.parquet")
    meta = pq.read_metadata("m.parquet").metadata[b"shuffledp"]
    for rows in (table.slice(1), table):
        with pq.ParquetWriter("changed.parquet", table.schema) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({"shuffledp": meta})
        result = _call("analyze changed.parquet")
        assert (result.exit_code == 0) == (rows is table)
        assert rows is table or "changed or cut short" in result.output
    Path("more.csv").write_text("".join(lines[:1] + [f"{line.strip()},1\n" for line in lines[1:]]))
    assert "with the columns report_0" in _refused("analyze more.csv --unshuffled")
