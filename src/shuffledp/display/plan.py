"""Plans for people."""

from __future__ import annotations

from pathlib import Path

from shuffledp.collection.planning import Choice, Plan
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import print_rows
from shuffledp.labels import in_full


def _title(plan: Plan) -> str:
    target = plan.target
    return (
        f"{plan.task.name}: {target.n:,} users, epsilon {in_full(target.epsilon)},"
        f" delta {in_full(target.delta)},"
        f" {target.rounds:,} round{'s' if target.rounds > 1 else ''}"
    )


def print_plan(plan: Plan) -> None:
    """One row per choice."""
    best = plan.best.error

    def row(choice: Choice) -> list[object]:
        known = choice.achieved
        return [
            choice.name,
            choice.trust,
            choice.eps0,
            choice.error,
            f"{choice.error / best:.3g} x",
            None if known is None else known.value,
            None if known is None else f"{known.status.value} by {known.theorem}",
        ]

    columns = ["randomizer", "trusts", "eps0", "error", "of the best", "delta", "label"]
    print_rows(
        _title(plan),
        columns,
        [row(choice) for choice in (*plan.choices, *plan.baselines)],
        [f"error: expected (root mean square) of {plan.task.error}; each round"],
    )


def save_plan(plan: Plan, path: str | Path) -> None:
    """Errors as bars."""
    figure, axes = new_figure()
    shown = [*plan.choices, *plan.baselines]
    colours = {"shuffler": "#1a7f4b", "nobody": "#c98a00", "curator": "#1f6fb4"}
    names = [
        choice.name if choice.trust == "shuffler" else f"{choice.name} ({choice.trust} trusted)"
        for choice in shown
    ]
    axes.barh(names, [c.error for c in shown], color=[colours[c.trust] for c in shown])
    axes.invert_yaxis()
    axes.set(
        xscale="log",
        xlabel=f"expected error of {plan.task.error}",
    )
    axes.xaxis.label.set_fontsize(8)
    dress(axes, _title(plan))
    save_figure(figure, path)
