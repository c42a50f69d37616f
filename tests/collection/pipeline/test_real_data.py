"""Flights and census: the estimates hold the true numbers of real tables."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main

SCRIPT = Path(__file__).parents[3] / "examples" / "real_data.py"
TARGET = "--epsilon 1 --delta 1e-8"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("real_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(example: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    pq.write_table(example.flights(), folder / "all.parquet")
    pq.write_table(example.flown(example.flights()), folder / "flights.parquet")
    pq.write_table(example.adult(), folder / "adult.parquet")
    return folder


def _listed(folder: Path, file: str, column: str) -> str:
    """These tables are public, and so are the values in them."""
    path = folder / f"{column}.txt"
    path.write_text("\n".join(pc.unique(pq.read_table(folder / file)[column]).to_pylist()))
    return f"--categories {path}"


def _run(line: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*line.split(), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["privacy"]["upper"] <= 1.0
    return found


def _check_frequencies(table: pa.Table, column: str, found: dict[str, Any]) -> None:
    counts = {
        row["values"].as_py(): row["counts"].as_py() for row in pc.value_counts(table[column])
    }
    assert len(counts) == len(found["estimates"])
    z = [
        (row["value"] - counts[row["name"]] / len(table)) / row["error"]
        for row in found["estimates"]
    ]
    assert np.abs(z).max() < 6.0  # false alarm below 1e-6 for 105 values


@pytest.mark.parametrize(("column", "values"), [("carrier", 16), ("dest", 105)])
def test_flights(folder: Path, column: str, values: int) -> None:
    found = _run(
        f"run {folder}/all.parquet --column {column} --task histogram {TARGET} --mechanism krr"
        f" {_listed(folder, 'all.parquet', column)}"
    )
    table = pq.read_table(folder / "all.parquet")
    assert found["reports"] == len(table) == 336_776
    assert len(found["estimates"]) == values
    _check_frequencies(table, column, found)


def test_air_times(folder: Path) -> None:
    line = f"--column air_time --low 0 --high 720 {TARGET}"
    mean = _run(f"run {folder}/flights.parquet {line} --task mean --mechanism piecewise")[
        "estimates"
    ][0]
    times = pq.read_table(folder / "flights.parquet")["air_time"].to_numpy()
    assert abs(mean["value"] - times.mean()) < 6 * mean["error"]
    middle = _run(
        f"run {folder}/flights.parquet {line} --task quantiles --mechanism krr --bins 720"
    )
    for row in middle["estimates"]:
        assert abs(row["value"] - np.quantile(times, row["name"])) < 6 * row["error"] + 1.0


def test_a_missing_delay_is_named(folder: Path) -> None:
    line = f"run {folder}/all.parquet --column air_time --task mean --low 0 --high 720 {TARGET}"
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2
    assert "missing values (row " in result.output


@pytest.mark.parametrize("column", ["education", "sex"])
def test_census(folder: Path, column: str) -> None:
    table = pq.read_table(folder / "adult.parquet")
    assert len(table) == 48_842
    found = _run(
        f"run {folder}/adult.parquet --column {column} --task histogram {TARGET} --mechanism subset"
        f" {_listed(folder, 'adult.parquet', column)}"
    )
    _check_frequencies(table, column, found)


def test_ages(folder: Path) -> None:
    line = f"run {folder}/adult.parquet --column age --task mean --low 0 --high 100 {TARGET}"
    mean = _run(f"{line} --mechanism piecewise")["estimates"][0]
    truth = float(pq.read_table(folder / "adult.parquet")["age"].to_numpy().mean())
    assert abs(mean["value"] - truth) < 6 * mean["error"]
