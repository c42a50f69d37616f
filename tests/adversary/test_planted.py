"""The judge itself: faults put into the library on purpose must be found."""

import functools
import math
from dataclasses import replace

import pytest
from flint import arb

from shuffledp import KRR, Interval, Shuffled
from shuffledp.accounting.bounds import get_theorem
from tests.adversary.deployments import Case, Spec, call
from tests.adversary.judge import Fault, judge, scenes
from tests.oracles import truth
from tests.oracles.balls import precise
from tests.oracles.truth import World

SLANTED = call("Channel", matrix=((0.9, 0.1), (0.5, 0.5)))
"""The two directions differ."""
ODD = call("Channel", matrix=((0.5, 0.5, 0.0), (0.5, 0.0, 0.5)))
"""Some reports decide alone."""


def _deployment(randomizer: Spec, n: int = 3) -> Spec:
    return call("Shuffled", randomizer=randomizer, n=n)


@precise
def _claimed(case: Case, worlds: list[World]) -> float:
    """What an engine that knew these worlds only would prove: rounded up, hence never too small."""
    value = functools.reduce(
        lambda a, b: b if b > a else a, (truth.delta(world, case.value) for world in worlds), arb(0)
    )
    return math.nextafter(float(value.upper()), math.inf)


def _planted(monkeypatch: pytest.MonkeyPatch, upper: float) -> None:
    def ask(self: Shuffled, **question: float) -> Interval:
        return Interval(
            "delta",
            get_theorem("dataset").value(0.0),
            get_theorem("blanket").value(upper),
        )

    monkeypatch.setattr(Shuffled, "ask", ask)


def _found(case: Case) -> Fault:
    fault = judge(case)
    assert fault is not None
    assert fault.kind == "UNSOUND", str(fault)
    return fault


def test_an_engine_that_knows_all_worlds_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for randomizer in (SLANTED, ODD):
        case = Case(_deployment(randomizer), "epsilon", 0.1)
        _planted(monkeypatch, _claimed(case, scenes(case.deployment, 20_000)[0.0].worlds))
        assert judge(case) is None


def test_one_percent_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Shuffled.ask

    def ask(self: Shuffled, **question: float) -> Interval:
        answer = honest(self, **question)
        less = replace(answer.upper_end, value=0.99 * answer.upper)
        return replace(answer, lower_end=replace(answer.lower_end, value=0.0), upper_end=less)

    monkeypatch.setattr(Shuffled, "ask", ask)
    _found(Case(_deployment(call("KRR", k=3, eps0=2.0), 4), "epsilon", 1.0))
    _found(Case(_deployment(call("KRR", k=3, eps0=2.0), 4), "delta", 1e-3))


def test_a_leak_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Shuffled.ask

    def ask(self: Shuffled, **question: float) -> Interval:
        answer = honest(self, **question)
        more = replace(answer.lower_end, value=1.01 * answer.upper)
        return replace(answer, lower_end=more, upper_end=replace(answer.upper_end, value=1.0))

    monkeypatch.setattr(Shuffled, "ask", ask)
    fault = judge(Case(_deployment(call("KRR", k=3, eps0=2.0), 4), "epsilon", 1.0))
    assert fault is not None
    assert fault.kind == "overstated leak"


@pytest.mark.parametrize("kept", [0, 1])
def test_a_dropped_direction(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    case = Case(_deployment(SLANTED), "epsilon", 0.3)
    worlds = scenes(case.deployment, 20_000)[0.0].worlds
    claims = [_claimed(case, worlds[way::2]) for way in (0, 1)]  # victim 0 against 1, 1 against 0
    assert claims[0] != claims[1]
    _planted(monkeypatch, claims[kept])
    fault = judge(case)
    assert (fault is None) == (claims[kept] == max(claims))


def test_a_dropped_mass_that_the_others_never_send(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(_deployment(ODD), "epsilon", 0.1)
    worlds = scenes(case.deployment, 20_000)[0.0].worlds
    seen = [[(p, q) for p, q in world if p != 0 and q != 0] for world in worlds]
    _planted(monkeypatch, _claimed(case, seen))
    _found(case)


def test_the_end_of_a_search_taken_for_the_end_of_the_curve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(_deployment(call("KRR", k=2, eps0=70.0), 1), "epsilon", 61.0)
    _planted(monkeypatch, 0.0)
    _found(case)


def test_a_crash_is_found_and_a_refusal_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Case(_deployment(call("KRR", k=1, eps0=1.0)), "epsilon", 0.1)
    assert judge(refused) is None

    def blankets(self: KRR) -> list[object]:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(KRR, "blankets", blankets)
    fault = judge(Case(_deployment(call("KRR", k=3, eps0=2.0)), "epsilon", 0.1))
    assert fault is not None
    assert fault.kind == "crash"
