"""The questions users ask, as the README writes them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from shuffledp import (
    KRR,
    LDP,
    Channel,
    CheckIn,
    Direction,
    Interval,
    Rounds,
    Shuffled,
    Stated,
    Status,
    Value,
)
from shuffledp.accounting.bounds import all_bounds, get_theorem
from shuffledp.accounting.protocols.base import described_in_full
from shuffledp.accounting.randomizers import Randomizer, VictimPair


@pytest.fixture(scope="module")
def protocol() -> Shuffled:
    return Shuffled(LDP(eps0=2.0), n=100_000)


QUESTIONS = [
    ("epsilon", {"delta": 1e-6}),
    ("delta", {"epsilon": 0.1}),
    ("renyi", {"order": 8}),
    ("tradeoff", {"alpha": 0.05}),
]


@pytest.mark.parametrize(("quantity", "question"), QUESTIONS)
def test_each_question_gives_a_labelled_interval(protocol, quantity, question) -> None:
    found = getattr(protocol, quantity)(**question)
    assert isinstance(found, Interval)
    assert found == protocol.ask(**question)
    assert found.quantity == quantity
    assert found.lower <= found.upper
    assert found.status is Status.PROVEN
    assert found.theorem == "swap-ldp"
    assert found.guarantee.direction is Direction.UPPER
    witness = found.upper_end if quantity == "tradeoff" else found.lower_end
    assert witness.status is Status.FIXED_PAIR
    assert witness.direction is Direction.LOWER
    assert "PROVEN" in str(found)


def test_epsilon_is_amplified(protocol) -> None:
    found = protocol.epsilon(delta=1e-6)
    assert found.upper < 0.1
    assert found.lower > 0.9 * found.upper  # the ternary data set is nearly the worst
    assert 0.5 * (found.lower + found.upper) in found
    assert 2.0 not in found


@pytest.mark.parametrize(("quantity", "question"), QUESTIONS)
def test_json(protocol, quantity, question) -> None:
    found = getattr(protocol, quantity)(**question)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["lower"] == found.lower
    assert again["upper"] == found.upper
    for end in ("lower_end", "upper_end"):
        assert set(again[end]) == {"theorem", "status", "direction", "value", "note"}
        assert again[end]["value"] == getattr(found, end).value
        assert Status(again[end]["status"]) is getattr(found, end).status
        assert Direction(again[end]["direction"]) is getattr(found, end).direction


@pytest.mark.parametrize("n", [1, 300])
@pytest.mark.parametrize("eps0", [1e-4, 4.0, 40.0, 800.0])
@pytest.mark.parametrize(("quantity", "question"), QUESTIONS)
def test_every_bound_is_labelled_sorted_and_json(n, eps0, quantity, question) -> None:
    few = Shuffled(LDP(eps0), n)
    found = few.bounds(**question)
    values = [value.value for value in found]
    assert values == sorted(values)
    assert not any(math.isnan(value) for value in values)
    json.dumps([value.to_dict() for value in found], allow_nan=False)
    interval = getattr(few, quantity)(**question)
    proven = [v.value for v in found if v.status is Status.PROVEN]
    best = max(proven) if quantity == "tradeoff" else min(proven)
    assert best == pytest.approx(interval.guarantee.value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("question", [{"delta": 1e-6}, {"epsilon": 0.1}])
def test_every_theorem_answers_or_says_why_not(question) -> None:
    few = Shuffled(LDP(3.0), 50)
    values, silent = few.survey(**question)
    answered = {value.theorem for value in values}
    assert answered | set(silent) == {b.theorem.id for b in all_bounds()}
    assert not answered & set(silent)
    assert all(silent.values())


def test_a_bound_by_name(protocol) -> None:
    found = protocol.bound("feldman-2023-closed", delta=1e-6)
    assert isinstance(found, Value)
    assert float(found) == found.value
    assert found.theorem == "feldman-2023-closed"
    assert found.value > protocol.epsilon(delta=1e-6).upper


def test_a_whole_curve(protocol) -> None:
    curve = protocol.curve("stronger-clones")
    assert curve.delta(0.05) == protocol.bound("stronger-clones", epsilon=0.05).value


def test_an_interval_cannot_be_empty() -> None:
    low = get_theorem("blanket").value(1.0)
    high = get_theorem("dataset").value(2.0)
    assert Interval("epsilon", low, high).lower == 1.0
    with pytest.raises(ArithmeticError, match="empty interval"):
        Interval("epsilon", high, low)


@pytest.mark.parametrize(
    ("quantity", "question"),
    [("epsilon", {"delta": 1e-6}), ("delta", {"epsilon": 0.03}), ("tradeoff", {"alpha": 0.05})],
)
def test_approximate_randomizers(quantity, question) -> None:
    found = getattr(Shuffled(LDP(1.0, delta0=1e-12), 10_000), quantity)(**question)
    assert found.status is Status.PROVEN
    assert found.theorem == "stronger-clones-approximate"
    pure = Shuffled(LDP(1.0), 10_000).bound("stronger-clones", **question).value
    if quantity == "tradeoff":
        assert found.lower <= pure
    else:
        assert found.upper >= pure
    assert found.guarantee.value == pytest.approx(pure, rel=0.02, abs=0.0)


@pytest.mark.parametrize("theorem", ["stronger-clones-approximate", "feldman-2021-approximate"])
def test_approximate_delta_falls_with_epsilon(theorem: str) -> None:
    curve = Shuffled(LDP(1.0, delta0=1e-8), 1000).curve(theorem)
    values = [curve.delta(k / 50) for k in range(60)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == 1e-8


def test_whole_floats_count(protocol) -> None:
    assert Shuffled(LDP(2), n=1e5) == protocol
    assert isinstance(Shuffled(LDP(2), n=1e5).n, int)


class _Changing(Randomizer):
    """Somebody's own, equal to itself whatever it is now."""

    eps0 = 1.0

    def blankets(self) -> list[VictimPair]:
        return KRR(2, eps0=self.eps0).blankets()

    def datasets(self, points: Sequence[float] = ()) -> list[VictimPair]:
        return KRR(2, eps0=self.eps0).datasets(points)


@dataclass
class _Unhashable(_Changing):
    """Equal to others by value."""


@pytest.mark.parametrize("kind", [_Changing, _Unhashable])
def test_no_answer_is_kept_of_what_may_change(kind: type[_Changing]) -> None:
    randomizer = kind()
    protocol = Shuffled(randomizer, 100)
    before = protocol.epsilon(1e-6), protocol.guaranteed(delta=1e-6)
    randomizer.eps0 = 2.0
    after = protocol.epsilon(1e-6), protocol.guaranteed(delta=1e-6)
    assert before[0].upper < after[0].lower
    assert before[1].value < after[1].value


def test_an_answer_is_kept_only_of_what_its_fields_say_in_full() -> None:
    assert described_in_full(Shuffled(KRR(4, eps0=1.0), 100, colluders=3))
    assert described_in_full(Rounds([(Shuffled(LDP(1.0), 100), 2), Stated(0.1)]))
    assert not described_in_full(Shuffled(Channel([[0.5, 0.5], [0.4, 0.6]]), 100))
    assert not described_in_full(Shuffled(_Changing(), 100))
    assert not described_in_full(Shuffled(CheckIn(_Changing(), 0.5), 100))
