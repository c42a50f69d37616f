"""Reports of many devices in many files, shuffled as one batch."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp import ParameterError
from shuffledp.collection.devices import secure
from shuffledp.collection.pipeline import analyze, shuffle
from shuffledp.collection.pipeline.report_files import read_reports
from shuffledp.interfaces.cli import main

N = 1200
ENCODE = (
    "--column dest --categories ATL,BOS,LAX --task histogram --epsilon 1 --delta 1e-6"
    f" --mechanism krr --n {N} --collection survey"
)


def _ok(line: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*line.split(), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _refused(line: str) -> str:
    before = sorted(os.listdir())
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2, result.output
    assert sorted(os.listdir()) == before
    return result.output


@pytest.fixture(autouse=True)
def _devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them; each file alone is below the promised batch."""
    monkeypatch.chdir(tmp_path)
    for number, (name, rows) in enumerate({"ATL": 600, "BOS": 400, "LAX": 200}.items()):
        Path(f"{number}.csv").write_text("dest\n" + f"{name}\n" * rows)
    for number, kind in enumerate(("csv", "parquet", "parquet")):
        _ok(f"encode {number}.csv {ENCODE} --part {number + 1}/3 --out e{number}.{kind}")


FILES = "e0.csv e1.parquet e2.parquet"


@pytest.mark.parametrize("memory", [256 << 20, 1024])
def test_all_files_are_one_batch(memory: int) -> None:
    job, number = shuffle(FILES.split(), "mixed.parquet", secure(), memory=memory)
    assert job.n == number == N
    assert job.shuffled
    sent = np.concatenate([np.concatenate(list(read_reports(f)[1])) for f in FILES.split()])[:, 0]
    mixed = pq.read_table("mixed.parquet")["report_0"].to_numpy()
    assert np.array_equal(np.sort(sent), np.sort(mixed))
    found = analyze("mixed.parquet")[1]
    for share, value, variance in zip(
        (1 / 2, 1 / 3, 1 / 6), found.values, found.variances, strict=True
    ):
        assert abs(value - share) < 6 * np.sqrt(variance)
    # sent, the first half is of one device; mixed, the halves are alike
    halves = [np.mean(part == 0) for part in np.array_split(mixed, 2)]
    assert abs(halves[0] - halves[1]) < 6 * np.sqrt(0.5 / (N / 2))
    unmixed = [np.mean(part == 0) for part in np.array_split(sent, 2)]
    assert abs(unmixed[0] - unmixed[1]) > 6 * np.sqrt(0.5 / (N / 2))  # negative control


def test_the_command() -> None:
    assert "minimum batch of 1200" in _refused("shuffle e0.csv e1.parquet --out x.csv")
    assert "minimum batch of 1300" in _refused(f"shuffle {FILES} --out x.csv --minimum 1300")
    assert "each file once" in _refused(f"shuffle {FILES} ./e0.csv --out x.csv")
    found = _ok(f"shuffle {FILES} --out mixed.csv --minimum 1000")
    assert found["reports"] == N
    assert not found["simulated"]
    whole = _ok(f"shuffle {FILES} --out mixed.csv")
    assert whole["epsilon"]["upper"] <= 1.0
    assert whole["promised"] == {"epsilon": 1.0, "kept": True}
    # accounted for as many as may turn up, and not for those who happened to
    assert found["n"] == 1000
    assert found["epsilon"]["upper"] > 1.0


def test_less_than_promised_is_said_everywhere() -> None:
    line = f"shuffle {FILES} --out mixed.csv --minimum 10"
    said = "NOT the promised epsilon 1"
    assert said in CliRunner().invoke(main, line.split()).stdout
    found = _ok(line)
    assert said in found["label"]
    assert found["promised"] == {"epsilon": 1.0, "kept": False}
    assert said in CliRunner().invoke(main, ["analyze", "mixed.csv", "--out", "table.csv"]).stdout
    assert said in Path("table.csv").read_text()
    assert said in _ok("analyze mixed.csv")["label"]


def test_the_same_users_twice_are_two_rounds() -> None:
    """Two encodings of one table, each of all its users, are not twice as many users."""
    alone = ENCODE.replace(" --collection survey", "").replace(f"--n {N}", "")
    for name in "ab":
        _ok(f"encode 0.csv {alone} --out {name}.csv")
    said = _refused("shuffle a.csv b.csv --out x.csv")
    assert "each hold all 600 users" in said
    assert "shuffledp account --rounds 2" in said
    assert "--part 1/2" in said
    _ok(f"encode 0.csv {ENCODE} --part 1/3 --out again.csv")
    said = _refused("shuffle e0.csv again.csv --out x.csv")
    assert "part 1 of 3 is also e0.csv" in said
    assert "--rounds 2" in said


