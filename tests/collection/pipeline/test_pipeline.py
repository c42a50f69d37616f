"""One command and its steps: right answers, clear errors, nothing half-written."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from shuffledp import ParameterError, Shuffled
from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Embedded, Job, encode, run
from shuffledp.collection.pipeline.report_files import read_reports
from shuffledp.interfaces.cli import main

N = 4000
SHARES = {"ATL": 0.5, "BOS": 0.3, "LAX": 0.2}
TARGET = "--epsilon 1 --delta 1e-6"
LISTED = "--categories ATL,BOS,LAX"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    generator = np.random.default_rng(1)
    dest = np.repeat(list(SHARES), [round(N * share) for share in SHARES.values()])
    generator.shuffle(dest)
    delay = generator.normal(20.0, 10.0, N)
    table = pa.table({"dest": dest, "delay": delay, "extra": [None] * N, "k": np.arange(N) % 7})
    table = table.append_column("code", table["dest"].dictionary_encode())
    pq.write_table(table, folder / "survey.parquet", row_group_size=1000)
    rows = [f"{a},{b}" for a, b in zip(dest, delay, strict=True)]
    (folder / "survey.csv").write_text("dest,delay\n" + "\n".join(rows) + "\n")
    return folder


def _call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


def _ok(line: str) -> dict[str, Any]:
    result = _call(line + " --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_one_command(folder: Path, tmp_path: Path, kind: str) -> None:
    out, picture = tmp_path / f"result.{kind}", tmp_path / "result.png"
    found = _ok(
        f"run {folder}/survey.{kind} --column dest --task histogram {LISTED} {TARGET} --mechanism krr"
        f" --out {out} --plot {picture}"
    )
    assert found["privacy"]["upper"] <= 1.0
    assert found["privacy"]["upper_end"]["status"] == "PROVEN"
    assert not found["simulated"]
    for row in found["estimates"]:
        assert abs(row["value"] - SHARES[row["name"]]) < 6 * row["error"]
    assert picture.stat().st_size > 5000
    assert sorted(os.listdir(tmp_path)) == sorted([out.name, picture.name])


@pytest.mark.parametrize("column", ["code", "k"])
def test_other_types_of_columns(folder: Path, column: str) -> None:
    found = _ok(
        f"run {folder}/survey.parquet --column {column} --task histogram {TARGET} --mechanism krr"
        f" --categories {'ATL,BOS,LAX' if column == 'code' else '0,1,2,3,4,5,6'}"
    )
    assert len(found["estimates"]) == (3 if column == "code" else 7)


def test_numbers(folder: Path) -> None:
    line = f"run {folder}/survey.csv --column delay --low -20 --high 60 {TARGET}"
    mean = _ok(f"{line} --task mean --mechanism piecewise")["estimates"][0]
    assert abs(mean["value"] - 20.0) < 6 * mean["error"] + 0.5
    middle = _ok(f"{line} --task quantiles --mechanism krr")["estimates"][1]
    assert middle["low"] - 1.5 <= 20.0 <= middle["high"] + 1.5


def test_vectors(folder: Path) -> None:
    found = _ok(
        f"run {folder}/survey.parquet --column delay --column k --low 0 --high 60 {TARGET}"
        " --task vector --mechanism one-bit"
    )
    assert [row["name"] for row in found["estimates"]] == ["delay", "k"]
    assert abs(found["estimates"][1]["value"] - 3.0) < 6 * found["estimates"][1]["error"]


def test_the_steps_alone(folder: Path, tmp_path: Path) -> None:
    encoded, mixed = tmp_path / "encoded.parquet", tmp_path / "mixed.csv"
    line = f"{folder}/survey.csv --column dest --task histogram {LISTED} {TARGET} --mechanism krr"
    assert _ok(f"encode {line} --out {encoded}")["reports"] == N
    assert "--unshuffled" in _call(f"analyze {encoded}").output
    assert "NOT SHUFFLED" in _call(f"analyze {encoded} --unshuffled").output
    assert _ok(f"analyze {encoded} --unshuffled")["privacy"] is None
    assert _ok(f"shuffle {encoded} --out {mixed}")["epsilon"]["upper"] <= 1.0
    found = _ok(f"analyze {mixed} --simplex")
    assert found["privacy"]["upper"] <= 1.0
    assert sum(row["value"] for row in found["estimates"]) == pytest.approx(1.0)
    job = read_reports(mixed)[0]
    assert Shuffled(job.device.randomizer, job.n).epsilon(1e-6).upper <= 1.0
    # the same reports, in another order, and nothing else
    before = pq.read_table(encoded)["report_0"].to_numpy()
    after = np.loadtxt(mixed, skiprows=2, dtype=int)
    assert np.array_equal(np.sort(before), np.sort(after))
    assert not np.array_equal(before, after)
    assert pq.read_table(encoded).column_names == ["report_0"]


def test_a_guarantee_is_computed_once_for_all_steps() -> None:
    job = Job("histogram", ("dest",), 4000, 1.0, 1e-6, "krr", 2.0, tuple(SHARES))
    later = replace(job, shuffled=True, simulated=True)
    assert job.guarantee is later.guarantee
    assert replace(job, n=4001).guarantee is not job.guarantee


def test_what_breaks_its_promise_never_runs(folder: Path, tmp_path: Path) -> None:
    """A job made by hand, or its header edited: one end of the guarantee above epsilon is enough."""
    kept = Job("histogram", ("dest",), N, 1.0, 1e-6, "krr", 2.0, tuple(SHARES))
    exactly = replace(kept, epsilon=kept.guarantee.upper)
    assert exactly.checked() is exactly
    broken = replace(kept, epsilon=float(np.nextafter(exactly.epsilon, 0.0)))
    assert broken.guarantee.lower <= broken.epsilon
    data, out = folder / "survey.csv", tmp_path / "out.csv"
    booked: list[Job] = []
    for start in (
        lambda: encode(broken, data, out, simulation(1)),
        lambda: run(broken, data, Embedded(simulation(1)), book=lambda job, _: booked.append(job)),
        lambda: run(broken, data, Embedded(simulation(1)), reports=out),
    ):
        with pytest.raises(ParameterError, match=r"strength.*such that epsilon <="):
            start()
    assert os.listdir(tmp_path) == booked == []


def test_a_try_that_fails_by_chance_is_booked() -> None:
    """Tried again for nothing until somebody reports, a rare report would tell everything."""
    rare = Job(
        *("histogram", ("dest",), 50, 1.0, 0.1, "krr", 30.0, ("a", "b")), check_in=1e-5
    )  # a secret that is told with probability 0.0005
    few = Job("vector", ("a", "b", "c"), 4, 3.0, 0.1, "one-bit", 1.0)
    booked: list[Job] = []
    for job in (rare, few):
        data = {name: ["b" if job is rare else 0.5] * job.n for name in job.columns}
        with pytest.raises(ParameterError, match="at least"):
            run(job, data, Embedded(simulation(1)), book=lambda job, _: booked.append(job))
    assert [job.task for job in booked] == ["histogram", "vector"]


def test_simulations_repeat_and_say_so(folder: Path) -> None:
    line = (
        f"run {folder}/survey.csv --column dest --task histogram {LISTED} {TARGET} --mechanism krr"
        " --simulation 5"
    )
    first, second = _ok(line), _ok(line)
    assert first == second
    assert first["simulated"]
    assert "protects nobody" in _call(line).output


def test_the_ledger_is_asked_before_anything_leaves(folder: Path, tmp_path: Path) -> None:
    book, out, mixed = tmp_path / "book.db", tmp_path / "out.csv", tmp_path / "mixed.csv"
    assert _call(f"ledger init users --epsilon 1.2 --delta 1e-6 --store {book}").exit_code == 0
    line = (
        f"run {folder}/survey.csv --column dest --task histogram {LISTED} {TARGET} --mechanism krr"
    )
    paid = f"--ledger {book} --cohort users"
    assert "lost in all" in _call(f"{line} {paid} --out {out}").output
    assert out.exists()
    refused = _call(f"{line} {paid} --reports {mixed} --epsilon 1")
    assert refused.exit_code == 3, refused.output
    assert not mixed.exists()
    shown = _ok(f"ledger show users --store {book}")["cohorts"][0]
    assert shown["spends"] == 1
    assert "ledger" in _call(f"{line} --cohort users").output
    assert "--cohort must be given" in _call(f"{line} --ledger {book}").output
    for fails in ("--out /nowhere/x.csv", "--simplex --task mean --low 0 --high 1"):
        assert _call(f"{line} {paid} {fails}").exit_code == 2
    assert _ok(f"ledger show users --store {book}")["cohorts"][0]["spends"] == 1


def test_a_shuffle_alone_is_booked_before_it_is_written(folder: Path, tmp_path: Path) -> None:
    book, encoded, mixed = (tmp_path / name for name in ("book.db", "e.parquet", "m.parquet"))
    assert _call(f"ledger init users --epsilon 1.2 --delta 1e-6 --store {book}").exit_code == 0
    _ok(f"encode {folder}/survey.csv --column dest {HISTOGRAM} --out {encoded}")
    line = f"shuffle {encoded} --ledger {book} --cohort users"
    assert "lost in all" in _call(f"{line} --out {mixed}").output
    assert _ok(f"ledger show users --store {book}")["cohorts"][0]["spends"] == 1
    assert _call(f"ledger init poor --epsilon 0.1 --delta 1e-6 --store {book}").exit_code == 0
    never = tmp_path / "never.parquet"
    _ok(f"encode {folder}/survey.csv --column dest {HISTOGRAM} --out {encoded}")
    refused = _call(f"shuffle {encoded} --ledger {book} --cohort poor --out {never}")
    assert refused.exit_code == 3
    assert not never.exists()


HISTOGRAM = f"--task histogram {LISTED} {TARGET} --mechanism krr"
BAD = {
    "missing column": (f"run survey.csv --column nowhere {HISTOGRAM}", "2 names in the first"),
    "no such name": (f"run survey.parquet --column nowhere {HISTOGRAM}", "dest, delay, extra"),
    "missing file": (f"run nothing.csv --column dest {HISTOGRAM}", "readable"),
    "not a table": (f"run survey.txt --column dest {HISTOGRAM}", ".csv or .parquet"),
    "broken": (f"run broken.parquet --column dest {HISTOGRAM}", "readable"),
    "null": (f"run survey.parquet --column extra {HISTOGRAM}", "row 1"),
    "null later": (f"run holes.csv --column dest {HISTOGRAM}", "row 3"),
    "unseen": (f"run survey.csv --column dest {HISTOGRAM} --categories ATL,BOS", "categories"),
    "text": (
        f"run survey.csv --column dest --task mean --low 0 --high 1 --mechanism laplace {TARGET}",
        "numbers",
    ),
    "no range": (f"run survey.csv --column delay --task mean {TARGET}", "--low must be given"),
    "bad range": (
        f"run survey.csv --column delay --task mean --low 2 --high 1 {TARGET}",
        "above low",
    ),
    "bad mechanism": (
        f"run survey.csv --column dest --task histogram {LISTED} {TARGET} --mechanism abc",
        "mechanism",
    ),
    "small batch": (f"run survey.csv --column dest --n 5000 {HISTOGRAM}", "batch of 5000"),
    "empty": (f"run empty.csv --column dest {HISTOGRAM}", "rows"),
    "bad out": (f"run survey.csv --column dest {HISTOGRAM} --out x.doc", ".csv or .parquet"),
    "no folder": (f"run survey.csv --column dest {HISTOGRAM} --out no/x.csv", "can be written"),
    "not reports": ("shuffle survey.csv --out x.csv", "shuffledp encode"),
    "not reports either": ("analyze survey.parquet", "shuffledp encode"),
    "too few": ("shuffle encoded.csv --out x.csv --minimum 5000", "minimum batch of 5000"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_clear_and_leave_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    line, message = BAD[case]
    for name in ("survey.csv", "survey.parquet"):
        os.link(folder / name, tmp_path / name)
    (tmp_path / "survey.txt").write_text("dest\nATL\n")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no table at all PAR1")
    (tmp_path / "holes.csv").write_text("dest,b\nATL,1\nBOS,2\n,3\nATL,4\n")
    (tmp_path / "empty.csv").write_text("dest\n")
    monkeypatch.chdir(tmp_path)
    if "encoded" in line:
        _ok(f"encode survey.csv --column dest {HISTOGRAM} --out encoded.csv")
    before = sorted(os.listdir(tmp_path))
    outputs = "" if "--out" in line or "analyze" in line else " --out x.csv --reports y.csv"
    result = _call(line + outputs)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert sorted(os.listdir(tmp_path)) == before


def test_a_full_disk_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    """Files of at most 4 kB: writing fails half-way."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from shuffledp.interfaces.cli import main; main(sys.argv[1:])"
    )
    out = tmp_path / "reports.csv"
    line = f"encode {folder}/survey.csv --column dest {HISTOGRAM} --out {out}"
    result = subprocess.run(
        [sys.executable, "-c", code, *line.split()], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "can be written" in result.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("manner", ["careful", "careless"])
def test_killed_at_any_moment(tmp_path: Path, manner: str) -> None:
    """After kill -9 an output is absent, or whole. The careless one, a negative control, is found out."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.collection.pipeline.killed", str(tmp_path), manner],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    if manner == "careless":
        assert "Parquet file size is 0 bytes" in found.stderr
        assert found.returncode == 1
    else:
        assert found.returncode == 0, found.stderr
        # write, sync, rename: then an output is there, whatever becomes of the folder and the next
        assert re.fullmatch(r"(--\n){3,}(\+-\n){4,}\+\+\n", found.stdout)
