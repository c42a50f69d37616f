"""Audits stay below a true claim and catch planted faults."""

import json
import math
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import KRR, BinaryRR, Channel, ParameterError, rappor
from shuffledp.auditing import Release, audit, pipeline
from shuffledp.auditing.proportions import lower_limit, upper_limit
from shuffledp.cli import main
from shuffledp.randomizers import Randomizer
from shuffledp.sampling import device, secure

STREAM = secure()
N, DELTA, TRIALS = 100, 1e-4, 30_000


def _faulty(fault: str, randomizer: Randomizer) -> Release:
    honest = pipeline(device(randomizer), STREAM)
    if fault == "no shuffle":
        machine = device(randomizer)
        return lambda values, _: machine.encode(values.ravel(), STREAM).reshape(values.shape)
    if fault == "wrong keep-probability":
        return pipeline(device(KRR(4, eps0=1.6 * randomizer.eps0)), STREAM)
    assert fault == "a tenth of the batch"
    return lambda values, ordered: honest(values[:, : N // 10], ordered)


@pytest.mark.parametrize(
    "randomizer",
    [
        BinaryRR(eps0=2.0),
        KRR(4, eps0=3.0),
        Channel(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])),
    ],
    ids=str,
)
def test_a_true_claim_stands(randomizer: Randomizer) -> None:
    found = audit(randomizer, N, delta=DELTA, trials=TRIALS, stream=STREAM)
    assert not found.violated
    assert 0.0 < found.direct < found.claimed.upper


@pytest.mark.parametrize("fault", ["no shuffle", "wrong keep-probability", "a tenth of the batch"])
def test_planted_faults_are_caught(fault: str) -> None:
    claimed = KRR(4, eps0=3.0)
    release = _faulty(fault, claimed)
    found = audit(claimed, N, delta=DELTA, trials=TRIALS, stream=STREAM, release=release)
    assert found.violated


def test_the_family_bound_is_near_the_truth() -> None:
    found = audit(KRR(4, eps0=4.0), 300, delta=DELTA, trials=TRIALS, stream=STREAM)
    assert found.family is not None
    assert 0.8 * found.claimed.upper < found.family <= found.claimed.upper
    assert found.direct <= found.claimed.upper


@pytest.mark.slow
def test_a_million_trials() -> None:
    """k-RR, n = 1000: both bounds below the claim, the family's above 80 % of it."""
    found = audit(KRR(10, eps0=2.0), 1000, delta=1e-6, trials=10**6, stream=STREAM)
    assert found.family is not None
    assert 0.8 * found.claimed.upper < found.family <= found.claimed.upper
    assert 0.0 < found.direct <= found.claimed.upper


@pytest.mark.parametrize(
    ("count", "trials"), [(0, 10), (10, 10), (3, 10), (500, 1000), (7, 100_000)]
)
def test_limits_are_those_of_clopper_and_pearson(count: int, trials: int) -> None:
    from scipy.stats import beta

    failure = 1e-3
    low = beta.ppf(failure, count, trials - count + 1) if count else 0.0
    high = beta.isf(failure, count + 1, trials - count) if count < trials else 1.0
    assert lower_limit(count, trials, failure) == pytest.approx(low, rel=1e-6, abs=1e-12)
    assert upper_limit(count, trials, failure) == pytest.approx(high, rel=1e-6)


def test_what_cannot_be_audited_says_so() -> None:
    with pytest.raises(ParameterError, match="to be audited"):
        audit(rappor(4, 1.0), 10, delta=0.1, trials=10, stream=STREAM)


def test_command() -> None:
    line = "audit --mechanism krr --k 4 --eps0 3 --n 100 --delta 1e-4 --trials 5000"
    result = CliRunner().invoke(main, [*line.split(), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["violated"] is False
    assert math.isfinite(found["direct"])
    assert "not violated" in CliRunner().invoke(main, line.split()).output
