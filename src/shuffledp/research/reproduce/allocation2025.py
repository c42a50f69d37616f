"""Random allocation as its two papers of 2025 draw it, the schemes beside each other.

Feldman, Shenfeld 2025 (arXiv 2502.08202) sweep the noise, the epochs, the steps and the steps that
an example joins; Chua et al. 2025 (AISTATS) estimate delta over epsilon. Their numbers are those of
the authors' packages at the settings of their own scripts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shuffledp.accounting.bounds.minibatches import poisson_curve
from shuffledp.accounting.curves import GDPCurve
from shuffledp.accounting.protocols import CentralMinibatches, RandomAllocation
from shuffledp.display.palette import COLOURS
from shuffledp.research.reproduce.result import Result, Row

_EPSILONS = (
    *("sigma", "steps", "k", "epochs", "delta", "Poisson sampling", "allocation leaked"),
    *("allocation proven", "theirs, direct", "theirs, decomposition", "known order proven"),
)
_DELTAS = (
    *("sigma", "steps", "epsilon", "Poisson sampling", "allocation leaked", "allocation proven"),
    *("theirs, simulated", "theirs, with high probability"),
    *("shuffled batches leaked", "known order proven"),
)
_SHOWN = {
    "Poisson sampling": COLOURS["REFUTED"],
    "allocation proven": COLOURS["PROVEN"],
    "theirs, direct": "#888888",
    "theirs, decomposition": "#bbbbbb",
    "theirs, simulated": "#888888",
    "shuffled batches leaked": COLOURS["FIXED_PAIR"],
    "known order proven": "black",
}
_REMARK = (
    "Theirs: the package random-allocation 1.0.5, upper bounds of the paper (direct: by Rényi"
    " divergences of orders 2 to 60; decomposition: by Poisson sampling), without certified"
    " rounding. All but shuffled batches: an example added or removed."
)
Setting = tuple[float, int, int, int, float]
"""sigma, steps, k, epochs, delta."""
_THEIRS: dict[str, dict[Setting, tuple[float | None, float | None]]] = {
    "noise": {
        (0.3, 100_000, 1, 1, 1e-10): (15.712, 18.312),
        (0.5, 100_000, 1, 1, 1e-10): (4.5687, 3.4215),
        (0.7, 100_000, 1, 1, 1e-10): (1.9733, 0.26135),
        (1.0, 100_000, 1, 1, 1e-10): (0.88528, 0.077343),
        (1.4, 100_000, 1, 1, 1e-10): (0.41917, 0.064915),
        (2.0, 100_000, 1, 1, 1e-10): (0.30415, 0.054317),
    },
    "epochs": {
        (1.0, 10_000, 1, 1, 1e-8): (0.85953, 0.10332),
        (1.0, 10_000, 1, 10, 1e-8): (0.88782, None),
        (1.0, 10_000, 1, 100, 1e-8): (1.0599, None),
        (1.0, 10_000, 1, 1000, 1e-8): (2.3436, None),
    },
    "steps": {
        (0.3, 25, 1, 1, 1e-4): (15.717, 28.606),
        (0.3, 125, 1, 1, 1e-4): (14.109, 22.529),
        (0.3, 275, 1, 1, 1e-4): (13.322, 19.730),
        (0.3, 525, 1, 1, 1e-4): (12.680, 17.620),
    },
    "joined": {
        (0.6, 1024, 1, 1, 1e-6): (3.0392, 2.6409),
        (0.6, 1024, 2, 1, 1e-6): (4.0657, None),
        (0.6, 1024, 4, 1, 1e-6): (5.1526, None),
        (0.6, 1024, 8, 1, 1e-6): (7.8445, None),
        (0.6, 1024, 16, 1, 1e-6): (13.933, None),
        (0.6, 1024, 64, 1, 1e-6): (54.930, None),
    },
}
"""By their two ways, where they have an answer."""
_SIMULATED: dict[tuple[float, int, float], tuple[float, float]] = {
    (0.75, 100, 0.5): (3.132e-3, 3.527e-3),
    (0.75, 100, 2.0): (1.212e-6, 2.809e-5),
    (0.5, 100, 0.5): (7.186e-2, 7.363e-2),
    (0.5, 100, 2.0): (5.279e-3, 5.787e-3),
    (0.5, 100, 4.0): (1.759e-4, 2.819e-4),
}
"""The mean, and what holds with high probability."""


def over_noise() -> Result:
    """epsilon over sigma: 100,000 steps, delta = 1e-10."""
    return _figure("noise", 0, "noise multiplier")


def over_epochs() -> Result:
    """epsilon over the number of epochs: sigma = 1, 10,000 steps, delta = 1e-8."""
    return _figure("epochs", 3, "epochs")


def over_steps() -> Result:
    """epsilon over the steps of an epoch: sigma = 0.3, delta = 1e-4."""
    return _figure("steps", 1, "steps of an epoch")


def over_joined() -> Result:
    """epsilon over the steps an example joins: sigma = 0.6, 1,024 steps, delta = 1e-6."""
    return _figure("joined", 2, "steps that an example joins")


def balls_and_bins() -> Result:
    """delta over epsilon: what Chua et al. simulate."""
    rows = [delta_row(*setting) for setting in _SIMULATED]
    remarks = [
        "Theirs: the simulation of Chua et al. 2025 as the package random-allocation 1.0.5 runs it"
        " (removal, 200,000 samples, one seed): its mean, and its bound with high probability."
    ]
    shown = [row for row in rows if row[:2] == (0.5, 100)]
    label = "delta at sigma = 0.5, 100 steps"
    return Result(_DELTAS, rows, _drawn(_DELTAS, shown, 2, "epsilon", label), remarks)


def _figure(name: str, varied: int, label: str) -> Result:
    rows = [epsilon_row(setting, theirs) for setting, theirs in _THEIRS[name].items()]
    draw = _drawn(_EPSILONS, rows, varied, label, "epsilon")
    return Result(_EPSILONS, rows, draw, [_REMARK])


def epsilon_row(setting: Setting, theirs: Sequence[float | None] = (None, None)) -> Row:
    """epsilon of each scheme; Poisson sampling at the rate that gives as many steps on average."""
    sigma, steps, k, epochs, delta = setting
    found = (RandomAllocation(sigma, steps, k) ** epochs).epsilon(delta)
    poisson = poisson_curve(sigma, k / steps, steps * epochs).epsilon(delta)
    known = GDPCurve(math.sqrt(k * epochs) / sigma).epsilon(delta)
    return (*setting, poisson, found.lower, found.upper, *theirs, known)


def delta_row(sigma: float, steps: int, epsilon: float) -> Row:
    """delta of each scheme."""
    found = RandomAllocation(sigma, steps).delta(epsilon)
    batches = CentralMinibatches(sigma, 1, steps).delta(epsilon)
    poisson = poisson_curve(sigma, 1.0 / steps, steps).delta(epsilon)
    theirs = _SIMULATED.get((sigma, steps, epsilon), (None, None))
    ours = found.lower, found.upper
    return (sigma, steps, epsilon, poisson, *ours, *theirs, batches.lower, batches.upper)


def _drawn(
    columns: tuple[str, ...], rows: Sequence[Row], varied: int, xlabel: str, ylabel: str
) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        for column, colour in _SHOWN.items():
            if column in columns:
                place = columns.index(column)
                points = [(row[varied], row[place]) for row in rows if row[place] is not None]
                axes.plot(*zip(*points, strict=True), color=colour, label=column, marker="o")
        axes.set(xlabel=xlabel, ylabel=ylabel, xscale="log", yscale="log")

    return draw
