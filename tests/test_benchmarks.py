"""Benchmarks run, and none times its own memory."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
NAMES = sorted(path.stem for path in BENCH.glob("*.py"))
HELPERS = {"figures", "load"}


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "training"])
def test_every_benchmark_is_imported_as_it_stands(name: str) -> None:
    module = importlib.import_module(name)
    assert name in HELPERS or callable(module.main)


def test_all_of_them_are_on_the_page() -> None:
    listed = importlib.import_module("all").benchmarks()
    assert {*listed} == {*NAMES} - {"all", *HELPERS}


def test_no_question_is_asked_twice() -> None:
    asked: list[int] = []
    importlib.import_module("figures").warm(asked.append)
    assert len(asked) == len({*asked}) > 5


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1234.0, "1,200 s"), (2.54, "2.5 s"), (0.0123, "12 ms"), (3.1e-6, "3.1 µs")],
)
def test_two_digits_are_shown(seconds: float, shown: str) -> None:
    assert importlib.import_module("figures").duration(seconds) == shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accounting", "composition", "engine", "gaussian", "tradeoff"])
def test_a_benchmark_runs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, BENCH / f"{name}.py", "--json"], capture_output=True, text=True, check=True
    )
    assert all(each["seconds"] > 0.0 for each in json.loads(done.stdout)["figures"])
