"""Liew, Takahashi 2023, Figure 1b: training under shuffled check-in on MNIST; simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shuffledp.accounting.randomizers import CheckIn, Gaussian
from shuffledp.research.reproduce.liew2023_baselines import baseline, generic
from shuffledp.research.reproduce.result import Result, Row
from shuffledp.research.reproduce.trained import SIMULATED, draw_runs, trained

if TYPE_CHECKING:
    from shuffledp.training import History

_SUMMED = f"{SIMULATED}; here the noise of all reports of a round is one draw of their sum."
BASELINES: dict[str, Callable[[CheckIn, int, int, float], float]] = {
    "Baseline (PROVEN, sensitivity 1)": baseline,
    "generic bound (PROVEN, sensitivity 1)": generic,
}
_ROUNDS = 400
AROUND = ((5.0, 0.1), (2.5, 0.1), (10.0, 0.1), (5.0, 0.05), (5.0, 0.2))
"""sigma and rate: the paper's, and half and twice each of them."""


def liew_figure_1b() -> Result:
    """Accuracy against epsilon under shuffled check-in."""
    return liew_result(trained("liew-2023", every=50))


def liew_result(history: History) -> Result:
    """The figure from a run, finished or not."""
    from shuffledp.training.accounting import CheckInRounds

    account = history.trainer.account
    assert isinstance(account, CheckInRounds)
    spent = [account.after(row.release) for row in history.rows]
    claims = [f"{c.theorem} ({c.status.value}, {c.note.split(';')[0]})" for c in spent[-1].claims]
    names = ["leaked by a data set", *claims, *BASELINES]
    report = CheckIn(Gaussian(account.sigma, 1.0, ball=True), account.rate)
    rows: list[Row] = [
        (
            *(row.release, row.test_accuracy, each.epsilon, account.leaked(row.release).value),
            *(claim.value for claim in each.claims),
            *(
                method(report, account.clients, row.release, account.delta)
                for method in BASELINES.values()
            ),
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
            _SUMMED,
            "Baseline and generic bound are the two methods of the paper's reference [39] as the"
            " paper describes them, with the proven bound gaussian-approximate for a round;"
            " [39] itself was not compared.",
        ],
    )


def liew_around() -> Result:
    """Accuracy against proven epsilon for noise levels and rates around the paper's."""
    runs = {
        (sigma, rate): trained("liew-2023", every=100, sigma=sigma, rate=rate, rounds=_ROUNDS)
        for sigma, rate in AROUND
    }
    rows: list[Row] = [
        (sigma, rate, row.release, row.test_accuracy, row.epsilon)
        for (sigma, rate), history in runs.items()
        for row in history.rows
    ]

    def draw(axes: Any) -> None:
        draw_runs(axes, {f"sigma {s:g}, rate {r:g}": history for (s, r), history in runs.items()})
        axes.set(xscale="log", ylim=(0, 1))

    return Result(
        ("sigma", "rate", "rounds", "test accuracy", "epsilon if deployed"),
        rows,
        draw,
        [
            f"The network, clipping and step of liew-2023-figure-1b-accuracy, {_ROUNDS:,} rounds;"
            " sigma and rate are the paper's (first), and half and twice each.",
            _SUMMED,
        ],
    )
