"""How often 95 % intervals hold the truth: vectors in messages, and several questions, on real data."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Job, Question, Questionnaire

SCRIPT = Path(__file__).parents[3] / "examples" / "real_data.py"
RUNS, N = 200, 10_000
RANGES = {
    "air_time": (0.0, 720.0),
    "distance": (0.0, 5000.0),
    "hour": (0.0, 24.0),
    "minute": (0.0, 60.0),
    "dep_delay": (-60.0, 1440.0),
    "month": (0.0, 12.0),
}


def _tables() -> tuple[pa.Table, pa.Table]:
    spec = importlib.util.spec_from_file_location("real_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.flown(module.flights()), module.adult()


def _shares(flights: pa.Table) -> dict[str, np.ndarray]:
    """Columns of the last flights as shares of their ranges: no plan was made on them."""
    last = flights.slice(len(flights) - N)
    return {
        name: np.clip((last[name].to_numpy().astype(float) - low) / (high - low), 0.0, 1.0)
        for name, (low, high) in RANGES.items()
    }


def _covered(asked: Questionnaire, data: Any, truths: list[np.ndarray]) -> list[float]:
    """Of each question, over all runs and estimates."""
    inside: list[list[np.ndarray]] = [[] for _ in truths]
    for seed in range(RUNS):
        _, answers = asked.collect(data, simulation(seed))
        for held, found, truth in zip(inside, answers, truths, strict=True):
            low, high = found.interval()
            held.append((low <= truth) & (truth <= high))
    return [float(np.mean(held)) for held in inside]


def _mean(column: str, high: float, **promise: Any) -> Question:
    return Question(Job("mean", (column,), low=0.0, high=high, mechanism="plateau", **promise))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["plateau-x6", "rounding-x6", "rounding-x3"])
def test_vectors_in_messages(mechanism: str) -> None:
    data = _shares(_tables()[0])
    promise: dict[str, Any] = {"n": N, "epsilon": 1.0, "delta": 1e-6, "mechanism": mechanism}
    job = Job("vector", tuple(data), low=0.0, high=1.0, **promise)
    asked = Questionnaire((Question(job, limit=int(mechanism[-1])),)).calibrated()
    truth = np.array([column.mean() for column in data.values()])
    (covered,) = _covered(asked, data, [truth])
    print(f"{mechanism}: {100.0 * covered:.1f} %")
    assert 0.93 <= covered <= 0.97 or (mechanism[0] == "r" and covered > 0.93)


@pytest.mark.slow
def test_several_questions() -> None:
    people = _tables()[1]
    people = people.slice(len(people) - N)
    schools = sorted(pc.unique(people["education"]).to_pylist())
    promise: dict[str, Any] = {"n": N, "epsilon": 1.0, "delta": 1e-6}
    histogram = Job(
        "histogram", ("education",), categories=tuple(schools), mechanism="krr", **promise
    )
    asked = Questionnaire(
        (
            Question(histogram),
            _mean("age", 100.0, **promise),
            _mean("hours_per_week", 100.0, **promise),
        )
    ).calibrated()
    education = people["education"].to_pylist()
    truths = [np.array([education.count(name) / N for name in schools])]
    truths += [np.array([people[name].to_numpy().mean()]) for name in ("age", "hours_per_week")]
    found = _covered(asked, people, truths)
    print([f"{100.0 * each:.1f} %" for each in found])
    assert 0.93 <= found[0] <= 0.97
    # of single numbers 200 intervals: within three standard errors
    assert all(0.95 - 3 * 0.0154 <= each <= 1.0 for each in found[1:])
