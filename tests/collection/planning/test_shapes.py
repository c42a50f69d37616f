"""Other shapes of a histogram in a plan, and what colluding or lying users could do to it."""

import json
import math
from functools import lru_cache

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import Aggregated, ParameterError, SampleThreshold
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import device
from shuffledp.collection.planning import (
    SHAPES,
    SHAPES_OF_MEANS,
    Histogram,
    Mean,
    Shape,
    Target,
    Vector,
    attacks,
    makers,
    plan,
    shapes,
)
from shuffledp.collection.planning.attacks import _per_number
from shuffledp.interfaces.cli import main

FEW = Target(epsilon=1.0, delta=1e-6, n=2000)


@lru_cache(maxsize=1)
def _few() -> tuple[Shape, ...]:
    return shapes(Histogram(5), FEW)


def test_dummies_at_the_reference_point() -> None:
    found = makers(Histogram(100), Target(1.0, 1e-6, 10**6))["dummies"]()
    assert found.error * 10**6 == pytest.approx(math.sqrt(42.7), rel=5e-3, abs=0.0)
    assert found.messages == pytest.approx(1.00427, rel=1e-4, abs=0.0)
    assert found.eps0 is None
    assert found.achieved.value <= 1e-6


def test_every_shape_meets_the_target_and_says_what_it_needs() -> None:
    found = _few()
    assert [shape.error for shape in found] == sorted(shape.error for shape in found)
    assert {shape.name for shape in found} == set(SHAPES)
    for shape in found:
        assert shape.protocol.delta(1.0).upper <= 1e-6 * (1 + 1e-9)
        assert (shape.eps0 is None) == math.isinf(shape.protocol.eps0)
        assert shape.messages >= 1.0 or shape.name == "sample-threshold"
    # nearly the error of a curator's noise, and no shape beats what it would need
    central = math.sqrt(2.0) * 2.0 / FEW.n
    assert 0.9 * central < found[0].error < 1.01 * central


def test_sums_are_better_than_shuffled_vectors() -> None:
    (summed,) = (shape for shape in _few() if shape.name == "summed-rappor")
    (shuffled,) = (each for each in plan(Histogram(5), FEW).choices if each.name == "rappor")
    assert summed.error < 0.5 * shuffled.error


def test_colluders_take_away_and_liars_move() -> None:
    best = plan(Histogram(5), FEW).best
    found = attacks(best, FEW)
    assert [attack.share for attack in found] == [0.0, 0.01, 0.1]
    losses = [attack.epsilon for attack in found]
    assert losses == sorted(losses)
    assert losses[0] < losses[2]
    assert found[0].bias == 0.0
    assert found[2].bias is not None
    assert found[2].bias >= 0.1
    for shape in _few():
        moved = attacks(shape, FEW)[2]
        if shape.name.endswith("dummies") and not shape.protocol.by_users and not shape.eps0:  # type: ignore[attr-defined]
            assert moved.bias == pytest.approx(0.1, rel=1e-9, abs=0.0)
            assert moved.epsilon == attacks(shape, FEW)[0].epsilon
        elif shape.name == "krr-dummies":
            assert moved.bias is not None
            assert 0.1 < moved.bias < 0.11
            assert moved.epsilon > attacks(shape, FEW)[0].epsilon
        elif isinstance(shape.protocol, SampleThreshold):
            assert moved.bias == pytest.approx(0.1 / shape.protocol.rate, rel=1e-9, abs=0.0)
        elif shape.device is None:
            assert moved.bias is None, "a share of noise, or a number of dummies, may be any"
            assert moved.epsilon > attacks(shape, FEW)[0].epsilon
        else:
            randomizer = shape.device.randomizer
            crowd = Aggregated(randomizer, FEW.n, colluders=200)  # type: ignore[arg-type]
            assert moved.epsilon == pytest.approx(crowd.epsilon(1e-6).upper, rel=1e-6, abs=0.0)


def test_a_liar_moves_an_estimate_by_the_inverse_of_the_gap() -> None:
    """Between no bit and a bit of a value lies 1 / (keep - flip) of a user's share."""
    best = next(each for each in plan(Histogram(4), FEW).choices if each.name == "rappor")
    assert best.device is not None
    known = law(best.device)
    assert isinstance(known, Support)
    moved = known.frequencies(np.array([1.0])) - known.frequencies(np.array([0.0]))
    assert attacks(best, FEW)[1].bias == pytest.approx(0.01 * moved[0], rel=1e-9, abs=0.0)


def test_sums_of_numbers_nearly_at_the_central_error() -> None:
    for n, most in ((1000, 8), (10**5, 7)):
        target = Target(epsilon=1.0, delta=1e-6, n=n)
        found = {shape.name: shape for shape in shapes(Mean(), target)}
        assert set(found) <= set(SHAPES_OF_MEANS)
        split = found["split-and-mix"]
        assert split.error <= 1.02 * math.sqrt(2.0) / n
        assert 3 <= split.messages <= most
        assert split.eps0 is None
        assert split.protocol.delta(1.0).upper <= 1e-6
        assert attacks(split, target)[2].epsilon > 1.0


def test_numbers_have_limits_too() -> None:
    """A report of a clamped mechanism moves the mean by its range, one with noise by any."""
    for name, build in Mean().randomizers().items():
        found = _per_number(device(build(2.0)))
        assert (found is None) == (name in ("laplace", "gaussian"))
        assert found is None or 1.0 < found < 4.0


def test_vectors_have_no_other_shapes() -> None:
    with pytest.raises(ParameterError, match="histogram or a mean"):
        shapes(Vector(3), FEW)


def test_the_command_says_it_in_both_ways() -> None:
    asked = "plan --task histogram --k 5 --n 2000 --epsilon 1 --delta 1e-6 --several-messages"
    text = CliRunner().invoke(main, asked.split())
    data = CliRunner().invoke(main, [*asked.split(), "--json"])
    assert text.exit_code == data.exit_code == 0
    found = json.loads(data.output)
    assert {shape["name"] for shape in found["shapes"]} == set(SHAPES)
    for shape in found["shapes"]:
        assert shape["name"] in text.output
    assert [attack["share"] for attack in found["attacks"]] == [0.0, 0.01, 0.1]
    assert "collude" in text.output
