"""Several questions under one guarantee, and vectors in several messages."""

import math

import numpy as np
import pytest

from shuffledp import OneCoordinate, ParameterError, Rounds, Shuffled
from shuffledp.collection.devices import device
from shuffledp.collection.planning import (
    Histogram,
    Mean,
    Quantiles,
    Sometimes,
    Target,
    Together,
    Vector,
    Wanted,
    plan,
    together,
)
from shuffledp.collection.planning.expected import expected

TARGET = Target(epsilon=1.0, delta=1e-6, n=20_000)


def _cost(found: Together) -> float:
    """delta of all that would run, counted anew."""
    target = found.target
    rounds = []
    for choice in found.choices:
        assert choice.device is not None
        protocol = Shuffled(choice.device.randomizer, target.n, target.colluders)
        rounds.append((protocol, choice.messages * target.rounds))
    return Rounds(rounds).guaranteed(epsilon=target.epsilon).value


@pytest.mark.parametrize(
    "target",
    [
        TARGET,
        Target(epsilon=0.5, delta=1e-9, n=1000, rounds=3, colluders=50),
        Target(epsilon=1.0, delta=1e-6, n=20_000, max_eps0=2.0),
        Target(epsilon=1.0, delta=1e-6, n=1),
        Target(epsilon=1.0, delta=1e-30, n=100),
    ],
    ids=str,
)
def test_all_together_keep_the_guarantee(target: Target) -> None:
    vector = Wanted(Vector(3, None, 3), weight=0.5, mechanism="rounding-x3")
    found = together([Wanted(Histogram(5)), vector], target)
    assert 0.0 <= _cost(found) <= target.delta * (1.0 + 1e-9)
    assert found.achieved.value <= target.delta
    assert sum(found.shares) == pytest.approx(1.0)
    for choice in found.choices:
        assert choice.eps0 is not None
        assert choice.eps0 <= target.max_eps0
        assert 0.0 < choice.error < math.inf
    if (
        target.n == 1
    ):  # alone all that helps is a budget within epsilon, and about all of it is used
        assert sum(each.messages * (each.eps0 or 0.0) for each in found.choices) > 0.9


def test_what_counts_more_gets_more() -> None:
    alike = together([Wanted(Histogram(4)), Wanted(Histogram(4))], TARGET)
    assert alike.shares == pytest.approx((0.5, 0.5))
    heavy = together([Wanted(Histogram(4), 9.0), Wanted(Histogram(4))], TARGET)
    assert heavy.shares[0] > 0.65
    assert heavy.choices[0].error < alike.choices[0].error < heavy.choices[1].error


def test_no_other_split_is_much_better() -> None:
    """The sum that is made small, at splits a little to either side."""
    wanted = [Wanted(Histogram(5)), Wanted(Mean())]
    found = together(wanted, TARGET)
    tables = [
        expected(each.task, choice.name, TARGET.n)
        for each, choice in zip(wanted, found.choices, strict=True)
    ]

    def cost(share: float) -> float:
        mu = TARGET.mu * np.sqrt(np.array([share, 1.0 - share]))
        alone = np.array([TARGET.mu])
        return sum(
            float((table.error(mu[i : i + 1]) / table.error(alone))[0]) ** 2
            for i, table in enumerate(tables)
        )

    best = cost(found.shares[0])
    assert all(cost(found.shares[0] + move) >= 0.999 * best for move in (-0.1, -0.05, 0.05, 0.1))


def test_one_question_gets_all() -> None:
    alone = together([Wanted(Histogram(3))], TARGET)
    assert alone.choices[0].error == plan(Histogram(3), TARGET).best.error
    named = together([Wanted(Mean(), mechanism="rounding")], TARGET)
    assert named.choices[0].name == "rounding"
    assert str(named).startswith("1 questions to 20,000 users")


