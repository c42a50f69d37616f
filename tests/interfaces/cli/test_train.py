"""shuffledp train, on a small file of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from shuffledp.interfaces.cli import main
from tests.training.test_run import DATA

SGD = "shuffled-sgd --components 4 --epochs 4 --learning-rate 0.5 --eps0 20 --simulation"
CHECK_IN = "check-in --components 4 --rounds 4 --sigma 5 --every 2 --simulation --seed 3"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez(
        tmp_path / "own.npz",
        x_train=DATA.train_inputs,
        y_train=DATA.train_labels,
        x_test=DATA.test_inputs,
        y_test=DATA.test_labels,
    )
    return tmp_path


def _train(command: str) -> Result:
    return CliRunner().invoke(
        main, ["train", *command.split(), "--data", "own.npz", "--threads", "1"]
    )


def _json(command: str) -> dict[str, Any]:
    result = _train(command + " --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_shuffled_sgd(own: Path) -> None:
    found = _json(SGD + " --plot picture.png")
    assert found["spent"]["epsilon"] is None
    assert found["spent"]["otherwise"]["value"] > 0.0
    assert found["spent"]["claims"][0]["status"] == "REFUTED"
    assert found["rows"][-1]["test_accuracy"] > 0.8
    assert len({tuple(row["claims"]) for row in found["rows"]}) == 1, "one line in the picture"
    assert "SIMULATION" in found["randomness"]
    assert "without noise" in found["notes"][0]
    assert (own / "picture.png").stat().st_size > 1000


def test_check_in_in_words(own: Path) -> None:
    shown = _train(CHECK_IN)
    assert shown.exit_code == 0, shown.output
    for words in ("NOT PRIVATE: SIMULATION", "NOT COVERED: the 4 principal", "FIXED_PAIR"):
        assert words in shown.stdout


WAYS = {
    "simulated": (SGD.replace("--components 4 ", ""), "NOT PRIVATE: SIMULATION"),
    "components": (SGD.replace(" --simulation", ""), "NOT COVERED: the 4 principal components"),
    "proven": (SGD.replace("--components 4 ", "").replace(" --simulation", ""), ""),
}


@pytest.mark.parametrize(("line", "reason"), WAYS.values(), ids=list(WAYS))
def test_nothing_is_called_proven_where_nothing_is(
    own: Path, line: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A basis computed from the data moves every gradient, and a seed undoes the noise."""
    pictured: list[str] = []

    def dress(axes: Any, title: str) -> None:
        pictured.extend([title, *axes.get_legend_handles_labels()[1]])

    monkeypatch.setattr("shuffledp.display.training.dress", dress)
    found = _json(f"{line} --folder kept --plot picture.png")
    shown = _train(f"{line}").stdout
    log = (own / "kept" / "log.csv").read_text()
    said = [json.dumps(found), shown, "".join(pictured)]
    assert all(("PROVEN" in words) == (not reason) for words in said)
    assert all(reason in words for words in [*said, log])
    assert found["uncovered"].startswith(reason)
    known = found["spent"]["otherwise" if reason else "epsilon"]
    (last,) = [row for row in shown.splitlines() if re.match(r" +4 ", row)]
    assert float(last.split()[2]) >= known["value"]


def test_the_ledger_says_what_of_a_run_is_not_covered(own: Path) -> None:
    start = "ledger init images --epsilon 100 --delta 1e-5 --store book.db"
    assert CliRunner().invoke(main, start.split()).exit_code == 0
    line, reason = WAYS["components"]
    for _ in range(2):  # a finished run again costs nothing
        _json(
            f"{line} --unit client --blocks 50 --eps0 1 --folder kept --ledger book.db --cohort images"
        )
    shown = CliRunner().invoke(main, ["ledger", "show", "--store", "book.db", "--json"])
    (cohort,) = json.loads(shown.stdout)["cohorts"]
    assert cohort["status"] is None
    assert reason in cohort["promise"]
    assert cohort["spends"] == 4


def test_without_simulation(own: Path) -> None:
    found = _json(SGD.replace(" --simulation", " --unit client --blocks 50"))
    assert "cryptographic" in found["randomness"]
    assert found["rows"][-1]["train_accuracy"] is None
    assert found["protects"] == "all samples of one client"


def test_resumes_and_stops(own: Path) -> None:
    whole = _json(SGD)
    first = _json(SGD + " --folder kept --budget 41")
    assert first["rows"][-1]["release"] == 2
    assert "exceed" in first["stopped"]
    again = _json(SGD + " --folder kept")
    last, other = again["rows"][-1], whole["rows"][-1]
    assert {**last, "seconds": 0} == {**other, "seconds": 0}
    assert len((own / "kept" / "log.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("shuffled-sgd --preset liew-2023", "--preset must be one of chen-2024-m300"),
        ("shuffled-sgd --seed 3", "--seed must be"),
        ("shuffled-sgd --network deep", "--network must be"),
        ("shuffled-sgd --components 4 --blocks 1e9", "--blocks must be"),
        ("check-in --preset liew-2023", "1x28x28"),
        ("check-in --components 5", "--components must be"),
        ("check-in --orientations 4", "of pictures 1 x height x width"),
        ("check-in --momentum 1", "--momentum must be a number in [0, 1)"),
    ],
)
def test_errors(own: Path, command: str, words: str) -> None:
    result = _train(command)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not result.stdout


def test_a_preset_for_pictures_takes_own_data_with_its_own_settings(own: Path) -> None:
    """Features and components are those of the preset's data; steps are the preset's."""
    found = _json("check-in --preset scattering --rounds 2 --sigma 5 --simulation")
    assert found["settings"]["momentum"] == 0.9
    assert found["settings"]["parameters"] == 3 * (4 + 1), "as it came"
    assert found["notes"] == []


def test_presets() -> None:
    result = CliRunner().invoke(main, ["train", "presets", "--json"])
    assert {"chen-2024-m100", "liew-2023", "small-sgd"} <= set(json.loads(result.stdout)["presets"])
    assert "liew-2023" in CliRunner().invoke(main, ["train", "presets"]).stdout


def test_the_ledger_pays_for_training(own: Path) -> None:
    rich = "init images --epsilon 60 --delta 1e-5 --store book.db"
    assert CliRunner().invoke(main, ["ledger", *rich.split()]).exit_code == 0
    line = "shuffled-sgd --epochs 2 --blocks 20 --eps0 1 --unit client"
    paid = f"{line} --ledger book.db --cohort images"
    for folder in ("one", "one", "two"):  # a finished run again costs nothing, another one does
        _json(f"{paid} --folder {folder}")
    _json(paid)
    assert "components" not in str(_json(paid)["notes"])  # own inputs are taken as they are
    shown = CliRunner().invoke(main, ["ledger", "show", "--store", "book.db", "--json"])
    assert json.loads(shown.stdout)["cohorts"][0]["spends"] == 8
    assert "given with --cohort" in _train(f"{line} --cohort images").output
    assert "a simulation protects nobody" in _train(f"{paid} --simulation").output
    poor = "init poor --epsilon 0.1 --delta 1e-5 --store book.db"
    assert CliRunner().invoke(main, ["ledger", *poor.split()]).exit_code == 0
    refused = _train(paid.replace("images", "poor") + " --folder three")
    assert refused.exit_code == 3
    assert not (own / "three" / "checkpoint.pt").exists()
