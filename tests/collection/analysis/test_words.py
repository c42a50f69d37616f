"""Heavy hitters: what is found, what is missed, what is nobody's, and how often intervals hold."""

import math

import numpy as np
import pytest

from shuffledp import OnePrefix
from shuffledp.collection.analysis import FrequentWords
from shuffledp.collection.analysis.proportions import at_least
from shuffledp.collection.devices import device, simulation
from shuffledp.collection.pipeline import Embedded, Job, run
from shuffledp.collection.planning import HeavyHitters, Plan, Target, plan

RUNS, N = 60, 4000


def _runs(users: np.ndarray, most: int = 8) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
    machine = device(OnePrefix(16, eps0=5.0))
    found = []
    for seed in range(RUNS):
        tally = FrequentWords(machine)
        tally.add(machine.encode(users, simulation(seed)))
        estimate = tally.estimate(most)
        found.append((list(estimate.names), *estimate.interval()))
    return found


def test_errors_are_bounded() -> None:
    """Each event has a chance of 5 % at most: more than 12 of 60 runs have one of 1e-5."""
    shares = {7: 0.35, 40_000: 0.2, 40_001: 0.12, 500: 0.06, 501: 0.03}
    rest = np.random.default_rng(1).integers(600, 30_000, N - int(N * sum(shares.values())))
    users = np.concatenate([rest, *[np.full(int(N * f), word) for word, f in shares.items()]])
    tally = FrequentWords(device(OnePrefix(16, eps0=5.0)))
    sure = tally.found_from(8, tally.split(N))
    frequent = [word for word, share in shares.items() if share >= sure]
    assert frequent == [7, 40_000, 40_001, 500]
    false = missed = covered = listed = 0
    for names, low, high in _runs(users):
        false += any(not np.any(users == word) for word in names)
        missed += sum(word not in names for word in frequent)
        truth = np.array([np.mean(users == word) for word in names])
        covered += int(np.sum((low <= truth) & (truth <= high)))
        listed += len(names)
    assert false <= 12
    assert missed <= 4 * 12
    assert abs(covered / listed - 0.95) <= 5.0 * math.sqrt(0.05 * 0.95 / listed)


def test_as_many_as_it_takes() -> None:
    """The fewest reports that nobody's prefix gets with the chance allowed."""
    tally = FrequentWords(device(OnePrefix(16, eps0=5.0)))
    for n, place, prefixes, chance in ((100, 0, 1, 1 / 256), (5000, 1, 8, 0.05 / 2048)):
        enough = tally._enough(n, place, prefixes)
        assert at_least(enough, n, tally.law.other) <= chance
        assert at_least(enough - 1, n, tally.law.other) > chance


@pytest.mark.parametrize("n", [1, 2, 3])
def test_of_very_few_nothing_is_found(n: int) -> None:
    machine = device(OnePrefix(16, eps0=20.0))
    tally = FrequentWords(machine)
    tally.add(machine.encode(np.full(n, 5), simulation(1)))
    found = tally.estimate()
    assert found.names == ()
    assert found.reports == n
    assert "no word is frequent enough" in found.note
    made = plan(HeavyHitters(16), Target(1.0, 1e-6, n))
    assert any("take more users" in line for line in made.advice)


@pytest.mark.parametrize("word", ["", "é", "日本", "one"])
def test_all_users_alike(word: str) -> None:
    asked = Job("heavy-hitters", ("x",), 2000, 4.0, 1e-3, "prefix", letters=6).calibrated()
    found = run(asked, {"x": [word] * 2000}, Embedded(simulation(1)))[1]
    assert found.names == (word,)
    low, high = found.interval(1 - 1e-6)
    assert low[0] <= 1.0 <= high[0]


def test_steps_are_letters_where_they_can_be() -> None:
    assert [OnePrefix(bits, eps0=1.0).step for bits in (1, 7, 8, 12, 13, 32, 56)] == [
        *(1, 7, 8, 6, 1, 8, 8),
    ]


def test_the_split_is_nearly_the_best() -> None:
    """What is found, and how exactly, when another share of the users counts: the product of the
    two bounds is within 5 % of the least."""
    n = 100_000
    machine = Plan.of(HeavyHitters(32), Target(1.0, 1e-6, n), "prefix").device
    assert machine is not None
    tally = FrequentWords(machine)

    def product(counting: float) -> float:
        users = [round(n * (1.0 - counting) / 4)] * 4 + [round(n * counting)]
        return tally.found_from(20, users) / math.sqrt(counting)

    assert product(0.5) <= 1.05 * min(map(product, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)))


def test_plan_and_run_agree() -> None:
    """The error of a rare word found, over many runs, is the planned one."""
    n = 20_000
    choice = Plan.of(HeavyHitters(16), Target(2.0, 1e-6, n), "prefix")
    machine = choice.device
    assert machine is not None
    errors = []
    for seed in range(RUNS):
        tally = FrequentWords(machine)
        tally.add(machine.encode(np.full(n, 7), simulation(seed)))
        held = tally._held(np.array([9, 300, 40_000])) / (n / 2)
        errors += tally.law.frequencies(held).tolist()
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(choice.error, rel=0.2, abs=0.0)
