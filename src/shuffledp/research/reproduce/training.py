"""The papers' training runs on MNIST: Chen, Cao, Ge 2024 Figure 4, Liew, Takahashi 2023 Figure 1b.

Simulations with seed 1, kept under the cache folder, so that an interrupted item goes on where it
was.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.randomizers import LDP
from shuffledp.numerics.search import bisect
from shuffledp.research.reproduce.result import Result, Row

if TYPE_CHECKING:
    from shuffledp.training import Dataset, History
    from shuffledp.training.presets import Preset

_SEED = 1
_EPOCHS = 50
_SAMPLES = 60_000
_BUDGET = 0.008
"""Figure 4 of the final version: (order, 0.008 order)-RDP."""
_PRINTED = {"chen-2024-m300": 0.9707, "chen-2024-m100": 0.9818}
_PRINTED_PRIVATE = 0.9641
_SIMULATED = (
    "All runs are simulations: nothing is proven of what they released."
    " epsilon if deployed is what is proven of"
    " the same noise drawn on the devices"
)


@lru_cache(maxsize=4)
def _data(components: int | None) -> Dataset:
    from shuffledp.training import mnist

    return mnist() if components is None else mnist().principal_components(components)


def _trained(
    name: str, network: str | None = None, every: int = 10, scale: float = 1.0, **options: Any
) -> History:
    """A run by preset, some options changed, resumed if it was begun before."""
    from shuffledp.training import run
    from shuffledp.training.data import cache_folder
    from shuffledp.training.presets import PRESETS

    preset: Preset = PRESETS[name]
    preset = replace(
        preset, network=network or preset.network, options={**preset.options, **options}
    )
    data = _data(preset.components).scaled(scale)
    trainer = preset.trainer(data, _SEED)
    changed = sorted(options.items()) + ([("scale", scale)] if scale != 1.0 else [])
    key = "-".join([name, preset.network, *(f"{k}={v}" for k, v in changed)])
    print(f"training {key}", file=sys.stderr)
    return run(trainer, data, folder=cache_folder() / "runs" / key, every=every)


def _row(label: object, unit: str, history: History) -> Row:
    last, spent = history.rows[-1], history.spent
    claim = spent.claims[-1] if spent.claims else None
    epsilon = spent.epsilon if math.isfinite(spent.epsilon) else None
    claimed = (None, None) if claim is None else (claim.value, claim.status.value)
    return (label, unit, last.train_accuracy, last.test_accuracy, epsilon, *claimed)


_COLUMNS = (
    "eps0",
    "unit",
    "train accuracy",
    "test accuracy",
    "epsilon if deployed",
    "epsilon claimed by Theorem 3",
    "label of the claim",
)


def _draw(axes: Any, rows: list[Row], printed: float) -> None:
    for unit, style in (("sample", "o-"), ("client", "s--")):
        points = [(row[0], row[2]) for row in rows if row[1] == unit]
        axes.plot([x for x, _ in points], [y for _, y in points], style, label=f"unit {unit}")
    axes.axhline(printed, color="gray", ls=":", label="printed, without noise")
    axes.set(xlabel="eps0", ylabel="train accuracy", ylim=(0, 1))


def chen_figure_4_first() -> Result:
    """Train accuracy over eps0, 300 blocks."""
    name = "chen-2024-m300"
    rows = [
        _row("none", "no noise", _trained(name, "perceptron-100", scale=2.0, eps0=None, clip=1e9)),
        *(
            _row(eps0, unit, _trained(name, eps0=eps0, unit=unit))
            for unit in ("sample", "client")
            for eps0 in (0.1, 0.5, 1.0, 2.0)
        ),
    ]
    return Result(
        _COLUMNS,
        rows,
        lambda axes: _draw(axes, rows, _PRINTED[name]),
        [
            f"Printed without noise: {_PRINTED[name]:.2%};"
            " the private curve is printed without numbers.",
            f"{_SIMULATED}, with principal components that are not taken from the private data.",
            "The claimed column is Theorem 3 of the paper for the same run:"
            " its amplification needs blocks"
            " that are eps0-LDP, which the printed noise does not make them (unit sample),"
            " so it is no guarantee.",
            "unit client has the noise that makes Theorem 3's premise true,"
            " and leaves it an asymptotic statement;"
            " epsilon then protects all 200 samples of a client.",
            "Network: 60 components, one hidden layer of 16, which the paper does not state;"
            " without noise 100, and inputs twice as large.",
        ],
    )


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    return bisect(lambda x: rising(x) < 0.0, low, high, halvings=50).good


def claimed_eps0(users: int) -> float | None:
    """The eps0 at which the published 2 T e^eps0 / (users - 1) meets the printed budget, if any."""
    power = _BUDGET * (users - 1) / (2.0 * _EPOCHS)
    return math.log(power) if power > 1.0 else None


def _erlingsson_eps0(users: int) -> float:
    """2 T E^4 (E - 1)^2 / users = budget."""
    return _root(
        lambda x: 2.0 * _EPOCHS * math.exp(4 * x) * math.expm1(x) ** 2 / users - _BUDGET, 0.0, 5.0
    )


def _proven_eps0(unit: str, order: float = 2.0) -> float:
    """The eps0 at which 50 epochs stay within the printed budget at order 2."""
    from shuffledp.training.accounting import laplace_divergence

    def spent(eps0: float) -> float:
        if unit == "sample":
            return _EPOCHS * laplace_divergence(eps0, order)
        return _EPOCHS * Shuffled(LDP(eps0), 100).bound("stronger-clones", order=order).value

    return _root(lambda x: spent(x) - _BUDGET * order, 1e-4, 2.0)


def chen_figure_4_final() -> Result:
    """Accuracy at one Rényi budget, 100 blocks."""
    name = "chen-2024-m100"
    assert claimed_eps0(100) is None
    with_n = claimed_eps0(_SAMPLES)
    assert with_n is not None
    settings: list[tuple[str, str, float]] = [
        ("Theorem 3 with n = 60,000 in place of m (REFUTED)", "sample", with_n),
        ("Erlingsson et al. 2019 with n in place of m", "sample", _erlingsson_eps0(_SAMPLES)),
        ("exact, as printed (order 2)", "sample", _proven_eps0("sample")),
        ("exact, clients (order 2)", "client", _proven_eps0("client")),
        ("beyond the budget", "sample", 2.0),
        ("beyond the budget", "sample", 8.0),
        ("beyond the budget", "sample", 32.0),
    ]
    rows: list[Row] = [
        (
            "no noise",
            None,
            *_row("", "", _trained(name, "perceptron-100", eps0=None, clip=1e9))[1:],
        ),
        ("no noise, clipped", None, *_row("", "", _trained(name, "perceptron-100", eps0=None))[1:]),
        ("no noise, clipped, 16 hidden units", None, *_row("", "", _trained(name, eps0=None))[1:]),
    ]
    for label, unit, eps0 in settings:
        eps0 = round(eps0, 4)
        history = _trained(name, eps0=eps0, unit=unit)
        rows.append((label, eps0, *_row("", unit, history)[1:]))

    clip, eps0 = 3000.0, round(300.0 * with_n, 4)
    bare = _trained(
        name, "perceptron-100", scale=3.0, eps0=eps0, clip=clip, unit="sample", learning_rate=0.02
    )
    rows.append(
        (f"the noise of eps0 = {with_n:.3f}, hardly clipped", eps0, *_row("", "sample", bare)[1:])
    )

    def draw(axes: Any) -> None:
        axes.barh([f"{row[0]}\neps0 = {row[1]}" for row in rows], [row[3] for row in rows])
        axes.axvline(_PRINTED_PRIVATE, color="gray", ls=":", label="printed: 96.41 %")
        axes.tick_params(axis="y", labelsize=6)
        axes.set(xlabel="train accuracy", xlim=(0, 1))

    return Result(
        ("eps0 allowed by", *_COLUMNS),
        rows,
        draw,
        [
            "Printed: 98.18 % without noise, 96.41 % with; 100 blocks, eps0 in [0.1, 2], (order,"
            " 0.008 order)-RDP.",
            f"{_SIMULATED}, with principal components that are not taken from the private data.",
            "No eps0 meets that budget by the paper's own formula with m = 100: 2 T / (m - 1)"
            " alone is 1.01."
            f" With n = 60,000 in place of m it would be eps0 = {with_n:.3f}.",
            "Algorithm 1 as printed does not reach 96.41 % with eps0 <= 2 here or in the item"
            " chen-2024-figure-4-search; clipping alone stops at 92 %. The printed noise does, if"
            " gradients are hardly clipped: at l1 norm 3,000 in place of 10,"
            " inputs three times as large, step 0.02, 100 hidden"
            " units. That noise then hides a sample with eps0 = 471 an epoch, which is no privacy.",
        ],
    )


_SEARCHED = 20


def searched_settings(count: int) -> list[dict[str, Any]]:
    """Settings drawn at random, always the same: hidden units, clipping, step,
    scale of the inputs."""
    chance = random.Random(1)
    found = []
    for _ in range(count):
        clip = 10.0 ** chance.uniform(-1.0, 1.5)
        found.append(
            {
                "network": f"perceptron-{chance.choice((8, 16, 24, 32, 48))}",
                "clip": round(clip, 3),
                "learning_rate": round(10.0 ** chance.uniform(-1.0, 0.3) / clip, 5),
                "scale": round(10.0 ** chance.uniform(-0.5, 0.5), 3),
            }
        )
    return found


def chen_figure_4_search() -> Result:
    """What else Algorithm 1 reaches at the noise of Figure 4:
    settings at random around the printed ones."""
    from shuffledp.errors import TrainingError

    eps0 = round(claimed_eps0(_SAMPLES) or math.nan, 4)
    printed = {"network": "perceptron-16", "clip": 10.0, "learning_rate": 0.05, "scale": 1.0}
    rows: list[Row] = []
    for setting in [printed, *searched_settings(_SEARCHED)]:
        try:
            last = _trained("chen-2024-m100", eps0=eps0, unit="sample", **setting).rows[-1]
            reached: tuple[float | None, float | None] = (last.train_accuracy, last.test_accuracy)
        except TrainingError:
            reached = (None, None)
        rows.append((*setting.values(), *reached))

    def draw(axes: Any) -> None:
        axes.barh([", ".join(map(str, row[:4])) for row in rows], [row[4] or 0.0 for row in rows])
        axes.axvline(_PRINTED_PRIVATE, color="gray", ls=":", label="printed: 96.41 %")
        axes.tick_params(axis="y", labelsize=6)
        axes.set(xlabel="train accuracy", xlim=(0, 1))

    return Result(
        ("network", "clip", "learning rate", "scale of inputs", "train accuracy", "test accuracy"),
        rows,
        draw,
        [
            f"Printed: 96.41 %. eps0 = {eps0}, 100 blocks, 50 epochs, unit sample,"
            " the noise that belongs to the clipping;"
            " the first row is the printed setting, the others are drawn at random (seed 1)."
            " An empty accuracy: diverged.",
        ],
    )


def liew_figure_1b() -> Result:
    """Accuracy against epsilon under shuffled check-in."""
    return liew_result(_trained("liew-2023", every=50))


def liew_result(history: History) -> Result:
    """The figure from a run, finished or not."""
    from shuffledp.training.accounting import CheckInRounds

    account = history.trainer.account
    assert isinstance(account, CheckInRounds)
    spent = [account.after(row.release) for row in history.rows]
    claims = [f"{c.theorem} ({c.status.value}, {c.note.split(';')[0]})" for c in spent[-1].claims]
    names = ["leaked by a data set", *claims]
    rows: list[Row] = [
        (
            *(row.release, row.test_accuracy, each.epsilon, account.leaked(row.release).value),
            *(claim.value for claim in each.claims),
        )
        for row, each in zip(history.rows, spent, strict=True)
    ]

    def draw(axes: Any) -> None:
        accuracy = [row[1] for row in rows]
        for column, label in enumerate(["guaranteed if deployed", *names], start=2):
            axes.plot([row[column] for row in rows], accuracy, "o-", ms=2, label=label)
        axes.set(xscale="log", xlabel="epsilon at delta = 1/n", ylabel="test accuracy", ylim=(0, 1))

    return Result(
        ("rounds", "test accuracy", "epsilon if deployed", *names),
        rows,
        draw,
        [
            "Printed: about 80 % after 5,540 rounds. 60,000 clients, rate 0.1, clip 0.01, sigma 5;"
            " the network"
            " (3,946 parameters) and the learning rate (4) are ours, as the paper states neither.",
            f"{_SIMULATED}; here the noise of all reports of a round is one draw of their sum.",
        ],
    )
