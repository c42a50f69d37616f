"""Mean, quantiles and cells from one report: the same device at every step, whoever turns up."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp
from shuffledp import ParameterError
from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Job, analyze, encode, shuffle
from shuffledp.interfaces.cli import main

N = 3000
VALUES = {"x": np.linspace(10.0, 40.0, N)}


def _job(**changed: object) -> Job:
    given = {"task": "mean,quantiles", "columns": ("x",), "n": N, "epsilon": 2.0, "delta": 1e-6}
    given |= {"mechanism": "plateau", "low": 0.0, "high": 100.0, **changed}
    return Job(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", ["plateau", "rounding", "best"])
def test_one_report_answers_all(mechanism: str) -> None:
    found = shuffledp.run(
        VALUES, "x", task="mean,quantiles,histogram", low=0.0, high=100.0, epsilon=2.0, delta=1e-6,
        mechanism=mechanism, bins=4, simulation=3,
    )  # fmt: skip
    assert [*found.names[:4]] == ["mean", "quantile 0.25", "quantile 0.5", "quantile 0.75"]
    assert found.names[4] == "share of 0 to 25"
    truth = [25.0, 17.5, 25.0, 32.5, 0.5, 0.5, 0.0, 0.0]
    low, high = found.interval(1.0 - 1e-6)
    assert np.all((low <= truth) & (truth <= high))
    assert np.all(np.sqrt(found.variances) < [2.0, 3.0, 3.0, 3.0, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(ParameterError, match="left out for task"):
        shuffledp.run(
            VALUES, "x", task="mean", low=0.0, high=1.0, epsilon=1.0, delta=1e-6, windows=3
        )


def test_fewer_reports_do_not_change_the_device(tmp_path: Path) -> None:
    """Windows are chosen once: n decides what is guaranteed, never what is taken to have run."""
    job = _job().calibrated()
    assert job.windows > 1
    table = tmp_path / "table.csv"
    table.write_text("x\n" + "\n".join(map(str, VALUES["x"])) + "\n")
    encode(job, table, tmp_path / "reports.parquet", simulation(1))
    shuffled, _ = shuffle(
        tmp_path / "reports.parquet", tmp_path / "out.parquet", simulation(2), minimum=100
    )
    assert shuffled.n == 100
    assert shuffled.device.randomizer == job.device.randomizer
    assert shuffled.guarantee.upper > job.guarantee.upper
    again, found = analyze(tmp_path / "out.parquet")
    assert again.device.randomizer == job.device.randomizer
    low, high = found.interval(1.0 - 1e-6)
    truth = np.array([25.0, 17.5, 25.0, 32.5])
    assert np.all((low <= truth) & (truth <= high))


def test_nothing_runs_before_windows_are_chosen() -> None:
    for asked in (lambda job: job.device, lambda job: job.guarantee):
        with pytest.raises(ParameterError, match="'windows'"):
            asked(_job(strength=3.0))
    assert _job(windows=50).calibrated().windows == 50
    assert _job().at_budget(3.0).windows > 1
    with pytest.raises(ParameterError, match="at most"):
        _ = _job(windows=10**6).question


def test_what_plan_says_to_paste_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "DATA.csv", "--rows", "2000"]).exit_code == 0
    words = "plan --task mean,quantiles --n 2000 --epsilon 2 --delta 1e-6 --json"
    made = json.loads(CliRunner().invoke(main, words.split()).stdout)
    assert {choice["name"] for choice in made["choices"]} == {"plateau", "rounding"}
    for choice in made["choices"]:
        assert "--windows" in choice["command"]
        line = choice["command"].replace("COLUMN", "minutes")
        line = line.replace("LEAST", "0").replace("MOST", "120")
        done = CliRunner().invoke(main, [*line.split()[1:], "--json"])
        assert done.exit_code == 0, (line, done.output)
        ran, planned = json.loads(done.stdout)["mechanism"], choice["randomizer"]
        assert ran.split(", eps0")[0] == planned.split(", eps0")[0]


def test_words_for_what_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "DATA.csv", "--rows", "100"]).exit_code == 0
    run = "run DATA.csv --column minutes --low 0 --high 120 --epsilon 1 --delta 1e-6 --task"
    for more, said in (
        ("mean --simplex", "--simplex must be left out"),
        ("mean,quantiles --non-negative", "--non-negative must be left out"),
        ("mean,quantiles,histogram --simplex --non-negative", "--non-negative must be left out"),
        ("mean --windows 5", "--windows must be left out"),
        ("mean,quantiles --mechanism laplace", "--mechanism must be one of best, plateau"),
    ):
        done = CliRunner().invoke(main, [*run.split(), *more.split()])
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize("option", ["--simplex", "--non-negative"])
def test_raw_estimates_are_kept_everywhere(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In text, in JSON and in files; limits are those of the raw values."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "survey.csv", "--rows", "500"]).exit_code == 0
    line = "run survey.csv --column transport --task histogram --categories car,bus,sled,ski,tram"
    line += " --other else --mechanism krr --eps0 0.5 --delta 1e-3 --simulation 3 --out out.csv"
    shown = CliRunner().invoke(main, [*line.split(), option]).stdout
    found = json.loads(CliRunner().invoke(main, [*line.split(), option, "--json"]).stdout)
    plain = json.loads(CliRunner().invoke(main, [*line.split(), "--json"]).stdout)
    CliRunner().invoke(main, [*line.split(), option])
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert " raw" in shown
    assert found["projected"]
    assert min(each["value"] for each in found["estimates"]) >= 0.0
    assert min(each["raw"] for each in found["estimates"]) < 0.0
    for each, before, row in zip(found["estimates"], plain["estimates"], rows, strict=True):
        assert each["raw"] == before["value"] == float(row["raw"])
        assert (each["low"], each["high"]) == (before["low"], before["high"])
        assert each["value"] == float(row["value"])
