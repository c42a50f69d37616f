"""One call from a table of any kind to estimates."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shuffledp
from shuffledp import KRR, ParameterError
from shuffledp.collection.devices import device, simulation
from shuffledp.collection.pipeline.sample_data import sample_table

WORDS = ["yes"] * 1400 + ["no"] * 600
NUMBERS = np.linspace(0.0, 10.0, 2000)
TARGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "simulation": 7}


def _frame(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda columns: pytest.importorskip(name).DataFrame(columns)


def _generator(columns: dict[str, Any]) -> Iterator[Any]:
    yield from columns["answer"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_frame("pandas"), id="pandas"),
        pytest.param(_frame("polars"), id="polars"),
        pytest.param(pa.table, id="arrow"),
        pytest.param(lambda columns: pa.table(columns).to_reader(), id="reader"),
        pytest.param(lambda columns: pa.table(columns).to_batches()[0], id="batch"),
        pytest.param(dict, id="mapping"),
        pytest.param(lambda columns: columns["answer"], id="list"),
        pytest.param(_generator, id="generator"),
    ],
)
def test_every_kind_of_table_gives_the_same_numbers(make: Callable[..., Any]) -> None:
    found = shuffledp.run(
        make({"answer": WORDS}), "answer", task="histogram", categories=["yes", "no"], **TARGET
    )
    assert found.names == ("yes", "no")
    assert found.reports == 2000
    known = {"answer": WORDS}
    same = shuffledp.run(known, "answer", task="histogram", categories=["yes", "no"], **TARGET)
    assert found.values.tolist() == same.values.tolist()
    low, high = found.interval(0.999999)
    assert low[0] < 0.7 < high[0]
    assert "protects nobody" in found.label or "NOT PRIVATE" in found.label


def test_the_same_guarantee_as_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(sample_table(rows=2000))
    options: dict[str, Any] = {"task": "mean", "low": 0.0, "high": 120.0}
    of_file = shuffledp.run(path, "minutes", **options, **TARGET)
    minutes = [float(line.split(",")[1]) for line in path.read_text().splitlines()[1:]]
    of_list = shuffledp.run(minutes, "minutes", **options, **TARGET)
    assert of_file.values.tolist() == of_list.values.tolist()
    assert of_file.label == of_list.label


def test_arrays_and_local_budgets() -> None:
    found = shuffledp.run(
        NUMBERS, task="mean", low=0, high=10, eps0=3.0, delta=1e-6, mechanism="laplace"
    )
    assert found.guarantee is not None
    assert found.guarantee.upper < 3.0
    assert abs(found.values[0] - 5.0) < 1.0


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (WORDS, {"task": "histogram"}, "categories"),
        (WORDS, {"task": "histogram", "categories": "yes,no"}, "categories"),
        (WORDS, {"task": "histogram", "categories": ["yes", "maybe"]}, "declared categories only"),
        (["yes", None] * 50, {"task": "histogram", "categories": ["yes", "no"]}, "missing values"),
        (NUMBERS, {"task": "mean"}, "low"),
        (NUMBERS, {"task": "mean", "low": 0, "high": 1, "eps0": 1.0}, "epsilon"),
        (3, {"task": "histogram", "categories": ["a", "b"]}, "data"),
        ({"a": [1]}, {"task": "mean", "low": 0, "high": 1}, "column"),
        ([[1], "x"], {"task": "mean", "low": 0, "high": 1}, "data"),
    ],
)
def test_clear_errors(data: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        shuffledp.run(data, **options, **TARGET)
    assert "maybe" not in str(caught.value) or "categories" in said


def test_devices_take_names() -> None:
    machine = device(KRR(k=3.0, eps0=30.0))  # type: ignore[arg-type]
    names = ["a", "b", "c"]
    by_name = machine.encode(["c", "a"], simulation(1), names)
    assert by_name.tolist() == machine.encode([2, 0], simulation(1)).tolist()
    with pytest.raises(ParameterError, match="row 2"):
        machine.encode(["a", "d"], simulation(1), names)
    with pytest.raises(ParameterError, match="each given once"):
        machine.encode(["a"], simulation(1), ["a", "a", "b"])
    with pytest.raises(ParameterError, match="from 0 to 2"):
        machine.encode(["d"], simulation(1), [*names, "d"])
