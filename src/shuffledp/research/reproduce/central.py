"""One epoch of central DP-SGD by how its batches are drawn: Chua et al. 2024 and 2025; Feldman,
Shenfeld 2025."""

from __future__ import annotations

from typing import Any

from shuffledp.accounting.bounds.minibatches import poisson_curve
from shuffledp.accounting.protocols import CentralMinibatches, RandomAllocation
from shuffledp.display.palette import COLOURS
from shuffledp.research.reproduce.result import Result, Row

_SETTINGS = (
    *((sigma, 1000, 1, 1e-6) for sigma in (0.5, 0.7, 1.0, 1.5, 2.0, 3.0)),
    (1.0, 1000, 1, 1e-8),
    (2.0, 1000, 1, 1e-8),
    (2.0, 1000, 5, 1e-8),
)
_PRINTED = {
    (1.0, 1000, 1, 1e-6): "0.1687 to 0.1757",
    (2.0, 1000, 5, 1e-8): "0.1748 to 0.1812",
    (1.0, 1000, 1, 1e-8): "batches 5.106 to 5.64",
}
"""By the package of Feldman and Shenfeld for random allocation; certified elsewhere for batches."""
_COLUMNS = (
    *("sigma", "steps", "epochs", "delta", "Poisson sampling", "allocation leaked"),
    *("allocation proven", "printed", "shuffled batches leaked", "known order proven", "factor"),
)


def batches() -> Result:
    """epsilon by how the batches are drawn, at the same noise."""
    rows = [row(*setting) for setting in _SETTINGS]
    return Result(
        _COLUMNS,
        rows,
        _draw(rows),
        [
            "Poisson sampling and random allocation: an example added or removed; shuffled batches"
            " and a known order: its gradient set to 0.",
            "Factor: what shuffled batches leak over what Poisson accounting of the same run says.",
        ],
    )


def row(sigma: float, steps: int, epochs: int, delta: float) -> Row:
    """One row of the table."""
    poisson = poisson_curve(sigma, 1.0 / steps, steps * epochs).epsilon(delta)
    allocation = (RandomAllocation(sigma, steps) ** epochs).epsilon(delta)
    shuffled = (CentralMinibatches(sigma, 1, steps) ** epochs).epsilon(delta)
    return (
        *(sigma, steps, epochs, delta, poisson, allocation.lower, allocation.upper),
        _PRINTED.get((sigma, steps, epochs, delta), ""),
        *(shuffled.lower, shuffled.upper, shuffled.lower / poisson),
    )


def _draw(rows: list[Row]) -> Any:
    def draw(axes: Any) -> None:
        shown: list[Any] = [x for x in rows if x[1:4] == (1000, 1, 1e-6)]
        for column, colour in (
            ("Poisson sampling", COLOURS["REFUTED"]),
            ("allocation proven", COLOURS["PROVEN"]),
            ("shuffled batches leaked", COLOURS["FIXED_PAIR"]),
            ("known order proven", "black"),
        ):
            place = _COLUMNS.index(column)
            axes.plot(
                [x[0] for x in shown],
                [x[place] for x in shown],
                color=colour,
                label=column,
                marker="o",
            )
        axes.set_xlabel("noise multiplier")
        axes.set_ylabel("epsilon at delta = 1e-6, 1,000 steps")
        axes.set_yscale("log")
        axes.legend()

    return draw
