"""Chen, Cao, Ge 2024: Table 1, Figures 2 and 3, composition (n = 10,000), both versions of the paper."""

from __future__ import annotations

import math
from typing import Any

from shuffledp.errors import RegimeError
from shuffledp.protocols import Rounds, Shuffled
from shuffledp.randomizers import LDP
from shuffledp.reproduce.result import Result, Row

_N = 10_000

_CURVES = {
    "erlingsson-2019-rdp": "Erlingsson et al. 2019",
    "girgis-2021-simple": "Girgis et al. 2021, upper (eq. 8)",
    "girgis-2021-full": "Girgis et al. 2021, Theorem 1",
    "feldman-2023-rdp-quoted": "Feldman et al. 2023, as quoted",
    "chen-2024-gdp": "asymptotic (Corollary 2; REFUTED)",
    "chen-2024-exact": "exact, weight exp(-eps0)",
    "chen-2024-exact-stronger": "exact, weight 2/(exp(eps0)+1)",
    "dataset-3rr": "leaked by 3-RR (ours)",
    "girgis-2021-lower": "Girgis et al. 2021, lower (eq. 9)",
}


def _value(protocol: Shuffled, theorem: str, order: float) -> float | None:
    try:
        return protocol.bound(theorem, order=order).value
    except RegimeError:
        return None


def _figure(label: str, points: list[tuple[float, float, float]], remarks: list[str]) -> Result:
    """``points``: (abscissa, eps0, order)."""
    rows: list[Row] = []
    for x, eps0, order in points:
        protocol = Shuffled(LDP(eps0), _N)
        rows.append((x, *(_value(protocol, theorem, order) for theorem in _CURVES)))

    def draw(axes: Any) -> None:
        for column, name in enumerate(_CURVES.values(), start=1):
            drawn = [(row[0], row[column]) for row in rows if row[column] is not None]
            style = "--" if "lower" in name or "leaked" in name else "-"
            axes.plot([x for x, _ in drawn], [y for _, y in drawn], style, label=name)
        axes.set(yscale="log", xlabel=label, ylabel="Rényi divergence")

    return Result((label, *_CURVES), rows, draw, remarks)


def figure_2() -> Result:
    """Rényi divergence of order 4 over eps0."""
    points = [
        (eps0, eps0, 4.0) for eps0 in (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
    ]
    return _figure(
        "eps0",
        points,
        [
            "The asymptotic curve does not vanish as eps0 falls and is below a real data set's"
            " leak for large eps0 (shuffledp theorems chen-2024-gdp)."
        ],
    )


def figure_3() -> Result:
    """Rényi divergence over the order at eps0 = 2."""
    points = [(order, 2.0, order) for order in (2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)]
    return _figure("order", points, [])


def table_1() -> Result:
    """The rates of Table 1 with their constants, at order 4 and three eps0."""
    formulas = [
        ("Erlingsson et al. 2019", "2 order E^4 (E-1)^2 / n", "erlingsson-2019-rdp"),
        ("Girgis et al. 2021, upper", "eq. (8)", "girgis-2021-simple"),
        ("Feldman et al. 2023, as quoted", "64 E order / n", "feldman-2023-rdp-quoted"),
        ("This work (Corollary 2)", "2 E order / (n-1)", "chen-2024-gdp"),
        ("Girgis et al. 2021, lower", "eq. (9)", "girgis-2021-lower"),
        ("exact pair, ours", "weight 2/(E+1)", "stronger-clones"),
    ]
    budgets = (0.5, 1.0, 2.0)
    rows: list[Row] = [
        (name, formula, *(_value(Shuffled(LDP(eps0), _N), theorem, 4.0) for eps0 in budgets))
        for name, formula, theorem in formulas
    ]

    def draw(axes: Any) -> None:
        for row in rows:
            axes.plot(budgets, [math.nan if v is None else v for v in row[2:]], "o-", label=row[0])
        axes.set(yscale="log", xlabel="eps0", ylabel="Rényi divergence of order 4")

    return Result(
        ("method", "formula", *(f"eps0 = {eps0:g}" for eps0 in budgets)),
        rows,
        draw,
        ["E = exp(eps0), n = 10,000, order 4; the paper prints rates only."],
    )


def composition() -> Result:
    """epsilon at delta = 1e-5 over rounds: the papers' sum of mu^2 beside every other route."""
    routes = {
        "composition-gdp": "the papers: mu^2 adds up (REFUTED)",
        "composition-strong": "strong composition (PROVEN)",
        "composition-rdp": "Rényi (PROVEN)",
        "composition": "losses (PROVEN)",
        "composition-dataset": "leaked",
    }
    rows: list[Row] = []
    for eps0 in (0.5, 2.0, 5.0, 7.0):
        for rounds in (2, 10, 50, 100, 1000):
            together = Rounds([(Shuffled(LDP(eps0), _N), rounds)])
            values = [together.bound(theorem, delta=1e-5).value for theorem in routes]
            verdict = "below the leak" if values[0] < values[-1] else ""
            rows.append((eps0, rounds, *values, verdict))

    def draw(axes: Any) -> None:
        shown = [row for row in rows if row[0] == 2.0]
        for column, name in enumerate(routes.values(), start=2):
            style = "--" if name == "leaked" else "o-"
            axes.plot([row[1] for row in shown], [row[column] for row in shown], style, label=name)
        axes.set(
            xscale="log", yscale="log", xlabel="rounds, eps0 = 2", ylabel="epsilon at delta = 1e-5"
        )

    return Result(
        ("eps0", "rounds", *routes, "verdict"),
        rows,
        draw,
        ["n = 10,000. The papers print the proposition, no values for it."],
    )
