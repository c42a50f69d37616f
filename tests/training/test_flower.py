"""The Flower app: messages by hand, then a real simulation with virtual clients.

Flower pins older versions of what the other tests pin, so it has an environment of its own: `make
test-fl`. Here these tests are skipped.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from shuffledp.training.flower import LABEL, CheckInMod, ShuffledCheckIn
from shuffledp.training.noise import Simulated

CLIENTS = 8


@pytest.fixture(autouse=True)
def identity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages made by hand need to know whose they are."""
    from flwr.supercore.task_identity import TaskIdentity

    if "simulation" not in request.node.name:
        for name in ("run_id", "node_id", "task_id"):
            monkeypatch.setattr(TaskIdentity, f"_{name}", 1)


TARGET = np.array([3.0, -2.0, 1.0])


def _message(values: list[float], kind: str = "train") -> Message:
    record = RecordDict({"arrays": ArrayRecord([np.array(values)])})
    return Message(content=record, message_type=kind, dst_node_id=1)


def _moves_by(change: list[float]) -> Any:
    def inner(message: Message, _context: Context) -> Message:
        before = message.content["arrays"].to_numpy_ndarrays()[0]
        content = {
            "arrays": ArrayRecord([before + np.array(change)]),
            "metrics": MetricRecord({"loss": 0.123}),
        }
        return Message(RecordDict(content), reply_to=message)

    return inner


def _reports(mod: CheckInMod, change: list[float], times: int) -> np.ndarray:
    found = []
    for _ in range(times):
        reply = mod(_message([1.0, 1.0]), None, _moves_by(change))  # type: ignore[arg-type]
        assert set(reply.content) <= {"report"}, "metrics stay on the device"
        if "report" in reply.content:
            found.append(reply.content["report"].to_numpy_ndarrays()[0])
    return np.array(found)


def test_the_mod_clips_adds_noise_and_stays_silent() -> None:
    """2,000 draws; each bound is five standard deviations: false alarms below 1e-5."""
    reports = _reports(CheckInMod(clip=1.0, sigma=0.5, rate=1.0), [30.0, 40.0], 2000)
    assert len(reports) == 2000
    assert np.abs(reports.mean(axis=0) - [0.6, 0.8]).max() < 5 * 0.5 / np.sqrt(2000)
    assert np.abs(reports.std(axis=0) / 0.5 - 1).max() < 5 / np.sqrt(2 * 2000)
    some = _reports(CheckInMod(clip=1.0, sigma=0.5, rate=0.25), [1.0, 0.0], 2000)
    assert abs(len(some) / 2000 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 2000)


def _fails(_message: Message, _context: Context) -> Message:
    raise ValueError("patient 17 has no age")


def _grows(message: Message, _context: Context) -> Message:
    return Message(RecordDict({"arrays": ArrayRecord([np.ones(7)])}), reply_to=message)


def _says_error(message: Message, _context: Context) -> Message:
    return Message(Error(code=1, reason="patient 17 has no age"), reply_to=message)


@pytest.mark.parametrize(
    "inside", [_fails, _grows, _says_error, _moves_by([np.nan, 1.0]), _moves_by([np.inf, 0.0])]
)
def test_what_is_no_update_counts_as_zero(inside: Any) -> None:
    """Silence where the coin said to report would tell that this client cannot."""
    mod = CheckInMod(clip=1.0, sigma=1e-3, rate=1.0, randomness=Simulated(1))
    reply = mod(_message([1.0, 1.0]), None, inside)  # type: ignore[arg-type]
    assert not reply.has_error()
    assert np.abs(reply.content["report"].to_numpy_ndarrays()[0]).max() < 0.01


def test_only_training_is_answered() -> None:
    mod = CheckInMod(clip=1.0, sigma=1e-3, rate=1.0, randomness=Simulated(1))
    for kind in ("evaluate", "query"):
        other = mod(_message([1.0], kind), None, _moves_by([5.0]))  # type: ignore[arg-type]
        assert not other.content, "metrics on private data stay on the device"


@pytest.mark.slow
def test_a_simulation_learns_and_says_what_it_is() -> None:
    from flwr.simulation import run_simulation

    os.environ["RAY_DISABLE_DASHBOARD"] = "1"
    client = ClientApp(mods=[CheckInMod(clip=1.0, sigma=0.05, rate=0.9)])

    @client.train()
    def train(message: Message, _context: Context) -> Message:
        before = message.content["arrays"].to_numpy_ndarrays()[0]
        record = RecordDict({"arrays": ArrayRecord([before + 0.5 * (TARGET - before)])})
        return Message(record, reply_to=message)

    strategy = ShuffledCheckIn(
        clients=CLIENTS, clip=1.0, sigma=0.05, rate=0.9, delta=0.01, step=1.0
    )
    server, found = ServerApp(), {}

    @server.main()
    def serve(grid: Grid, _context: Context) -> None:
        result = strategy.start(grid, ArrayRecord([np.zeros(3)]), num_rounds=12)
        found["model"] = result.arrays.to_numpy_ndarrays()[0]

    run_simulation(
        server, client, CLIENTS, backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0}}
    )
    assert np.abs(found["model"] - TARGET).max() < 0.3
    assert strategy.rounds == 12
    assert strategy.spent.epsilon > 0
    assert "sees who replied" in LABEL
    assert strategy.label == LABEL
