"""Faults planted in what runs are caught by an audit of what runs."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import KRR
from shuffledp.collection.auditing import EmbeddedPath, audit, order_tests
from shuffledp.collection.devices import device, secure, simulation
from shuffledp.collection.devices.categorical import ResponseDevice
from shuffledp.collection.pipeline import engines
from shuffledp.collection.shuffling import Shuffler
from shuffledp.interfaces.cli import main
from tests.collection.auditing.test_orders import FAULTS

STREAM = secure()
N, DELTA, TRIALS = 50, 1e-3, 2000
LINE = f"audit --mechanism krr --k 4 --eps0 3 --n {N} --delta {DELTA} --trials {TRIALS}"


class _Planted(Shuffler):
    """Gives reports back in an order of its own."""

    order: Callable[[Any], Any]

    def add(self, reports: Any) -> None:
        self._kept.append(reports)

    def release(self) -> Iterator[Any]:
        yield type(self).order(np.concatenate(self._kept))


def _audit() -> Any:
    return audit(KRR(4, eps0=3.0), N, delta=DELTA, trials=TRIALS, stream=STREAM)


ORDERS: dict[str, Callable[[Any], Any]] = {
    "sorted": lambda reports: reports[np.argsort(reports[:, 0], kind="stable")],
    **{
        name: (lambda reports, fault=fault: reports[np.argsort(fault(len(reports)))])
        for name, fault in FAULTS.items()
    },
}


@pytest.mark.parametrize("order", ORDERS)
def test_wrong_orders_are_caught(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = type("Planted", (_Planted,), {"order": staticmethod(ORDERS[order])})
    monkeypatch.setattr(engines, "Shuffler", planted)
    found = _audit()
    assert not found.uniform
    assert found.violated


@pytest.mark.parametrize("n", [2, 3, 5, 8, 20])
def test_few_trials_of_small_batches_see_what_is_not_shuffled(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = EmbeddedPath(STREAM)
    assert all(test.uniform for test in order_tests(path.orders(n, 1)))
    planted = type("Planted", (_Planted,), {"order": staticmethod(lambda reports: reports)})
    monkeypatch.setattr(engines, "Shuffler", planted)
    found = {test.orders for test in order_tests(path.orders(n, 1)) if not test.uniform}
    assert {"in memory", "through files"} <= found


def test_no_shuffle_is_caught_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def identity(self: Shuffler) -> Iterator[Any]:
        yield from self._kept
        self.close()

    monkeypatch.setattr(Shuffler, "release", identity)
    result = CliRunner().invoke(main, LINE.split())
    assert result.exit_code == 1, result.output
    assert "order of release: NOT UNIFORM" in result.stdout
    assert "claim VIOLATED" in result.stdout
    result = CliRunner().invoke(main, [*LINE.split(), "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["violated"] is True
    assert found["order"]["uniform"] is False
    assert any(test["p"] < 1e-6 for test in found["order"]["tests"])


def _by_arrival(self: Shuffler, reports: Any) -> None:
    """Piles one after the other, as reports arrive."""
    self._turn = getattr(self, "_turn", 0) + 1  # type: ignore[attr-defined]
    self._piles[self._turn % 8].append(reports)  # type: ignore[attr-defined]


def test_faults_in_files_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory all is well."""
    monkeypatch.setattr(Shuffler, "_to_piles", _by_arrival)
    found = _audit()
    assert found.violated
    assert {test.orders for test in found.orders if not test.uniform} <= {
        "through files",
        "through files, two compared",
    }


def test_lost_reports_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Shuffler.release
    monkeypatch.setattr(Shuffler, "release", lambda self: (block[1:] for block in real(self)))
    found = _audit()
    assert found.violated
    assert found.orders[0].statistic == "batches with each report once"


def test_a_wrong_device_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps the truth more often than it says."""
    other, encode = device(KRR(4, eps0=6.0)), ResponseDevice._encode
    monkeypatch.setattr(ResponseDevice, "_encode", lambda _self, *given: encode(other, *given))
    found = _audit()
    assert found.violated
    assert found.leaks
    assert found.uniform


def test_an_audit_says_what_it_can_see() -> None:
    result = CliRunner().invoke(main, [*LINE.split(), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["engine"] == "embedded"
    assert (found["order"]["false_alarm"], found["failure"]) == (1e-6, 0.01)
    assert found["leaks"] is False
    assert {test["orders"] for test in found["order"]["tests"]} == {
        "in memory",
        "in memory, two compared",
        "through files",
        "through files, two compared",
    }
    assert found["claimed"]["upper"] < found["power"]["largest"] < 8.0
    assert 3.0 < found["power"]["eps0"] < 10.0
    assert found["power"]["epsilon"] > found["claimed"]["upper"]
    shown = CliRunner().invoke(main, LINE.split()).stdout
    assert "they notice this mechanism with eps0" in shown
    assert "may go unseen" in shown
    few = audit(KRR(4, eps0=3.0), N, delta=DELTA, trials=20, stream=STREAM)
    assert few.power.largest < found["power"]["largest"]
    assert few.power.eps0 is None
    line = LINE.replace(f"--trials {TRIALS}", "--trials 20")
    shown = CliRunner().invoke(main, line.split()).stdout
    assert "a release that hides nothing would go unseen" in shown


def test_the_budget_said_to_be_noticed_is_noticed() -> None:
    """Nine times in ten; on randomness that is the same in every run of this test."""
    path = EmbeddedPath(simulation(5))
    asked: dict[str, Any] = {"delta": DELTA, "trials": TRIALS, "path": path}
    power = audit(KRR(4, eps0=3.0), N, **asked).power
    release = path.release(device(KRR(4, eps0=power.eps0)))
    assert all(audit(KRR(4, eps0=3.0), N, release=release, **asked).leaks for _ in range(2))
