"""A registered theorem enters the answers: one place weighs all bounds that speak of a randomizer."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    CheckIn,
    Direction,
    Gaussian,
    Laplace,
    OneBitMean,
    OneCoordinate,
    RegimeError,
    Repeated,
    Shuffled,
    Status,
    Subsampled,
    calibrate,
)
from shuffledp import labels as registered
from shuffledp.accounting.bounds import Theorem, bound, theorem
from shuffledp.accounting.bounds.scopes import known_law, pure_ldp, whole_class
from shuffledp.accounting.bounds.tightest import SILENT, Tightest
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.planning import Target

GUARANTEE = (Status.PROVEN, Direction.UPPER)
LEAK = (Status.FIXED_PAIR, Direction.LOWER)
Register = Callable[..., None]


@dataclass(frozen=True)
class Stated(Curve):
    """A theorem that knows one epsilon, at every delta."""

    known: float

    def epsilon(self, delta: float) -> float:
        return self.known

    def delta(self, epsilon: float) -> float:
        return 0.0 if epsilon >= self.known else 1.0


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Registers theorems for one test."""
    monkeypatch.setattr(theorem, "_BOUNDS", dict(theorem._BOUNDS))
    monkeypatch.setattr(registered, "_REGISTRY", dict(registered._REGISTRY))

    def add(
        labels: tuple[Status, Direction], curve: Curve, scope: Any = pure_ldp, **how: Any
    ) -> None:
        made = Theorem("mine", "me", "so", "always", *labels, proof="proofs/mine.md")
        bound(made, scope, **how)(lambda randomizer, n: curve)

    yield add
    theorem.forget()


@pytest.mark.parametrize("randomizer", [LDP(1.0), KRR(8, eps0=1.0)], ids=str)
def test_a_proven_theorem_enters_every_answer(register: Register, randomizer: Randomizer) -> None:
    protocol = Shuffled(randomizer, 1000)
    before = protocol.epsilon(1e-6)
    register(GUARANTEE, Stated(0.5 * (before.lower + before.upper)))
    after = protocol.epsilon(1e-6)
    assert after.theorem == "mine"
    assert before.lower < after.upper < before.upper
    assert after.lower_end == before.lower_end


def test_it_enters_draws_plans_and_calibration(register: Register) -> None:
    drawn = Shuffled(Subsampled(LDP(1.0), 999), 1000)
    before = drawn.delta(0.2).upper
    register(GUARANTEE, Stated(0.19))
    assert drawn.proven().delta(0.2) == 0.0 < before
    assert Target(0.2, 1e-6, 1000).achieved(LDP(1.0)).theorem == "mine"
    with pytest.raises(ArithmeticError, match="empty interval"):  # believed, and shown to be wrong
        calibrate(LDP, epsilon=0.2, delta=1e-6, eps0=1.0)


@pytest.mark.parametrize(
    "labels",
    [
        (Status.HEURISTIC, Direction.UPPER),
        (Status.FIXED_PAIR, Direction.UPPER),
        (Status.PROVEN, Direction.ESTIMATE),
        (Status.HEURISTIC, Direction.LOWER),
    ],
)
def test_what_is_not_shown_never_enters(register: Register, labels: Any) -> None:
    protocol = Shuffled(LDP(1.0), 1000)
    before = protocol.epsilon(1e-6)
    register(labels, Stated(0.0 if labels[1] is not Direction.LOWER else 9.0))
    assert protocol.epsilon(1e-6) == before
    assert "mine" in {value.theorem for value in protocol.bounds(delta=1e-6)}


def test_a_leak_enters_the_other_end(register: Register) -> None:
    protocol = Shuffled(LDP(1.0), 1000)
    before = protocol.epsilon(1e-6)
    register(LEAK, Stated(0.5 * (before.lower + before.upper)), whole_class)
    after = protocol.epsilon(1e-6)
    assert after.lower_end.theorem == "mine"
    assert before.lower < after.lower < before.upper


@pytest.mark.parametrize("how", [{"asked_of": False}, {"asked_of": known_law}])
def test_only_where_it_is_worth_asking(register: Register, how: dict[str, Any]) -> None:
    register(GUARANTEE, Stated(0.0), **how)
    assert Shuffled(LDP(1.0), 1000).epsilon(1e-6).theorem == "swap-ldp"


def test_others_answer_what_the_first_cannot(register: Register) -> None:
    register(GUARANTEE, Stated(0.0), turn=0)
    protocol = Shuffled(LDP(1.0), 1000)
    assert [b.theorem.id for b in protocol.candidates()[0]] == [
        "mine",
        "stronger-clones",
        "swap-ldp",
    ]
    assert protocol.renyi(2.0).theorem == "swap-ldp"


def test_errors_name_the_theorem(register: Register) -> None:
    def refuse(randomizer: Randomizer, n: int) -> Curve:
        raise RegimeError("more", n)

    made = Theorem("silent", "me", "so", "never", *GUARANTEE, proof="proofs/mine.md")
    found = bound(made, pure_ldp)(refuse)
    with pytest.raises(RegimeError, match=r"silent.* requires more") as caught:
        found.curve(LDP(1.0), 5)
    assert caught.value.theorem == "silent"
    tightest = Tightest.about([found], LDP(1.0), 5)
    with pytest.raises(RegimeError, match="silent"):
        tightest.epsilon(1e-6)


