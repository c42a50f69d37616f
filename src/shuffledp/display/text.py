"""Tables on a terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.progress import track
from rich.table import Table
from rich.text import Text

from shuffledp.accounting.bounds import Theorem
from shuffledp.accounting.protocols import Counted, RandomAllocation, Rounds, Shuffled
from shuffledp.accounting.randomizers import LDP, CheckIn, Repeated, Subsampled
from shuffledp.display.sentences import say
from shuffledp.labels import Direction, Interval, Status, Value, in_full, outward

T = TypeVar("T")

_COLOURS = {
    "PROVEN": "green",
    "FIXED_PAIR": "cyan",
    "ASYMPTOTIC": "magenta",
    "HEURISTIC": "yellow",
    "REFUTED": "red",
}

LOSS = "privacy loss"
"""Heading of a direction: UPPER means no more is lost,
also where the number bounds f from below."""

NAMES = {
    "epsilon": "epsilon",
    "delta": "delta",
    "renyi": "Rényi divergence",
    "tradeoff": "type II error",
}


def console(*, stderr: bool = False) -> Console:
    """Results go to stdout; a file or pipe gets plain text wide enough not to wrap.

    Words are shown as they are: names of values, columns and cohorts may look like markup.
    """
    wide = not (stderr or sys.stdout.isatty())
    return Console(
        stderr=stderr,
        width=160 if wide else None,
        no_color=True if wide else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _status(status: Status) -> Text:
    return Text(status.value, style=_COLOURS[status.value])


_NARROWEST, _WIDEST = 16, 10_000
"""Of a column of words; of any table."""


def print_table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    words: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Numbers to the right, and like ids never broken; columns of ``words`` are.

    Where they do not all fit, headings are broken, then columns of ``spare`` go, the first one
    first. Only where that is not enough, everything is.
    """
    out = console()
    kept = list(range(len(columns)))
    going = [columns.index(name) for name in spare if name in columns]

    def build(broken: bool) -> Table:
        return _table(title, columns, rows, kept, words, broken)

    left_out = []
    while not _fits(out, build(broken=True)) and going:
        kept.remove(at := going.pop(0))
        if any(str(row[at]).strip(" -") for row in rows):
            left_out.append(columns[at])
    everywhere = _table(title, columns, rows, kept, columns, broken=True, narrowest=1)
    tables = (build(broken=False), build(broken=True), everywhere)
    out.print(next(filter(partial(_fits, out), tables), everywhere))
    if left_out:
        say(f"left out for want of room: {', '.join(left_out)} (see --json)", err=True)


