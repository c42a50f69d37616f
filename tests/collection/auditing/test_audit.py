"""Audits stay below a true claim and catch planted faults."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    CheckIn,
    Gaussian,
    GaussianVector,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    OneCoordinate,
    OnePrefix,
    ParameterError,
    Piecewise,
    SubsetSelection,
    TruncatedLaplace,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.analysis.proportions import lower_limit, upper_limit
from shuffledp.collection.auditing import EmbeddedPath, Release, audit
from shuffledp.collection.auditing.attack import Attack
from shuffledp.collection.auditing.audit import _direct
from shuffledp.collection.auditing.likelihood import likelihood, telling_values
from shuffledp.collection.devices import device, secure
from shuffledp.interfaces.cli import main
from tests.collection.devices.test_devices import CASES
from tests.oracles.device_laws import law

STREAM = secure()
PATH = EmbeddedPath(STREAM)
N, DELTA, TRIALS = 100, 1e-4, 30_000


ORDERS: dict[str, Callable[[Any], Any]] = {
    "no shuffle": lambda reports: reports,
    "reversed": lambda reports: reports[:, ::-1],
    "rotated": lambda reports: np.roll(reports, 37, axis=1),
}


def _faulty(fault: str, randomizer: Randomizer) -> Release:
    honest = PATH.release(device(randomizer))
    if fault in ORDERS:
        machine, order = device(randomizer), ORDERS[fault]
        return lambda values, _: order(
            machine.encode(values.ravel(), STREAM).reshape(*values.shape, 1)
        )
    if fault == "wrong keep-probability":
        return PATH.release(device(KRR(4, eps0=1.6 * randomizer.eps0)))
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


@pytest.mark.parametrize("fault", [*ORDERS, "wrong keep-probability", "a tenth of the batch"])
def test_planted_faults_are_caught(fault: str) -> None:
    claimed = KRR(4, eps0=3.0)
    release = _faulty(fault, claimed)
    found = audit(claimed, N, delta=DELTA, trials=TRIALS, stream=STREAM, release=release)
    assert found.violated
    where = {"no shuffle": 0, "reversed": N - 1, "rotated": 37}
    if fault in where:
        assert found.place == where[fault]
        assert found.ordered > found.claimed.upper


@pytest.mark.parametrize("order", ORDERS)
def test_even_weak_reports_must_be_shuffled(order: str) -> None:
    """The place that tells something is found among a thousand."""
    claimed = BinaryRR(eps0=0.3)
    release = _faulty(order, claimed)
    found = audit(claimed, 1000, delta=1e-6, trials=20_000, stream=STREAM, release=release)
    assert found.place == {"no shuffle": 0, "reversed": 999, "rotated": 37}[order]
    assert found.violated


def test_the_family_bound_is_near_the_truth() -> None:
    found = audit(KRR(4, eps0=4.0), 300, delta=DELTA, trials=100_000, stream=STREAM)
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
    assert upper_limit(count, trials, failure) == pytest.approx(high, rel=1e-6, abs=0.0)


def test_what_cannot_be_audited_says_so() -> None:
    for randomizer in (CheckIn(KRR(4, eps0=1.0), 0.5), LDP(1.0)):
        with pytest.raises(ParameterError, match=r"mechanism|randomizer"):
            audit(randomizer, 10, delta=0.1, trials=10, stream=STREAM)


@pytest.mark.parametrize("randomizer", [Laplace(eps0=2.0), TruncatedLaplace(eps0=2.0)], ids=str)
def test_laplace_likelihoods(randomizer: Randomizer) -> None:
    """In the middle both values are alike, at the ends they differ by the whole budget."""
    machine = device(randomizer)
    reports = np.array([[0], [512], [1024]])
    ratio = likelihood(machine, 0.0)(reports) / likelihood(machine, 1.0)(reports)
    eps0 = machine.randomizer.eps0
    assert ratio == pytest.approx([math.exp(eps0), 1.0, math.exp(-eps0)], rel=1e-9, abs=0.0)


@pytest.mark.parametrize("randomizer", [case for case, _ in CASES], ids=str)
def test_likelihoods_are_those_of_the_exact_laws(randomizer: Randomizer) -> None:
    """Every report, two values: the ratio is that of the rational law."""
    machine = device(randomizer)
    if isinstance(randomizer, CheckIn):
        return
    first, second, _ = telling_values(machine)
    exact = [law(machine, value) for value in (first, second)]
    reports = np.array(sorted(exact[0]))
    mine = likelihood(machine, first)(reports) / likelihood(machine, second)(reports)
    truth = [float(exact[0][tuple(z)] / exact[1][tuple(z)]) for z in reports.tolist()]
    assert mine == pytest.approx(truth, rel=1e-9, abs=0.0)


EVERY = [
    optimised_unary(4, 2.0),
    rappor(4, 2.0),
    SubsetSelection(6, eps0=2.0),
    LocalHashing(eps0=2.0, k=8),
    HadamardResponse(eps0=2.0, k=6),
    OnePrefix(4, 2, eps0=2.0),
    OneBitMean(eps0=2.0),
    Piecewise(eps0=2.0),
    Laplace(eps0=2.0),
    OneCoordinate(OneBitMean(eps0=2.0), 2),
    pytest.param(Gaussian(0.7, 1.0, scalar=True), marks=pytest.mark.slow),
    GaussianVector(1.0, 1.5, dimensions=2),
]


@pytest.mark.parametrize("randomizer", EVERY, ids=str)
def test_what_runs_stands_and_what_is_not_shuffled_falls(randomizer: Randomizer) -> None:
    machine = device(randomizer)

    def unshuffled(values: Any, _ordered: bool) -> Any:
        users = values.reshape(-1, *values.shape[2:])
        return machine.encode(users, STREAM).reshape(*values.shape[:2], machine.columns)

    asked = {"delta": 0.01, "trials": 10_000, "stream": STREAM}
    honest = audit(randomizer, 10, **asked)  # type: ignore[arg-type]
    assert not honest.violated
    assert honest.direct > 0.05 * honest.claimed.upper
    if isinstance(randomizer, Gaussian):
        assert honest.family is None
    else:
        assert honest.family is not None
        assert 0.1 * honest.claimed.upper < honest.family
    attack = Attack(machine, 10)
    assert attack.place(unshuffled, 2000, lambda _: None) == 0
    alone = attack.scores(unshuffled, 5000, place=0, advance=lambda _: None)
    mixed = attack.scores(PATH.release(machine), 5000, place=0, advance=lambda _: None)
    assert _direct(alone, 0.01) > 0.5 > _direct(mixed, 0.01)


def test_command() -> None:
    line = "audit --mechanism krr --k 4 --eps0 3 --n 100 --delta 1e-4 --trials 2000"
    result = CliRunner().invoke(main, [*line.split(), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["violated"] is False
    assert math.isfinite(found["direct"])
    assert found["simulated"] is False
    shown = CliRunner().invoke(main, line.split()).stdout
    assert "not violated" in shown
    assert "simulated" not in shown
    shown = CliRunner().invoke(main, [*line.split(), "--simulation", "1"]).stdout
    assert "simulated randomness: protects nobody" in shown
    claimed = CliRunner().invoke(main, [*line.split(), "--epsilon", "0.2", "--json"])
    assert claimed.exit_code == 1
    found = json.loads(claimed.stdout)
    assert found["violated"] is True
    assert found["epsilon"] == 0.2 < found["claimed"]["upper"]
    wrong = CliRunner().invoke(main, [*line.split(), "--epsilon", "-1"])
    assert wrong.exit_code == 2
    assert "--epsilon must be" in wrong.output
