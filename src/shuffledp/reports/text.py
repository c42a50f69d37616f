"""Tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

from shuffledp.bounds import Theorem
from shuffledp.labels import Direction, Interval, Status, Value, in_full, outward
from shuffledp.protocols import Shuffled
from shuffledp.randomizers import LDP, CheckIn, Repeated, Subsampled

T = TypeVar("T")

_COLOURS = {
    "PROVEN": "green",
    "FIXED_PAIR": "cyan",
    "ASYMPTOTIC": "magenta",
    "HEURISTIC": "yellow",
    "REFUTED": "red",
}

LOSS = "privacy loss"
"""Heading of a direction: UPPER means no more is lost, also where the number bounds f from below."""

NAMES = {
    "epsilon": "epsilon",
    "delta": "delta",
    "renyi": "Rényi divergence",
    "tradeoff": "type II error",
}


def console() -> Console:
    """Results go to stdout; a file or pipe gets plain text wide enough not to wrap."""
    return Console() if sys.stdout.isatty() else Console(width=160, no_color=True)


def _status(value: Value) -> str:
    colour = _COLOURS[value.status.value]
    return f"[{colour}]{value.status.value}[/{colour}]"


def print_account(
    protocol: Shuffled, given: str, at: float, interval: Interval, seconds: float
) -> None:
    """The interval, its two ends and what they mean."""
    out = console()
    name = NAMES[interval.quantity]
    out.print(f"[bold]{protocol}[/bold]  (one user's value replaced; n public)")
    table = Table(title=f"{name} at {given} = {in_full(at)}", title_justify="left")
    for column in ("", "value", "status", "theorem", "meaning"):
        table.add_column(column, justify="right" if column == "value" else "left")
    guarantee = interval.guarantee
    other = interval.upper_end if guarantee is interval.lower_end else interval.lower_end
    table.add_row(
        "guaranteed",
        outward(guarantee.value, up=interval.quantity != "tradeoff"),
        _status(guarantee),
        guarantee.theorem,
        _meaning(protocol, guarantee),
    )
    table.add_row(
        "leaked",
        outward(other.value, up=interval.quantity == "tradeoff"),
        _status(other),
        other.theorem,
        "a concrete data set leaks this much",
    )
    out.print(table)
    out.print(f"{_apart(interval)}; computed in {seconds * 1e3:.0f} ms", highlight=False)


def _apart(interval: Interval) -> str:
    """How far the two ends are apart: in percent while that tells something."""
    if interval.gap < 0.5:
        return f"the two ends differ by {100.0 * interval.gap:.2g} %"
    if interval.lower <= 0.0:
        return "one end is 0"
    ratio = interval.upper / interval.lower
    if ratio < 1e7:
        shown = f"{ratio:.2g}" if ratio < 10.0 else f"{float(f'{ratio:.2g}'):,.0f}"
    else:
        shown = f"{ratio:.0e}"
    if interval.quantity == "tradeoff":
        return f"the leaking data set allows {shown} times the guaranteed type II error"
    return f"the guarantee is {shown} times the leak"


def _meaning(protocol: Shuffled, guarantee: Value) -> str:
    if guarantee.status is not Status.PROVEN:
        return guarantee.note
    if isinstance(protocol.randomizer, LDP):
        return "holds for every data set and every such randomizer"
    return "holds for every data set"


def print_comparison(
    protocol: Shuffled, quantity: str, values: list[Value], silent: Mapping[str, str]
) -> None:
    """Every bound as a row."""
    out = console()
    table = Table(title=f"{NAMES[quantity]}: {protocol}", title_justify="left")
    for column in ("theorem", "value", "status", LOSS, "note"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for value in values:
        up = (value.direction is Direction.LOWER) == (quantity == "tradeoff")
        shown = outward(value.value, up)
        table.add_row(value.theorem, shown, _status(value), value.direction.value, value.note)
    out.print(table)
    if silent:
        _print_silent(protocol, silent)


def _print_silent(protocol: Shuffled, silent: Mapping[str, str]) -> None:
    """The reasons of those that speak of such randomizers, and a count of the others."""
    kinds, inner = ["eps0 = inf", str(protocol.randomizer)], protocol.randomizer
    while isinstance(inner, Repeated | Subsampled | CheckIn):
        inner = inner.randomizer
        kinds.append(str(inner))
    out = Console(stderr=True)
    others = 0
    for theorem, reason in silent.items():
        if reason.endswith(tuple(f"Got {kind}." for kind in kinds)):
            others += 1
        else:
            out.print(
                f"silent here: {theorem}. {reason}", style="dim", markup=False, highlight=False
            )
    if others:
        out.print(f"{others} theorems speak of other randomizers or settings", style="dim")


def print_theorems(theorems: list[Theorem]) -> None:
    """The registry, one row each."""
    table = Table()
    for column in ("id", "status", "direction", "statement", "validity"):
        table.add_column(column)
    for theorem in theorems:
        colour = _COLOURS[theorem.status.value]
        table.add_row(
            theorem.id,
            f"[{colour}]{theorem.status.value}[/{colour}]",
            theorem.direction.value,
            theorem.statement,
            theorem.validity,
        )
    console().print(table)


def print_theorem(theorem: Theorem) -> None:
    """One theorem in full."""
    out = console()
    for label, text in (
        ("theorem", theorem.id),
        ("status", f"{theorem.status.value}, {theorem.direction.value}"),
        ("statement", theorem.statement),
        ("validity", theorem.validity),
        ("citation", theorem.citation),
        ("proof", f"docs/{theorem.proof}" if theorem.proof else ""),
        ("note", theorem.note),
    ):
        if text:
            out.print(f"{label:>10}  {text}", markup=False, highlight=False)
    if theorem.refutation is not None:
        case = theorem.refutation
        settings = ", ".join(f"{name} = {value:g}" for name, value in case.parameters.items())
        heading = "refuted by" if theorem.status is Status.REFUTED else "too small"
        out.print(f"{heading:>10}  {case.dataset}", markup=False, highlight=False)
        out.print(
            f"{'':>10}  {settings}: claimed {case.claimed:g}, leaked {case.leaked:g}",
            markup=False,
            highlight=False,
        )


def print_rows(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    remarks: Iterable[str] = (),
) -> None:
    """A table, then remarks."""
    out = console()
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")  # a number cut short is another number
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    out.print(table)
    for remark in remarks:  # in one line, to be found by other programs
        out.print(remark, markup=False, highlight=False, soft_wrap=True)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def progress(items: Iterable[str], description: str) -> Iterator[str]:
    """A progress bar over a list, as ``tracked``."""
    listed = list(items)
    yield from tracked(listed, description, len(listed))


def tracked(items: Iterable[T], description: str, total: int) -> Iterator[T]:
    """A progress bar on stderr, silent when that is not a terminal."""
    bar = Console(stderr=True)
    yield from track(
        items, description, total, console=bar, transient=True, disable=not bar.is_terminal
    )
