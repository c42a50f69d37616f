"""Gaussian reports on the command line."""

import json

from click.testing import CliRunner

from shuffledp.interfaces.cli import main

SETTING = [
    "--mechanism",
    "gaussian",
    "--sigma",
    "5",
    "--n",
    "60000",
    "--check-in",
    "0.1",
    "--rounds",
    "5540",
]


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_account_spells_out_the_sensitivity_and_the_pair() -> None:
    text = _run("account", *SETTING, "--delta", "1.6667e-5")
    assert "sensitivity 2" in text
    assert "diameter" in text
    assert "PROVEN" in text
    assert "this pair only" in " ".join(text.split())


def test_account_json_holds_the_pair() -> None:
    data = json.loads(
        _run("account", *SETTING, "--delta", "1.6667e-5", "--sensitivity", "1", "--json")
    )
    values = {entry["theorem"]: entry for entry in data["pair"]["values"]}
    assert abs(values["shuffle-gaussian-rdp"]["value"] - 0.0608) < 1e-4
    assert 0.0535 < values["shuffle-gaussian-composed"]["value"] < 0.0545
    assert all(entry["status"] == "FIXED_PAIR" for entry in values.values())
    assert data["status"] == "PROVEN"
    assert data["epsilon"]["upper"] < 9.62


def test_compare_lists_the_published_ones() -> None:
    data = json.loads(_run("compare", *SETTING, "--sensitivity", "1", "--order", "16", "--json"))
    status = {entry["theorem"]: entry["status"] for entry in data["bounds"]}
    assert status["shuffle-gaussian"] == "FIXED_PAIR"
    assert status["liew-2023-theorem-3"] == "HEURISTIC"
    assert status["liew-2023-corollary-1"] == "PROVEN"


def test_calibrate_sigma() -> None:
    text = _run(
        "calibrate",
        "--mechanism",
        "gaussian",
        "--n",
        "5000",
        "--epsilon",
        "0.05",
        "--delta",
        "1e-6",
    )
    assert "smallest sigma" in text
    assert "PROVEN" in text