def test_names_are_checked() -> None:
    with pytest.raises(ParameterError, match="mechanism"):
        together([Wanted(Mean(), mechanism="krr"), Wanted(Mean())], TARGET)
    with pytest.raises(ParameterError, match="weight"):
        Wanted(Mean(), weight=0.0)
    with pytest.raises(ParameterError, match="at least one"):
        together([], TARGET)
    with pytest.raises(ParameterError, match="with a pure budget, among several"):
        together([Wanted(Mean(), mechanism="gaussian"), Wanted(Mean())], TARGET)


def test_a_message_for_each_coordinate_reaches_the_goal() -> None:
    """16 dimensions, 10^5 users, (1, 1e-7): was 6.2e-3 with one coordinate per user."""
    target = Target(epsilon=1.0, delta=1e-7, n=100_000)
    best = plan(Vector(16, None, 16), target).best
    assert best.messages == 16
    assert best.error <= 4.3e-4
    assert best.device is not None
    sent = Rounds([(Shuffled(best.device.randomizer, target.n), 16)])
    assert sent.guaranteed(epsilon=1.0).value <= 1e-7


@pytest.mark.parametrize(("dimensions", "messages"), [(5, 2), (5, 3), (16, 5), (3, 9), (1, 4)])
def test_groups_hold_every_coordinate_once(dimensions: int, messages: int) -> None:
    task = Vector(dimensions, None, messages)
    sent = task.sent
    sizes = task.groups(sent)
    assert (len(sizes), sum(sizes)) == (min(messages, dimensions), dimensions)
    assert max(sizes) - min(sizes) <= 1
    name = f"plateau-x{sent}" if sent > 1 else "plateau"
    assert task.messages_of(name) == sent
    made = task.randomizers()[name](2.0)
    assert made.dimensions == max(sizes) if isinstance(made, OneCoordinate) else sent > 1
    assert sum(times for _, times in task.devices(name, 2.0)) == sent


def test_fewer_messages_are_less_exact() -> None:
    """Also where noise is nearly all: so all that may be are sent."""
    for n, epsilon in ((1000, 0.5), (100, 0.1), (100_000, 1.0)):
        mu = np.array([Target(epsilon, 1e-6, n).mu])
        errors = []
        for sent in (1, 4, 16, 64):
            task = Vector(64, None, sent)
            name = "rounding" if sent == 1 else f"rounding-x{sent}"
            errors.append(float(expected(task, name, n).error(mu)[0]))
        assert sorted(errors, reverse=True) == errors


def test_short_vectors_have_a_narrow_range() -> None:
    target = Target(epsilon=1.0, delta=1e-6, n=10_000)
    wide, short = (
        together([Wanted(Vector(4, norm, 4), mechanism="rounding-x4")], target).choices
        for norm in (None, 0.1)
    )
    assert short[0].error == pytest.approx(0.2 * wide[0].error)
    task = Vector(64, 0.5, 64)
    assert task.turned == 64
    assert (
        Vector(20, 0.5, 32).turned,
        Vector(20, 0.5, 31).turned,
        Vector(20, None, 64).turned,
    ) == (*(32, 0, 0),)
    machine = device(task.randomizers()["turned-rounding-x64"](3.0))
    plain, turned = (
        task.error_of(name, machine, 10**5) for name in ("rounding-x64", "turned-rounding-x64")
    )
    assert turned < 0.7 * plain
    many = Vector(4096, 0.1, 4096)
    assert many.likely_gaussian(target.mu, target.n) < 0.2 * wide[0].error * math.sqrt(1024.0)


def test_each_message_is_sent_or_not_by_itself() -> None:
    asked = Sometimes(Vector(4, None, 4), 0.5)
    assert asked.messages_of("plateau-x4") == 4
    made = asked.randomizers()["plateau-x4"](2.0)
    assert str(made).endswith("check-in 0.5") or "0.5" in str(made)


def test_words_of_a_plan() -> None:
    found = together([Wanted(Quantiles(8)), Wanted(Mean())], TARGET)
    assert [each["task"] for each in found.to_dict()["tasks"]] == ["quantiles", "mean"]
    assert "2 questions to 20,000 users" in str(found)
