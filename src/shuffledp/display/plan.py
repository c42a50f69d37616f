"""Plans for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shuffledp.collection.planning import Attack, Choice, Plan, Shape, Sometimes, Together
from shuffledp.collection.planning.plan import CURATOR, NOBODY
from shuffledp.display.palette import QUIET, TRUST
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.display.text import print_rows
from shuffledp.labels import counted, in_full, outward


def _title(plan: Plan) -> str:
    target, task = plan.target, plan.task
    said = [
        f"{task.name}: {counted(target.n, 'user')}",
        f"epsilon {in_full(target.epsilon)}",
        f"delta {in_full(target.delta)}",
        counted(target.rounds, "round"),
    ]
    if isinstance(task, Sometimes):
        said.append(f"check-in {in_full(task.rate)}")
    if target.colluders:
        said.append(f"{target.colluders:,} collude{'s' * (target.colluders == 1)}")
    if target.max_eps0 < math.inf:
        said.append(f"eps0 <= {in_full(target.max_eps0)}")
    return ", ".join(said)


def print_plan(plan: Plan, shapes: Sequence[Shape] = ()) -> None:
    """One row per choice; other shapes, if asked for, among them."""
    ranked = plan.ranked(shapes)
    best = ranked[0].error
    several = bool(shapes) or any(choice.messages > 1 for choice in plan.choices)

    def row(choice: Choice | Shape) -> list[object]:
        known = choice.achieved
        return [
            choice.name,
            choice.trust,
            *([f"{choice.messages:.5g}"] if several else []),
            None if choice.eps0 is None else f"{choice.eps0:.4g}",
            f"{choice.error:.3g}",
            f"{choice.error / best:.3g} x",
            None if known is None else outward(known.value, up=True, digits=4),
            None if known is None else f"{known.status.value} by {known.theorem}",
        ]

    sent = ["messages"] if several else []
    columns = ["randomizer", "trusts", *sent, "eps0", "error", "of the best", "delta", "label"]
    notes = [] if shapes else plan.advice
    notes += [f"error: expected (root mean square) of {plan.task.error}; each round"]
    notes += map(str, plan.limits)
    notes += [f"left out: {each}" for each in plan.left_out]
    if shapes:
        notes.append("messages: per user; no eps0: no local guarantee, the trusted see more")
    elif several:
        notes.append(
            "messages: per user, each shuffled by itself; nothing may link those of a user;"
            " eps0: of each message, delta: of all of them"
        )
    print_rows(
        _title(plan),
        columns,
        [row(choice) for choice in (*ranked, *plan.baselines)],
        notes,
        spare=["of the best", "delta", *(["label"] if shapes else [])],
        words=["trusts"],
    )


def print_together(found: Together, about: Sequence[str]) -> None:
    """A row for each question, then what all of them cost."""
    target, known = found.target, found.achieved

    def row(words: str, share: float, choice: Choice) -> list[object]:
        eps0 = None if choice.eps0 is None else f"{choice.eps0:.4g}"
        error = f"{choice.error:.3g}"
        return [words, choice.name, choice.messages, eps0, error, f"{100.0 * share:.0f} %"]

    parts = zip(about, found.shares, found.choices, strict=True)
    errors = dict.fromkeys(f"{each.task.name}: {each.task.error}" for each in found.wanted)
    print_rows(
        f"{counted(len(about), 'question')}: {counted(target.n, 'user')}, epsilon"
        f" {in_full(target.epsilon)}, delta {in_full(target.delta)} together,"
        f" {counted(target.rounds, 'round')}",
        ["question", "randomizer", "messages", "eps0", "error", "of the budget"],
        [row(*part) for part in parts],
        [
            f"delta of all: {outward(known.value, up=True, digits=4)}"
            f" ({known.status.value} by {known.theorem})",
            "every message is shuffled by itself; nothing may link those of a user",
            f"error: expected (root mean square), each round, of {'; of '.join(errors)}",
        ],
    )


def print_attacks(threats: Sequence[tuple[Choice | Shape, Sequence[Attack]]]) -> None:
    """What colluding and lying users could do, a row for each row of the plan."""
    shares = [f"{100.0 * attack.share:g} %" for attack in threats[0][1]]
    columns = ["randomizer", "epsilon", *(f"at {share}" for share in shares[1:])]
    columns += [f"lies of {shares[1]}", *(f"of {share}" for share in shares[2:])]
    print_rows(
        f"if {', '.join(shares[:-1])} or {shares[-1]} of the users collude, or lie",
        columns,
        [
            [
                _named(choice),
                *(_lost(attack) for attack in attacks),
                *("any" if attack.bias is None else f"{attack.bias:.3g}" for attack in attacks[1:]),
            ]
            for choice, attacks in threats
        ],
        [
            "epsilon: of all others if these tell the analyst what they sent;"
            " lies: how far they move an estimate at most, if they send what they like"
            " (any: unless somebody checks the range)"
        ],
    )


def _named(choice: Choice | Shape) -> str:
    return f"{choice.name} ({choice.trust})" if choice.trust in (NOBODY, CURATOR) else choice.name


def _lost(attack: Attack) -> str | None:
    return None if attack.epsilon is None else outward(attack.epsilon, up=True, digits=4)


def save_plan(plan: Plan, path: str | Path) -> None:
    """The errors to expect, for people who look."""
    figure, axes = new_figure(height=1.6 + 0.3 * len((*plan.choices, *plan.baselines)))
    draw_plan(plan, axes)
    save_figure(figure, path)


def draw_plan(plan: Plan, axes: Any) -> None:
    """A dot for each choice on a log axis, which has no zero for bars to begin at."""
    from matplotlib.ticker import NullFormatter

    shown = [*plan.choices, *plan.baselines]
    for place, choice in enumerate(shown):
        axes.plot(choice.error, place, "o", ms=7, color=TRUST[choice.trust])
        axes.annotate(
            f"{choice.error:.2g}",
            (choice.error, place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=QUIET,
        )
    names = [
        choice.name if choice.trust == "shuffler" else f"{choice.name}\n({choice.trust} trusted)"
        for choice in shown
    ]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.15, y=0.08)
    axes.set_xlabel(f"expected error of {plan.task.error}", fontsize=8)
    dress(axes, _title(plan))
