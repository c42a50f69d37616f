"""Wang, Su, Ye, Shokri, Su 2023: Tables 1 and 2, Figure 1 (eps0 = 4.444, n = 10,000)."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.errors import RegimeError
from shuffledp.protocols import Shuffled
from shuffledp.randomizers import LDP
from shuffledp.reproduce.result import Result, Row, relative

_N = 10_000
_EPS0 = 4.444

_TABLE_1: list[tuple[float, float | None, float]] = [
    # epsilon, printed delta of Feldman et al. 2023 (where legible), printed delta of Corollary 4.3
    (0.5, None, 3e-6),
    (0.6, None, 1e-7),
    (0.7, 0.1038, 4e-9),
    (0.8, None, 9e-11),
    (0.9, 0.0018, 2e-12),
    (1.0, 8e-5, 2e-14),
]

_TABLE_2: list[tuple[float, float, float | None, float]] = [
    # delta, printed epsilon of Corollary 4.3, of Feldman et al. 2023, printed lower bound
    (5e-5, 0.4, 1.014, 0.369),
    (3e-6, 0.5, 1.085, 0.470),
    (1e-7, 0.6, None, 0.575),
    (4e-9, 0.7, None, 0.664),
    (9e-11, 0.8, None, 0.758),
]


def table_1() -> Result:
    """delta at given epsilon: Corollary 4.3 against the closed form of Feldman et al. 2023."""
    protocol = Shuffled(LDP(_EPS0), _N)
    rows: list[Row] = []
    for epsilon, printed_closed, printed in _TABLE_1:
        ours = protocol.bound("wang-2023", epsilon=epsilon).value
        closed = protocol.bound("feldman-2023-closed", epsilon=epsilon).value
        exact = protocol.delta(epsilon)
        rows.append(
            (
                epsilon,
                printed_closed,
                closed,
                printed,
                ours,
                relative(ours, printed),
                exact.upper,
                exact.lower,
            )
        )

    def draw(axes: Any) -> None:
        at = [row[0] for row in rows]
        axes.plot(at, [row[2] for row in rows], "o-", label="Feldman et al. 2023, closed form")
        axes.plot(at, [row[4] for row in rows], "s-", label="Corollary 4.3")
        axes.plot(at, [row[6] for row in rows], "^-", label="exact pair (PROVEN)")
        axes.plot(at, [row[7] for row in rows], "v--", label="leaked by a data set")
        axes.set(yscale="log", xlabel="epsilon", ylabel="delta")

    return Result(
        (
            "epsilon",
            "2023 printed",
            "2023 ours",
            "4.3 printed",
            "4.3 ours",
            "difference",
            "exact",
            "leaked",
        ),
        rows,
        draw,
        ["The printed row is rounded to one digit; Corollary 4.3 is always above the exact pair."],
    )


def table_2() -> Result:
    """epsilon at given delta, with upper and lower bounds."""
    protocol = Shuffled(LDP(_EPS0), _N)
    rows: list[Row] = []
    for delta, printed, printed_closed, printed_lower in _TABLE_2:
        ours = protocol.bound("wang-2023", delta=delta).value
        try:
            closed: float | None = protocol.bound("feldman-2023-closed", delta=delta).value
        except RegimeError:
            closed = None
        exact = protocol.epsilon(delta)
        rows.append(
            (
                delta,
                printed,
                ours,
                relative(ours, printed),
                printed_closed,
                closed,
                exact.upper,
                printed_lower,
                exact.lower,
            )
        )

    def draw(axes: Any) -> None:
        at = [row[0] for row in rows]
        axes.plot(at, [row[2] for row in rows], "s-", label="Corollary 4.3")
        axes.plot(at, [row[6] for row in rows], "^-", label="exact pair (PROVEN)")
        axes.plot(at, [row[7] for row in rows], "x:", label="printed lower bound")
        axes.plot(at, [row[8] for row in rows], "v--", label="leaked by 3-RR (ours)")
        axes.set(xscale="log", xlabel="delta", ylabel="epsilon")

    return Result(
        (
            "delta",
            "4.3 printed",
            "4.3 ours",
            "difference",
            "2023 printed",
            "2023 ours",
            "exact",
            "lower printed",
            "lower ours",
        ),
        rows,
        draw,
        ["Ours raises the lower bound: 3-RR with all others on the third symbol is nearly tight."],
    )


def figure_1() -> Result:
    """Trade-off functions of Theorem 4.2 against (epsilon, delta)-DP at delta = n^-1.5."""
    delta = _N**-1.5
    alphas = [k / 20.0 for k in range(21)]
    rows: list[Row] = []
    for eps0 in (2.0, 3.0, _EPS0):
        protocol = Shuffled(LDP(eps0), _N)
        theorem = protocol.curve("wang-2023")
        exact = protocol.curve("stronger-clones")
        epsilon = protocol.bound("feldman-2023-closed", delta=delta).value
        e = math.exp(epsilon)
        for alpha in alphas:
            published = max(0.0, 1.0 - delta - e * alpha, (1.0 - delta - alpha) / e)
            rows.append((eps0, alpha, published, theorem.tradeoff(alpha), exact.tradeoff(alpha)))

    def draw(axes: Any) -> None:
        for eps0, colour in ((2.0, "C0"), (3.0, "C1"), (_EPS0, "C2")):
            chosen = [row for row in rows if row[0] == eps0]
            at = [row[1] for row in chosen]
            axes.plot(at, [row[3] for row in chosen], colour, label=f"Theorem 4.2, eps0 = {eps0:g}")
            axes.plot(at, [row[2] for row in chosen], colour + "--", label="(eps, delta) of 2023")
        axes.plot([0, 1], [1, 0], "k:", label="perfect privacy")
        axes.set(xlabel="type I error", ylabel="type II error")

    return Result(
        ("eps0", "alpha", "(eps,delta) 2023", "Theorem 4.2", "exact pair"),
        rows,
        draw,
        ["No closed form holds beyond eps0 = 4.444; the exact pair has no such limit."],
    )