def test_never_more_users_than_declared() -> None:
    for part in (1, 2):
        _ok(f"encode 0.csv {ENCODE.replace('1200', '1000')} --part {part}/2 --out p{part}.csv")
    said = _refused("shuffle p1.csv p2.csv --out x.csv")
    assert "at least the reports in these files" in said
    assert "--rounds 2" in said
    assert "--n must be at least the rows" in _refused(
        f"encode 0.csv {ENCODE.replace('1200', '500')} --part 1/2 --out x.csv"
    )
    assert "--n must be at least the rows" in _refused(
        "run 0.csv --column dest --categories ATL,BOS --task histogram --epsilon 1 --delta 1e-6"
        " --mechanism krr --n 500 --out x.csv"
    )


def test_parts_are_declared_whole() -> None:
    assert "--n must be given with --part" in _refused(
        f"encode 0.csv {ENCODE.replace('--n 1200', '')} --part 1/2 --out x.csv"
    )
    assert "--collection must be a name" in _refused(
        f"encode 0.csv {ENCODE.replace('--collection survey', '')} --part 1/2 --out x.csv"
    )
    assert "--part must be from 1 to 2" in _refused(f"encode 0.csv {ENCODE} --part 3/2 --out x.csv")
    assert "not like 2/4" in _refused(f"encode 0.csv {ENCODE} --part two --out x.csv")
    _ok(f"encode 0.csv {ENCODE.replace('survey', 'other')} --part 1/3 --out other.csv")
    said = _refused("shuffle other.csv e1.parquet e2.parquet --out x.csv")
    assert "'collection' is 'other' in other.csv" in said


def test_files_of_other_collections_are_refused() -> None:
    _ok(f"encode 0.csv {ENCODE.replace('1e-6', '1e-7')} --part 1/3 --out other.csv")
    said = _refused("shuffle e0.csv e1.parquet other.csv --out x.csv")
    assert "'delta' is 1e-06 in e0.csv" in said
    assert "1e-07 in other.csv" in said
    with pytest.raises(ParameterError, match="at least"):
        shuffle([], "x.csv", secure())


def test_one_simulated_file_makes_all_of_it_simulated() -> None:
    shown = CliRunner().invoke(
        main, f"encode 2.csv {ENCODE} --part 3/3 --out e2.parquet --simulation 3".split()
    )
    assert "simulated randomness: protects nobody" in shown.stdout
    assert _ok(f"encode 2.csv {ENCODE} --part 3/3 --out e2.parquet --simulation 3")["simulated"]
    assert _ok(f"shuffle {FILES} --out mixed.csv")["simulated"]
    shown = CliRunner().invoke(main, f"shuffle {FILES} --out mixed.csv".split())
    assert "simulated randomness: protects nobody" in shown.stdout
    assert (
        "simulated randomness: protects nobody"
        in CliRunner().invoke(main, ["analyze", "mixed.csv"]).stdout
    )
    assert _ok("analyze mixed.csv")["simulated"]
    secret = CliRunner().invoke(main, ["shuffle", "e0.csv", "--minimum", "1", "--out", "mixed.csv"])
    assert "simulated" not in secret.output
    seeded = "shuffle e0.csv --minimum 1 --out mixed.csv --simulation 1"
    assert (
        "simulated randomness: protects nobody" in CliRunner().invoke(main, seeded.split()).stdout
    )


def test_a_copy_is_not_more_users() -> None:
    Path("copy.csv").write_bytes(Path("e0.csv").read_bytes())
    assert "each file once" in _refused("shuffle e0.csv copy.csv --out mixed.parquet")


def test_shuffled_reports_are_not_shuffled_into_more() -> None:
    _ok(f"shuffle {FILES} --out mixed.parquet")
    assert "not shuffled yet" in _refused(f"shuffle {FILES} mixed.parquet --out more.parquet")
    assert read_reports("mixed.parquet")[0].batch == ""  # says nothing about where they came from


def test_what_no_device_sends_hides_nobody() -> None:
    lines = Path("e0.csv").read_text().splitlines()
    lines[-1] = "9"
    Path("bad.csv").write_text("\n".join(lines))
    assert "what its devices can send" in _refused(
        "shuffle bad.csv e1.parquet e2.parquet --out mixed.csv"
    )


def test_reports_are_not_overwritten() -> None:
    assert "another file" in _refused(f"shuffle {FILES} --out e1.parquet")


def test_late_reports_do_not_join_others_that_were_released() -> None:
    _ok("ledger init users --epsilon 4 --delta 1e-6 --store book.db")
    paid = "--ledger book.db --cohort users"
    _ok(f"shuffle {FILES} --out mixed.csv {paid}")
    again = CliRunner().invoke(main, f"shuffle {FILES} --out again.csv {paid}".split())
    assert "users #1, the same release again: nothing more is lost" in again.output
    _ok(f"encode 2.csv {ENCODE} --part 3/3 --out late.csv")
    late = f"shuffle {FILES.replace('e2.parquet', 'late.csv')} --out x.csv {paid}"
    refused = CliRunner().invoke(main, late.split())
    assert refused.exit_code != 0
    assert "released before (users #1)" in refused.output
    assert not Path("x.csv").exists()
    assert _ok("ledger show users --store book.db")["cohorts"][0]["spends"] == 1
