"""Plans take short ways: they must end where the long ones do."""

import json
import math

import pytest
from click.testing import CliRunner

from shuffledp import Gaussian, Rounds, SampleThreshold, Shuffled
from shuffledp.accounting.protocols.smallest import Goal, sample_threshold
from shuffledp.accounting.randomizers import HadamardResponse, OneBitMean, Piecewise, Randomizer
from shuffledp.collection.planning import Target, Vector, attacks, local_warning
from shuffledp.collection.planning.plan import Plan
from shuffledp.errors import RegimeError
from shuffledp.interfaces.cli import main


@pytest.mark.parametrize(
    ("randomizer", "n", "delta"),
    [
        (HadamardResponse(k=10, eps0=1.6), 100, 1e-12),
        (Piecewise(2.0), 1000, 1e-6),
        (OneBitMean(4.0), 10_000, 1e-6),
        (Gaussian(0.5), 10_000, 1e-6),
    ],
)
@pytest.mark.parametrize("factor", [0.2, 0.99, 1.0, 1.01, 3.0])
def test_an_expected_epsilon_changes_nothing(
    randomizer: Randomizer, n: int, delta: float, factor: float
) -> None:
    """However wrong it is."""
    protocol = Shuffled(randomizer, n)
    plain = protocol.guaranteed(delta=delta)
    found = protocol.guaranteed(expected=factor * plain.value, delta=delta)
    assert found.value == pytest.approx(plain.value, rel=1e-5, abs=0.0)
    assert protocol.delta(found.value).upper <= delta * (1.0 + 1e-9)


@pytest.mark.parametrize(("rate", "rounds"), [(0.3, 1), (0.05, 4), (0.01, 30)])
def test_the_smallest_threshold_is_the_smallest(rate: float, rounds: int) -> None:
    goal = Goal(1.0, 1e-6, rounds)
    found = int(sample_threshold(goal, rate).value)

    def met(threshold: int) -> bool:
        return goal.met(SampleThreshold(rate, threshold, neighbours="replace"))

    assert met(found)
    assert found == 1 or not met(found - 1)


def test_the_guarantee_of_a_threshold_is_one_of_any_data_set() -> None:
    protocol = SampleThreshold(0.2, 10, neighbours="replace")
    scenes = protocol.scenes()
    assert all([x.rising for x in scene] == [x.rising for x in scenes[0]] for scene in scenes)
    assert [x.rising for x in protocol.counters()] == [x.rising for x in scenes[0]]
    together = Rounds([(protocol, 2)])
    assert together.delta(1.0).lower <= together.guaranteed(epsilon=1.0).value


def test_colluders_do_not_push_gaussian_vectors_over_an_edge() -> None:
    target = Target(1.0, 1e-6, 100_000)
    row = Plan.of(Vector(10), target, "gaussian-vector")
    none, one, ten = (attack.epsilon for attack in attacks(row, target))
    assert none is not None
    assert one is not None
    assert ten is not None
    assert none <= one <= ten < 2.0 * none
    # what ended the search: the theorem speaks of no less noise
    assert row.device is not None
    noise = row.device.randomizer
    assert isinstance(noise, Gaussian)
    with pytest.raises(RegimeError):
        Shuffled(Gaussian(0.99 * noise.sigma, noise.sensitivity), 100_000).bound(
            "swap-gaussian", delta=1e-6
        )


def test_a_mistyped_task_is_guessed() -> None:
    done = CliRunner().invoke(
        main,
        [
            "plan",
            "--task",
            "histgram",
            "--k",
            "4",
            "--n",
            "100",
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
        ],
    )
    assert done.exit_code
    assert "did you mean histogram?" in done.output


def test_one_colludes_and_rare_words_are_named() -> None:
    asked = [
        "plan",
        "--task",
        "histogram",
        "--k",
        "4",
        "--n",
        "1000",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--colluders",
    ]
    assert "1 colludes" in CliRunner().invoke(main, [*asked, "1"]).output
    assert "2 collude " in CliRunner().invoke(main, [*asked, "2"]).output
    words = [
        "plan",
        "--task",
        "heavy-hitters",
        "--n",
        "1e5",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--json",
    ]
    said = json.loads(CliRunner().invoke(main, words).output)["advice"]
    assert "the count of a rare word is off by about" in said[0]


def test_when_a_local_guarantee_is_next_to_none() -> None:
    assert local_warning(4.0) == local_warning(float("inf")) == ""
    assert "eps0 = 7.5 is next to none" in local_warning(7.5)
    assert "for each of 4 messages" in local_warning(2.0, 4)


def test_colluders_planned_for_are_not_taken_for_none() -> None:
    from shuffledp.collection.planning import Histogram, makers

    target = Target(1.0, 1e-6, 1000, colluders=10)
    shape = makers(Histogram(4), target)["noise-shares"]()
    none, one, _ = (attack.epsilon for attack in attacks(shape, target))
    assert none is not None
    assert one is not None
    assert none < one <= 1.0


@pytest.mark.parametrize("reached", [math.nextafter(1e-6, 1.0), 1e-6, 0.0, 1.0])
def test_a_delta_one_rounding_above_its_target_is_above(
    reached: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Goal, "reached", lambda *_: reached)
    goal = Goal(1.0, 1e-6)
    assert (goal.excess(SampleThreshold(0.1, 5)) > 0.0) == (reached > 1e-6)
