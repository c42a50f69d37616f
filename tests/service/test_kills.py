"""Killed at any moment: nothing acknowledged is lost, nothing leaves twice, unpaid or too early."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _run(program: str, where: str, folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"tests.service.{program}", where, str(folder), *map(str, more)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=3600,
    )


def _killed_everywhere(where: str, folder: Path, budget: str = "100000") -> list[str]:
    run = _run("killed", where, folder, "careful", budget)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert lines[-1].endswith("ended")
    assert all(line.endswith("killed") for line in lines[:-1])
    return lines


def test_killed_before_every_call(tmp_path: Path) -> None:
    lines = _killed_everywhere(str(tmp_path / "files" / "store.db"), tmp_path)
    assert len(lines) > 80
    assert "0 batches" in lines[0]  # killed before the first upload was stored


@pytest.mark.slow
@pytest.mark.parametrize("where", ["postgres"], indirect=True)
def test_killed_before_every_call_on_postgres(tmp_path: Path, where: str) -> None:
    assert len(_killed_everywhere(where, tmp_path)) > 60


@pytest.mark.slow
def test_killed_when_the_budget_runs_out(tmp_path: Path, where: str) -> None:
    where = where if "://" in where else str(tmp_path / "files" / "store.db")
    lines = _killed_everywhere(where, tmp_path, "6.5")
    assert lines[-1].startswith("4 batches")


@pytest.mark.slow
def test_a_shuffler_that_deletes_first_is_found(tmp_path: Path) -> None:
    where = str(tmp_path / "files" / "store.db")
    run = _run("killed", where, tmp_path, "careless", "100000")
    assert "the check failed" in run.stderr


def _killed_server(where: str, folder: Path, kills: int) -> None:
    run = _run("killed_server", where, folder, kills, 1)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(run.stdout.splitlines()) == kills


def test_a_running_service_killed(tmp_path: Path) -> None:
    _killed_server(str(tmp_path / "store.db"), tmp_path, 4)


@pytest.mark.slow
def test_a_running_service_killed_200_times(tmp_path: Path, where: str) -> None:
    _killed_server(where, tmp_path, 200)
