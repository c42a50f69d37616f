"""Cases that once failed, as they were found."""

from __future__ import annotations

from typing import Any

from tests.adversary.deployments import Case, Design, Spec, call
from tests.adversary.hunt import Judge
from tests.adversary.judge import judge, judge_theorems
from tests.adversary.relations import Relation, judge_band, judge_relation


def _shuffled(randomizer: Spec, n: int) -> Spec:
    return call("Shuffled", randomizer=randomizer, n=n)


def _sometimes(randomizer: Spec, rate: float) -> Spec:
    return call("CheckIn", randomizer=randomizer, rate=rate)


def _often(randomizer: Spec, rounds: int) -> Spec:
    return call("Repeated", randomizer=randomizer, rounds=rounds)


def _personal(family: Spec, budgets: tuple[float, ...], **other: Any) -> Spec:
    return call("Personalized", family=family, budgets=budgets, budgets_visible=False, **other)


def _summed(encoding: str, k: int, eps0: float, **crowd: Any) -> Spec:
    return call("Aggregated", randomizer=call(encoding, k=k, eps0=eps0), **crowd)


_KRR = call("KRR", k=3, eps0=8.0)
_NORMAL = call("Gaussian", sigma=1.0, sensitivity=1.0)
_TINY = call("LDP", eps0=1e-300)
_DESIGN = call("ChannelFamily", matrix=Design(((0, 0, 1), (0, 1, 0))))
_SKEW = call("Channel", matrix=((1.0, 2.59e-33, 2.59e-33), (0.64, 0.18, 0.18)))
_STATED = call("Rounds", entries=((call("Stated", epsilon=800.0, delta=1e-9), 2),))

_LOUD = call("Shuffled", randomizer=call("BinaryRR", eps0=150.0), n=2)
_MIXED = call("Rounds", entries=((_LOUD, 2), (call("Stated", epsilon=1e-9, delta=0.0), 1)))

_RARE = _shuffled(_often(_sometimes(call("BinaryRR", eps0=180.0), 1e-250), 2), 1)

REMEMBERED: list[tuple[Judge, Case | Relation]] = [
    # budgets beyond 60: too far to search is not leaks nothing
    (judge, Case(_personal(call("LaplaceFamily"), (0.1, 0.1, 70.0)), "epsilon", 60.0)),
    (judge, Case(_personal(call("LaplaceFamily"), (0.1, 0.1, 70.0)), "delta", 1e-6)),
    (judge, Case(_personal(call("KRRFamily", k=2), (65.0,)), "delta", 1e-6)),
    (judge, Case(_personal(call("KRRFamily", k=2), (3.0,)), "epsilon", 1e5)),
    (judge, Case(_personal(call("KRRFamily", k=3), (800.0, 1.0, 1.0)), "delta", 1e-6)),
    # check-in at small rates
    (judge_theorems, Case(_shuffled(_sometimes(_KRR, 1e-17), 2), "epsilon", 7.327)),
    (judge_band, Case(_shuffled(_sometimes(_KRR, 1e-17), 2), "epsilon", 7.327)),
    (judge, Case(_shuffled(_sometimes(_KRR, 5e-324), 2), "epsilon", 0.1)),
    # budgets and questions at the ends of what is accepted
    (judge, Case(_STATED, "epsilon", 1000.0)),
    (judge, Case(_shuffled(call("LDP", eps0=800.0, delta0=1e-6), 2), "epsilon", 799.0)),
    (judge, Case(_shuffled(call("LDP", eps0=1e300, delta0=1e-6), 1), "alpha", 0.1)),
    (judge, Case(_shuffled(call("KRR", k=10**400, eps0=1.0), 2), "epsilon", 0.1)),
    (judge, Case(_shuffled(_often(_SKEW, 3), 2), "delta", 5e-324)),
    (judge, Case(_shuffled(_NORMAL, 1), "delta", 5e-324)),
    (judge, Case(_shuffled(_NORMAL, 1), "epsilon", 1e308)),
    (judge_theorems, Case(_shuffled(call("LDP", eps0=0.4), 1), "delta", 5e-324)),
    (
        judge_relation,
        Relation(
            Case(_shuffled(_TINY, 10**12), "order", 2.0), Case(_shuffled(_TINY, 10), "order", 2.0)
        ),
    ),
    # users who hardly ever report, over rounds
    (
        judge,
        Case(
            _shuffled(_often(_sometimes(call("BinaryRR", eps0=0.5), 5e-324), 2), 2), "delta", 7e-6
        ),
    ),
    (
        judge_theorems,
        Case(
            _shuffled(_often(_sometimes(call("LDP", eps0=2.965), 4e-291), 1), 2), "epsilon", 0.489
        ),
    ),
    # a matrix may exceed the budget it was built for in its last digit
    (judge, Case(_personal(_DESIGN, (1.8,)), "delta", 1e-300)),
    # the middle of an odd number of levels is nearer to one end
    (
        judge,
        Case(
            _shuffled(_often(call("DiscretePiecewise", levels=1, window=1, eps0=1.655), 3), 2),
            "epsilon",
            0.4215777630208619,
        ),
    ),
    (
        judge,
        Case(_shuffled(call("DiscretePiecewise", levels=1, window=1, eps0=0.8), 2), "alpha", 0.4),
    ),
    # the smallest number there is, and the last digit of a budget
    (
        judge,
        Case(
            _shuffled(_often(_sometimes(call("Piecewise", eps0=60.0), 5e-324), 1), 1),
            "epsilon",
            30.0,
        ),
    ),
    (judge, Case(_shuffled(_often(call("rappor", k=4, eps0=3.573), 1), 1), "delta", 1e-276)),
    # a complement rounded to nearest; a divergence that underflows
    (
        judge,
        Case(_shuffled(_sometimes(call("BinaryRR", eps0=1.0), 1e-150), 3), "alpha", 0.3),
    ),
    (
        judge,
        Case(_shuffled(_sometimes(call("rappor", k=3, eps0=1e-6), 1e-310), 2), "order", 1.5),
    ),
    # a plateau that rounding took for a peak; a sum rounded to nearest; nothing left to share
    (
        judge,
        Case(_shuffled(_sometimes(call("BinaryRR", eps0=40.0), 1e-3), 1), "alpha", 1e-25),
    ),
    (judge, Case(_MIXED, "order", 1e4)),
    (judge_theorems, Case(_shuffled(_often(call("BinaryRR", eps0=1.0), 2), 2), "delta", 5e-324)),
    (judge, Case(_shuffled(call("rappor", k=4, eps0=299.0), 3), "delta", 5e-324)),
    # second masses of losses that underflow are not lost
    (judge, Case(_RARE, "epsilon", 1.0)),
    (judge, Case(_RARE, "delta", 1e-253)),
    # sums of bits: a budget near 0 was a rounding too small, a chord below 1e-16 too long, and
    # trade-offs mixed what different data sets leak
    (judge, Case(call("Aggregated", randomizer=call("BinaryRR", eps0=1e-8), n=1), "delta", 1e-300)),
    (judge, Case(_summed("optimised_unary", 2, 1.9, n=5), "delta", 1e-30)),
    (judge, Case(_summed("rappor", 20, 1e-4, n=4, neighbours="remove"), "alpha", 0.5)),
]
