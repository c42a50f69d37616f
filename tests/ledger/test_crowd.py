"""Spenders at once, killed at any moment: never over budget, nothing acknowledged is lost."""

import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from shuffledp import BudgetExceededError, LedgerError
from shuffledp.ledger import Ledger, Sum, planned, renyi
from shuffledp.ledger.rules import RuleMaker
from shuffledp.ledger.sqlite import SQLiteStore
from tests.cluster import cluster
from tests.ledger.spenders import THINGS

ROOT = Path(__file__).parents[2]


def _crowd(
    store: str, folder: Path, thing: str, spenders: int, kills: int = 0, whom: str = "spender"
) -> list[int]:
    """Numbers of all receipts of spenders at once, once the budget is used up."""
    file = folder / "acknowledged"
    arguments = [store, thing, str(file), str(spenders), str(kills), whom]
    subprocess.run(
        [sys.executable, "-m", "tests.ledger.spenders", *arguments],
        cwd=ROOT,
        check=True,
        timeout=900,
    )
    return [int(line) for line in file.read_text().splitlines()]


def _check(ledger: Ledger, thing: str, acknowledged: list[int]) -> int:
    """The book is whole, within budget, full, and holds all that was acknowledged."""
    history = ledger.history("users")
    balance = ledger.balance("users")
    numbers = [receipt.number for receipt in history]
    assert numbers == list(range(1, balance.spends + 1))
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(numbers)
    (entry,) = balance.entries
    assert entry.rounds == sum(receipt.entry.rounds for receipt in history)
    assert not any(balance.rule.over(receipt.lost) for receipt in history)
    assert balance.lost == history[-1].lost
    assert [found.problems for found in ledger.verify()] == [()]
    with pytest.raises(BudgetExceededError):
        ledger.spend("users", THINGS[thing])
    return len(history)


@pytest.mark.parametrize(
    ("thing", "rule"),
    [("stated", Sum), ("protocol", renyi()), ("protocol", planned((THINGS["protocol"], None)))],
    ids=["sum", "renyi", "planned"],
)
def test_64_spenders_at_once(store: str, tmp_path: Path, thing: str, rule: RuleMaker) -> None:
    ledger = Ledger.open(store)
    ledger.create("users", "1", "1e-6", rule)
    fits = ledger.remaining("users", THINGS[thing])
    acknowledged = _crowd(store, tmp_path, thing, spenders=64)
    assert _check(ledger, thing, acknowledged) == len(acknowledged) == fits


@pytest.mark.parametrize("kills", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_spenders_killed_among_others(store: str, tmp_path: Path, kills: int) -> None:
    ledger = Ledger.open(store)
    ledger.create("users", f"{kills // 8}", "1e-5")
    fits = 25 * kills // 2  # far more than are spent before the last kill
    acknowledged = _crowd(store, tmp_path, "stated", 8, kills)
    assert _check(ledger, "stated", acknowledged) == fits
    assert fits - kills <= len(acknowledged) <= fits  # each kill hides at most one receipt
    assert ledger.balance("users").left["epsilon"] == 0
    if isinstance(ledger.store, SQLiteStore):
        with ledger.store.transaction(write=False) as execute:
            assert execute("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("manner", ["careful", "careless"])
def test_a_spender_killed_at_any_moment(store: str, tmp_path: Path, manner: str) -> None:
    """Before each call that writes or sends. The careless one, a negative control, is found out."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.ledger.killed", store, str(tmp_path), manner],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if manner == "careless":
        assert "AssertionError: a spend was lost" in found.stderr
        assert found.returncode == 1
        return
    assert found.returncode == 0, found.stderr
    lines = [line.split() for line in found.stdout.splitlines()]
    hidden = [int(booked) - int(acknowledged) for booked, acknowledged, _ in lines]
    steps = [later - earlier for earlier, later in pairwise(hidden)]
    assert set(steps) == {0, 1}  # a kill hides at most one receipt, and some do
    assert [end for *_, end in lines] == ["killed"] * (len(lines) - 1) + ["ended"]
    assert len(lines) > 20


@pytest.mark.parametrize("crashes", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_server_that_crashes(tmp_path: Path, crashes: int) -> None:
    """SIGKILL to a session's process makes PostgreSQL drop everybody and recover from its log."""
    with cluster() as running:
        url = running.database("crashing")
        ledger = Ledger.open(url)
        ledger.create("users", f"{2 * crashes}", "1e-5")
        acknowledged = _crowd(url, tmp_path, "stated", 8, crashes, "server")
        assert (running.folder / "log").read_text().count("was terminated by signal 9") == crashes
        assert _check(ledger, "stated", acknowledged) == 200 * crashes
        assert len(acknowledged) >= (200 - 8) * crashes


def test_two_may_make_the_same_ledger(store: str) -> None:
    failures: list[BaseException] = []

    def make(name: str) -> None:
        try:
            Ledger.open(store).create(name, "1", "0")
        except BaseException as error:
            failures.append(error)

    names = [f"cohort {i}" for i in range(8)]
    threads = [threading.Thread(target=make, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert Ledger.open(store).cohorts() == names


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM shuffledp_spends WHERE number = 3",
        "UPDATE shuffledp_losses SET rounds = 2",
        "UPDATE shuffledp_cohorts SET epsilon = '0.02'",
        "UPDATE shuffledp_cohorts SET epsilon = '0.04'",
    ],
)
def test_the_check_sees_damage(store: str, damage: str) -> None:
    """Negative controls: a lost spend, a lost round, over budget, stopped too early."""
    ledger = Ledger.open(store)
    ledger.create("users", "0.03", "1e-6")
    acknowledged = [ledger.spend("users", THINGS["stated"]).number for _ in range(3)]
    assert _check(ledger, "stated", acknowledged) == 3
    with ledger.store.transaction(write=True) as execute:
        execute(damage)
    with pytest.raises((AssertionError, pytest.fail.Exception, LedgerError)):
        _check(ledger, "stated", acknowledged)
