"""What every benchmark shares: how a question is timed, and how figures are shown.

Nothing is asked twice: answers are remembered by the library, and a benchmark that repeats a question
times its memory. ``warm`` asks distinct questions in this process, ``cold`` one in a fresh one.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

_QUICKEST = 2e-3
"""A question much quicker than that is asked in series."""


@dataclass(frozen=True)
class Figure:
    """How long one thing takes, perhaps beside another way to do it."""

    what: str
    size: float | None
    seconds: float
    beside: str = ""
    theirs: float | None = None
    """Seconds the other way takes."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times longer the other way takes."""
        return None if self.theirs is None else self.theirs / self.seconds


def warm(ask: Callable[[int], object], questions: int = 5) -> float:
    """CPU seconds of one question: the median over distinct ones, ask(1), ask(2), ...; ask(0) warms up."""
    ask(0)
    times = []
    for i in range(1, questions + 1):
        start = time.process_time()
        ask(i)
        times.append(time.process_time() - start)
    middle = sorted(times)[questions // 2]
    if middle >= _QUICKEST:
        return middle
    start = time.process_time()  # too quick for the clock: many distinct questions together
    count = 200
    for i in range(questions + 1, questions + 1 + count):
        ask(i)
    return (time.process_time() - start) / count


def cold(statement: str, repetitions: int = 3) -> float:
    """CPU seconds of a statement in a fresh process, imports before it left out; the median."""
    program = (
        "import time, warnings; from shuffledp import *; start = time.process_time();"
        f"{statement}; print(time.process_time() - start)"
    )
    times = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        )
        for _ in range(repetitions)
    ]
    return sorted(times)[repetitions // 2]


def publish(title: str, figures: Sequence[Figure]) -> None:
    """A table for people; as JSON on standard output if that was asked for."""
    print(text(title, figures), file=sys.stderr)
    if "--json" in sys.argv:
        print(json.dumps({"title": title, "figures": [asdict(each) for each in figures]}, indent=2))


def text(title: str, figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = [
        f"## {title}",
        "",
        "| what | size | time | beside | ratio | |",
        "| --- | ---: | ---: | --- | ---: | --- |",
    ]
    for each in figures:
        size = "" if each.size is None else f"{each.size:,.0f}"
        ratio = "" if each.ratio is None else f"{significant(each.ratio)} ×"
        lines.append(
            f"| {each.what} | {size} | {duration(each.seconds)} | {each.beside} | {ratio} | {each.note} |"
        )
    return "\n".join([*lines, ""])


def duration(seconds: float) -> str:
    """Two significant digits in a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds * 1e9)} ns"


def significant(x: float) -> str:
    """Two significant digits without an exponent."""
    digits = max(0, 1 - math.floor(math.log10(x))) if x > 0.0 else 0
    return f"{round(x, 1 - math.floor(math.log10(x))) if x >= 100.0 else x:,.{digits}f}"
