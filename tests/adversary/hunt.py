"""The adversary at work: draw, judge, shrink what fails, say how to repeat it."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.adversary import shapes
from tests.adversary.deployments import Case, Spec, draw, question
from tests.adversary.judge import Fault, TooLarge, judge, judge_budget, judge_theorems
from tests.adversary.relations import judge_band, judge_relation, relation, shaped_relation

Judge = Callable[[Any], Fault | None]


class TooSlow(BaseException):
    """A case ran out of time; no fault of the library, so nothing there may catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so many seconds of the processor, so that a busy machine draws the same cases."""

    def ring(_number: int, _frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


SHAPED = 0.3
"""Share of deployments whose analyst sees numbers."""
_OTHERS: list[tuple[float, Judge]] = [
    (0.04, judge_theorems),
    (0.09, judge_band),
    (0.12, judge_budget),
]
"""Shares of the questions to one protocol, added up."""


def chosen(rng: random.Random, patience: float) -> tuple[object, Judge]:
    """A case and how to judge it."""
    if rng.random() < 0.05 + 0.15 * patience:
        draw_two = shaped_relation if rng.random() < SHAPED else relation
        return draw_two(rng, patience), judge_relation
    if rng.random() < SHAPED:
        deployment = shapes.rounds(rng) if rng.random() < 0.15 else shapes.shape(rng, patience)
    else:
        deployment = draw(rng, patience)
    any_kind = 0.0 if shapes.endless(deployment) else patience
    case = Case(deployment, *question(rng, deployment, any_kind))
    kind = rng.random()
    if deployment.name in shapes.COUNTED:
        return case, next((each for share, each in _OTHERS[:2] if kind < share), judge)
    if deployment.name == "Shuffled":
        return case, next((each for share, each in _OTHERS if kind < share), judge)
    return case, judge


def hunt(
    seed: int,
    cases: int | None = None,
    seconds: float = 1e9,
    patience: float = 0.2,
    per_case: float = 20.0,
    report: Callable[[str], None] = lambda line: None,
) -> tuple[list[Fault], Counter[str]]:
    """Faults found, and how many cases went which way."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    alike: Counter[str] = Counter()
    faults: list[Fault] = []
    tally: Counter[str] = Counter()
    while time.monotonic() < end and (cases is None or tally["judged"] < cases):
        case, judgement = chosen(random.Random(rng.random()), patience)
        try:
            with limited(per_case):
                fault = judgement(case)
        except TooLarge:
            tally["too large"] += 1
            continue
        except TooSlow:
            tally["too slow"] += 1
            report(f"too slow: {case}")
            continue
        tally["judged"] += 1
        if fault is not None:
            alike[fault.signature] += 1
            faults.append(fault if alike[fault.signature] > 3 else shrunk(fault, judgement))
            if alike[fault.signature] <= 3:
                report(str(faults[-1]))
        if tally["judged"] % 500 == 0:
            report(f"{tally['judged']} judged, {len(faults)} faults")
    return faults, tally


def shrunk(fault: Fault, judgement: Judge, tries: int = 60) -> Fault:
    """The same kind of fault in a smaller case, by simple means."""
    if not isinstance(fault.case, Case):
        return fault
    again = True
    while again and tries > 0:
        again = False
        for smaller in _smaller(fault.case):
            tries -= 1
            if tries < 0:
                break
            try:
                with limited(5.0):
                    found = judgement(smaller)
            except (TooLarge, TooSlow):
                continue
            if found is not None and found.kind == fault.kind:
                fault, again = found, True
                break
    return fault


def _smaller(case: Case) -> Iterator[Case]:
    for deployment in _simpler(case.deployment):
        yield Case(deployment, case.given, case.value)
    for value in _rounder(case.value):
        yield Case(case.deployment, case.given, value)


def _simpler(value: Any) -> Iterator[Any]:
    """Trees with one thing less, or one number simpler."""
    if isinstance(value, Spec):
        inner = value.get("randomizer")
        if isinstance(inner, Spec) and value.name != "Shuffled":
            yield inner
        for key, inside in value.given:
            for simpler in _simpler(inside):
                yield value.but(**{key: simpler})
    elif isinstance(value, tuple):
        if len(value) > 1 and not isinstance(value[0], tuple | Spec):
            yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
        for i, inside in enumerate(value):
            for simpler in _simpler(inside):
                yield (*value[:i], simpler, *value[i + 1 :])
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        yield value - 1
    elif isinstance(value, float):
        yield from _rounder(value)


def _rounder(value: float) -> Iterator[float]:
    for digits in (1, 2, 4):
        rounded = float(f"{value:.{digits}g}")
        if rounded != value:
            yield rounded
