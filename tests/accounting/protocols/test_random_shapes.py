"""Shapes drawn at random, extreme ones too, against every data set and outcome of a few users."""

import itertools
import math
import random

import pytest

from shuffledp.errors import ConversionError
from tests.oracles import released

EPSILONS = [0.0, 1e-6, 0.05, 0.4, 1.0, 3.0]
SLACK = 1e-13
"""What sums of doubles may miss, times t."""
_BLOCK = 40


def _check(seed: int) -> None:
    rng = random.Random(seed)
    case = released.draw(rng)
    for epsilon, worst in zip(EPSILONS, case.worst(EPSILONS), strict=True):
        found, slack = case.protocol.delta(epsilon), SLACK * (1.0 + math.exp(epsilon))
        told = f"{seed}: {case.protocol}, epsilon {epsilon}: {worst!r} and {found}"
        assert worst <= found.upper * (1.0 + 1e-9) + slack, told
        assert found.lower <= worst * (1.0 + 1e-9) + slack, told
    delta = 10.0 ** rng.uniform(-6, -1)
    try:
        upper = case.protocol.epsilon(delta).upper
    except ConversionError:  # no epsilon is enough
        return
    if upper < 12.0:
        (left,) = case.worst([upper])
        assert left <= delta * (1.0 + 1e-6) + SLACK * (1.0 + math.exp(upper)), f"{seed}: {upper}"


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_truth_lies_in_the_interval(block: int) -> None:
    for seed in range(_BLOCK) if block == 0 else range(_BLOCK, 100 * _BLOCK):
        _check(seed)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 7, 8, 9])
def test_two_rounds_are_the_product(seed: int) -> None:
    rng = random.Random(seed)
    case = rng.choice([released._binary, released._threshold, released._split])(rng)
    epsilons = [0.0, 0.3, 1.0]
    worst = [0.0] * len(epsilons)
    for pair in case.pairs():
        twice = [
            {(*a, *b): p * q for (a, p), (b, q) in itertools.product(law.items(), law.items())}
            for law in pair
        ]
        for place, epsilon in enumerate(epsilons):
            t = math.exp(epsilon)
            ways = released.stick(twice[0], twice[1], t), released.stick(twice[1], twice[0], t)
            worst[place] = max(worst[place], *ways)
    for epsilon, truth in zip(epsilons, worst, strict=True):
        found = (case.protocol**2).delta(epsilon)
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12, f"{case.protocol}: {found}"