ASKED = {
    LDP(1.0): (["stronger-clones", "swap-ldp"], ["dataset-2rr", "dataset-3rr", "dataset-mixed"]),
    LDP(1.0, sequential=True): (
        ["stronger-clones", "swap-sequential"],
        ["dataset-2rr", "dataset-3rr", "dataset-mixed"],
    ),
    CheckIn(LDP(1.0), 0.5): (["blanket", "stronger-clones", "swap"], ["dataset"]),
    CheckIn(LDP(1.0, sequential=True), 0.5): (
        ["blanket", "stronger-clones", "swap-sequential"],
        ["dataset"],
    ),
    BinaryRR(eps0=1.0): (["blanket", "stronger-clones", "swap"], ["dataset", "dataset-mixed"]),
    Laplace(eps0=1.0): (["blanket", "stronger-clones", "swap-laplace"], ["dataset"]),
    OneCoordinate(OneBitMean(eps0=1.0), 3): (
        ["blanket", "stronger-clones", "swap"],
        ["dataset"],
    ),
    LDP(1.0, 1e-9): (
        ["stronger-clones-approximate", "feldman-2021-approximate"],
        ["dataset-2rr", "dataset-3rr", "dataset-mixed"],
    ),
    KRR(4, eps0=1.0): (["blanket", "stronger-clones"], ["dataset"]),
    Gaussian(3.0): (
        ["blanket", "swap-gaussian", "gaussian-unshuffled", "gaussian-approximate"],
        ["shuffle-gaussian", "dataset", "shuffle-gaussian-triangle"],
    ),
    Subsampled(KRR(4, eps0=1.0), 10): (["swap-drawn", "subsampled"], ["subsampled-dataset"]),
    LDP(1.0, sequential=True): (
        ["stronger-clones", "swap-sequential"],
        ["dataset-2rr", "dataset-3rr", "dataset-mixed"],
    ),
    Subsampled(Gaussian(3.0, ball=True), 10): (
        ["swap-gaussian", "gaussian-unshuffled", "subsampled"],
        ["shuffle-gaussian"],
    ),
    Repeated(LDP(1.0), 2): (["composition"], ["composition-dataset"]),
    Repeated(CheckIn(Gaussian(3.0), 0.5), 2): (
        ["gaussian-unshuffled", "composition"],
        ["composition-dataset"],
    ),
}


@pytest.mark.parametrize("randomizer", ASKED, ids=str)
def test_who_is_asked(randomizer: Randomizer) -> None:
    found = Shuffled(randomizer, 1000).candidates()
    assert tuple([b.theorem.id for b in end] for end in found) == ASKED[randomizer]


@pytest.mark.parametrize("question", [{"delta": 1e-6}, {"epsilon": 0.2}, {"alpha": 0.2}], ids=str)
@pytest.mark.parametrize(
    "protocol",
    [
        Shuffled(LDP(0.4), 2000),
        Shuffled(LDP(3.0), 2000),
        Shuffled(KRR(5, eps0=1.0), 2000),
        Shuffled(Laplace(eps0=1.0), 500),
        Shuffled(Gaussian(4.0), 500),
        Shuffled(LDP(0.5), 1000) ** 3,
    ],
    ids=str,
)
def test_what_is_only_compared_is_never_tighter(
    protocol: Shuffled, question: dict[str, float]
) -> None:
    """asked_of=False says that another bound is at least as tight, but for what takes long: swaps."""
    answer = protocol.guaranteed(**question).value
    compared = 0
    for known in (each.theorem for each in protocol._known()):
        if (known.status, known.direction) != GUARANTEE or known.id.startswith("swap"):
            continue
        with suppress(*SILENT):
            value = protocol.bound(known.id, **question).value
            less = answer - value if "alpha" not in question else value - answer
            assert less <= 1e-3 * answer, known.id
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("n", [30, 1000, 10**5])
@pytest.mark.parametrize("randomizer", [KRR(3, eps0=0.5), KRR(16, eps0=2.0), Laplace(eps0=1.0)])
def test_who_is_passed_over_would_not_have_been_tighter(
    randomizer: Randomizer, n: int, delta: float
) -> None:
    protocol = Shuffled(randomizer, n)
    answer = protocol.guaranteed(delta=delta).value
    for each in protocol.candidates()[0]:
        if not each.dear:
            assert answer <= protocol.bound(each.theorem.id, delta=delta).value, each.theorem.id


def test_a_limit_theorem_decides_who_is_passed_over() -> None:
    blanket = Shuffled(KRR(16, eps0=2.0), 10**5).epsilon(1e-6).upper
    curve = Shuffled(LDP(2.0), 10**5).curve("stronger-clones")
    assert curve.likely_above(blanket, 1e-6)
    assert not curve.likely_above(1.7 * blanket, 1e-6)
    assert not Shuffled(LDP(60.0), 3).curve("stronger-clones").likely_above(1.0, 1e-6)


@pytest.mark.parametrize("n", [1000, 10**5])
@pytest.mark.parametrize("randomizer", [OneBitMean(eps0=3.0), Laplace(eps0=2.0)])
def test_the_lowest_of_all_bounds_is_hardly_above_the_least(randomizer: Randomizer, n: int) -> None:
    proven = Shuffled(randomizer, n).proven()
    start = float(proven.lowest([0.0])[0])
    epsilons = [0.25 * start * k for k in range(1, 25)]
    sides = proven.answers(lambda _, curve: [side[1] for side in curve.sampled(epsilons)])
    least = np.min([np.max(each, axis=0) for each in sides], axis=0)
    found = proven.lowest(epsilons)
    assert (least <= found).all()
    assert (found <= 1.005 * least).all()
