"""Plans for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shuffledp.collection.planning import Attack, Choice, Plan, Shape
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import print_rows
from shuffledp.labels import in_full


def _title(plan: Plan) -> str:
    target = plan.target
    return (
        f"{plan.task.name}: {target.n:,} user{'s' if target.n > 1 else ''},"
        f" epsilon {in_full(target.epsilon)}, delta {in_full(target.delta)},"
        f" {target.rounds:,} round{'s' if target.rounds > 1 else ''}"
    )


def print_plan(plan: Plan, shapes: Sequence[Shape] = ()) -> None:
    """One row per choice; other shapes, if asked for, among them."""
    ranked: list[Choice | Shape] = [*plan.choices, *shapes]
    ranked.sort(key=lambda choice: choice.error)
    best = ranked[0].error

    def row(choice: Choice | Shape) -> list[object]:
        known = choice.achieved
        return [
            choice.name,
            choice.trust,
            *([choice.messages if isinstance(choice, Shape) else 1.0] if shapes else []),
            choice.eps0,
            choice.error,
            f"{choice.error / best:.3g} x",
            None if known is None else known.value,
            None if known is None else f"{known.status.value} by {known.theorem}",
        ]

    sent = ["messages"] if shapes else []
    columns = ["randomizer", "trusts", *sent, "eps0", "error", "of the best", "delta", "label"]
    notes = [] if shapes else plan.advice
    notes += [f"error: expected (root mean square) of {plan.task.error}; each round"]
    if shapes:
        notes.append("messages: per user; no eps0: no local guarantee, the trusted see more")
    print_rows(
        _title(plan),
        columns,
        [row(choice) for choice in (*ranked, *plan.baselines)],
        notes,
        spare=["of the best", "delta"],
    )


def print_attacks(name: str, attacks: Sequence[Attack]) -> None:
    """What colluding and lying users could do to the best choice."""
    print_rows(
        f"{name}: if some of the users collude with the analyst, or lie",
        ["of the users", "epsilon of the others", "lies move an estimate by at most"],
        [
            [
                f"{100.0 * attack.share:g} %",
                "nothing is proven" if attack.epsilon is None else attack.epsilon,
                "no bound known" if attack.bias is None else attack.bias,
            ]
            for attack in attacks
        ],
        [],
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
