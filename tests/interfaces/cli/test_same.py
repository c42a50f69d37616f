"""The text and the JSON of a command say the same numbers."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.cli.test_commands import good, run

KRR = ("--mechanism", "krr", "--k", 4, "--eps0", 2)
TARGET = ("--epsilon", 0.5, "--delta", 1e-6)
COMMANDS: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {
    "epsilon": (("account", *KRR, "--n", 500, "--delta", 1e-6), ("lower", "upper")),
    "delta": (("account", *KRR, "--n", 500, "--epsilon", 0.3), ("lower", "upper")),
    "renyi": (("account", *KRR, "--n", 500, "--order", 4), ("lower", "upper")),
    "tradeoff": (("account", *KRR, "--n", 500, "--alpha", 0.05), ("lower", "upper")),
    "rounds": (("account", *KRR, "--n", 500, "--rounds", 5, "--delta", 1e-6), ("lower", "upper")),
    "theorem": (
        ("account", "--eps0", 2, "--n", 500, "--delta", 1e-6, "--theorem", "wang-2023"),
        ("value",),
    ),
    "compare": (("compare", *KRR, "--n", 500, "--delta", 1e-6), ("value",)),
    "calibrate": (("calibrate", "--n", 1000, *TARGET), ("eps0",)),
    "calibrate-rounds": (("calibrate", "--n", 1000, "--rounds", 5, *TARGET), ("eps0", "upper")),
    "calibrate-check-in": (("calibrate", "--n", 1000, "--check-in", 0.5, *TARGET), ("eps0",)),
    "users": (("calibrate", *KRR, *TARGET), ("n", "upper")),
    "refute": (("refute", *KRR, "--n", 50, "--epsilon", 0.2, "--delta", 1e-6), ("delta",)),
    "check": (("check", *KRR, "--n", 50, "--epsilon", 0.2, "--delta", 1e-6), ("needed_epsilon",)),
}


def _values(data: Any, names: tuple[str, ...]) -> list[float]:
    """Every number of that name, however deep."""
    if isinstance(data, list):
        return [x for each in data for x in _values(each, names)]
    if not isinstance(data, dict):
        return []
    found = [float(x) for name, x in data.items() if name in names and isinstance(x, int | float)]
    return found + [x for each in data.values() for x in _values(each, names)]


def _numbers(text: str) -> list[float]:
    words = re.findall(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", text)
    return [float(word.replace(",", "")) for word in words]


@pytest.mark.parametrize("name", COMMANDS)
def test_text_and_json_agree(name: str) -> None:
    words, names = COMMANDS[name]
    as_json, text = run(*words, "--json"), run(*words)
    assert as_json.exit_code == text.exit_code <= 1, text.output
    data = json.loads(as_json.stdout)
    shown = _numbers(text.stdout)
    wanted = _values(data, names)
    assert wanted
    for value in wanted:
        assert any(math.isclose(value, x, rel_tol=2e-5, abs_tol=1e-300) for x in shown), (
            value,
            shown,
        )


def test_budgets_agree(tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    file.write_text("eps\n" + "0.5\n" * 20 + "1.5\n" * 5)
    words = (
        "account",
        "--mechanism",
        "laplace",
        "--budgets",
        file,
        "--budgets-hidden",
        "--delta",
        1e-5,
    )
    wanted = _values(json.loads(good(*words, "--json").stdout), ("upper",))
    shown = _numbers(good(*words).stdout)
    assert len(wanted) >= 2
    for value in wanted:
        assert any(math.isclose(value, x, rel_tol=2e-3) for x in shown), (value, shown)


def test_calibrated_budget_is_that_of_one_round() -> None:
    words = ("calibrate", "--n", 1000, "--rounds", 5, *TARGET)
    data = json.loads(good(*words, "--json").stdout)
    again = (
        "account",
        "--eps0",
        data["eps0"],
        "--n",
        1000,
        "--rounds",
        5,
        "--epsilon",
        0.5,
        "--json",
    )
    found = json.loads(good(*again).stdout)
    assert found["eps0"] == data["eps0"]
    assert found["delta"]["upper"] <= 1e-6