def _table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    kept: Sequence[int],
    words: Sequence[str],
    broken: bool,
    narrowest: int = _NARROWEST,
) -> Table:
    """Of the columns kept; with headings broken at spaces, no wider than what is below them."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for at in kept:
        cells = [str(row[at]) for row in rows]
        longest = max(map(cell_len, cells), default=0)
        heading = columns[at]
        if broken:
            longest_word = max(map(cell_len, heading.split()), default=0)
            heading = textwrap.fill(heading, max(longest, longest_word, 1))
        longest = max(longest, *map(cell_len, heading.splitlines() or [""]))
        wraps = columns[at] in words
        table.add_column(
            heading,
            justify="right" if cells and all(map(_is_number, cells)) else "left",
            no_wrap=not wraps,
            min_width=min(longest, narrowest) if wraps else longest,
            overflow="fold",  # a number cut short is another number
        )
    for row in rows:
        table.add_row(*(row[at] for at in kept))
    return table


def _fits(out: Console, table: Table) -> bool:
    free = out.options.update(max_width=_WIDEST)
    return Measurement.get(out, free, table).minimum <= out.width


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").removesuffix(" x").removesuffix(" %"))
    except ValueError:
        return text in ("-", "")
    return True


def print_heading(protocol: object, public: str) -> None:
    """What was asked about, and what neighbouring data sets are."""
    changed = "" if isinstance(protocol, Counted | Rounds) else "one user's value replaced; "
    about = f"{changed}{public}"
    console().print(Text.assemble((f"{protocol}", "bold"), f"  ({about})" if about else ""))


def print_account(
    protocol: Shuffled | Counted | Rounds, given: str, at: float, interval: Interval, seconds: float
) -> None:
    """The interval, its two ends and what they mean."""
    out = console()
    name = NAMES[interval.quantity]
    print_heading(protocol, _public(protocol))
    guarantee = interval.guarantee
    other = interval.upper_end if guarantee is interval.lower_end else interval.lower_end
    tradeoff = interval.quantity == "tradeoff"
    ends = (
        ("guaranteed", guarantee, not tradeoff, _meaning(protocol, guarantee)),
        ("leaked", other, tradeoff, "a concrete data set leaks this much"),
    )
    print_table(
        f"{name} at {given} = {in_full(at)}",
        ("", "value", "status", "theorem", "meaning"),
        [
            (end, outward(value.value, up=up), _status(value.status), value.theorem, meaning)
            for end, value, up, meaning in ends
        ],
        words=["meaning"],
    )
    out.print(f"{_apart(interval)}; computed in {seconds * 1e3:.0f} ms")


def _public(protocol: Shuffled | Counted | Rounds) -> str:
    """Whether the number of users is known to all: not if it differs between neighbours."""
    entries = (
        [entry for entry, _ in protocol.entries] if isinstance(protocol, Rounds) else [protocol]
    )
    secret = any(isinstance(entry, RandomAllocation) for entry in entries)
    return "" if secret else "n public"


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


def _meaning(protocol: Shuffled | Counted | Rounds, guarantee: Value) -> str:
    if guarantee.status is not Status.PROVEN:
        return guarantee.note
    generic = isinstance(protocol, Shuffled) and isinstance(protocol.randomizer, LDP)
    held = "holds for every data set" + (" and every such randomizer" if generic else "")
    return f"{held}; {guarantee.note}" if guarantee.note else held


def print_comparison(
    protocol: Shuffled, quantity: str, values: list[Value], silent: Mapping[str, str]
) -> None:
    """Every bound as a row."""
    rows = [
        (
            value.theorem,
            outward(value.value, (value.direction is Direction.LOWER) == (quantity == "tradeoff")),
            _status(value.status),
            value.direction.value,
            value.note,
        )
        for value in values
    ]
    columns = ("theorem", "value", "status", LOSS, "note")
    print_table(
        f"{NAMES[quantity]}: {protocol}", columns, rows, words=["note"], spare=["note", LOSS]
    )
    if silent:
        _print_silent(protocol, silent)


def _print_silent(protocol: Shuffled, silent: Mapping[str, str]) -> None:
    """Why theorems that apply to such randomizers give no answer, and how many do not apply."""
    kinds, inner = ["eps0 = inf", str(protocol.randomizer)], protocol.randomizer
    while isinstance(inner, Repeated | Subsampled | CheckIn):
        inner = inner.randomizer
        kinds.append(str(inner))
    others = 0
    for theorem, reason in silent.items():
        if reason.endswith(tuple(f"Got {kind}." for kind in kinds)):
            others += 1
        else:
            reason = reason.removeprefix(f"Theorem '{theorem}' ")
            say(f"no answer from {theorem}: {reason}", err=True)
    if others:
        speak = "theorem speaks" if others == 1 else "theorems speak"
        say(f"{others} {speak} of other randomizers or settings", err=True)


def print_theorems(theorems: list[Theorem]) -> None:
    """The registry, one row each."""
    print_table(
        None,
        ("id", "status", "direction", "statement", "validity"),
        [
            (each.id, _status(each.status), each.direction.value, each.statement, each.validity)
            for each in theorems
        ],
        words=["statement", "validity"],
        spare=["validity", "direction"],
    )


def print_theorem(theorem: Theorem) -> None:
    """One theorem in full."""
    lines = [
        ("theorem", theorem.id),
        ("status", f"{theorem.status.value}, {theorem.direction.value}"),
        ("statement", theorem.statement),
        ("validity", theorem.validity),
        ("citation", theorem.citation),
        ("proof", f"docs/{theorem.proof}" if theorem.proof else ""),
        ("note", theorem.note),
    ]
    if theorem.refutation is not None:
        case = theorem.refutation
        settings = ", ".join(f"{name} = {value:g}" for name, value in case.parameters.items())
        heading = "refuted by" if theorem.status is Status.REFUTED else "too small"
        lines.append((heading, case.dataset))
        lines.append(("", f"{settings}: claimed {case.claimed:g}, leaked {case.leaked:g}"))
    for label, text in lines:
        if text:
            say(f"{label:>10}  {text}", indent=12)


def print_rows(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    remarks: Iterable[str] = (),
    spare: Sequence[str] = (),
    words: Sequence[str] = (),
) -> None:
    """A table, then remarks; columns of ``spare`` where there is room."""
    listed, kept = list(rows), [i for i, name in enumerate(columns) if name not in spare]
    for digits in (6, 4):
        cells = [[_cell(value, digits) for value in row] for row in listed]
        if _fits(console(), _table(None, columns, cells, kept, words, broken=True)):
            break
    print_table(printable(title), columns, cells, spare=spare, words=words)
    for remark in remarks:  # in one line where another program reads
        say(printable(remark))


def _cell(value: object, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if isinstance(value, float) else printable(str(value))


def printable(text: str) -> str:
    """With what a terminal would act upon, or break a table at, written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def progress(items: Iterable[str], description: str) -> Iterator[str]:
    """A progress bar over a list, as ``tracked``."""
    listed = list(items)
    yield from tracked(listed, description, len(listed))


def tracked(items: Iterable[T], description: str, total: int) -> Iterator[T]:
    """A progress bar on stderr, silent when that is not a terminal."""
    bar = console(stderr=True)
    yield from track(
        items, description, total, console=bar, transient=True, disable=not bar.is_terminal
    )
