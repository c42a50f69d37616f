"""Mean, quantiles and cells from the same reports: unbiased, and covered as often as they say."""

import numpy as np
import pytest

from shuffledp import KRR, CheckIn, DiscretePiecewise, ParameterError, RoundedResponse
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.analysis import Distribution
from shuffledp.collection.analysis.distribution import floor
from shuffledp.collection.analysis.estimate import Array
from shuffledp.collection.devices import device, simulation
from shuffledp.collection.planning import MeanQuantiles, Target, plan
from tests.oracles.device_laws import law

SHARES = (0.1, 0.5, 0.75)
N, TIMES = 2000, 300
KINDS: list[Randomizer] = [DiscretePiecewise(300, 6, eps0=6.0), RoundedResponse(40, eps0=6.0)]
CROWDS = {
    "even": (np.arange(N) + 0.5) / N,
    "lumps": np.repeat([0.05, 0.31, 0.310001, 0.7, 1.0], N // 5),
    "ends": np.repeat([0.0, 1.0], N // 2),
    "skewed": np.sort(np.random.default_rng(2).beta(2.0, 6.0, N)),
}


def _tallies(randomizer: Randomizer, users: Array, times: int = TIMES) -> list[Distribution]:
    machine, stream = device(randomizer), simulation(11)
    found = []
    for _ in range(times):
        tally = Distribution(machine)
        tally.add(machine.encode(users, stream))
        found.append(tally)
    return found


@pytest.mark.parametrize(
    "randomizer", [DiscretePiecewise(8, 3, eps0=1.5), RoundedResponse(5, eps0=1.5)], ids=str
)
def test_reports_up_to_a_place_are_the_mean_over_a_window(randomizer: Randomizer) -> None:
    """In rational numbers, for values on and off the grid of a rounding."""
    machine = device(randomizer)
    known = floor(machine)
    for value in (0.0, 0.25, 0.375, 0.5, 1.0):
        exact = law(machine, value)
        for edge in range(known.places + 1):
            below = float(sum(p for report, p in exact.items() if report[0] < edge))
            inside = min(max((edge - value * known.steps) / known.window, 0.0), 1.0)
            told = known.likelihood * edge + (1.0 - known.mass) * inside
            assert below == pytest.approx(told, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("randomizer", KINDS, ids=str)
def test_windows_are_estimated_without_bias(randomizer: Randomizer, crowd: str) -> None:
    """Means within 5 standard errors; errors of fixed users never above what is said by 15 %."""
    users, known = CROWDS[crowd], floor(device(randomizer))
    found = [tally._before() for tally in _tallies(randomizer, users)]
    edges = np.linspace(1, known.places - 1, 7).astype(int)
    raw, said = (np.array([each[i][edges] for each in found]) for i in (0, 2))
    at = (edges[:, None] - users * known.steps) / known.window
    truth = np.clip(at, 0.0, 1.0).mean(axis=1)
    spread = raw.std(axis=0)
    assert np.all(np.abs(raw.mean(axis=0) - truth) <= 5.0 * spread / np.sqrt(TIMES) + 1e-12)
    typical = np.sqrt((said**2).mean(axis=0))
    assert np.all(spread <= 1.15 * typical)
    if crowd == "ends":  # no window but the outermost holds anybody
        assert np.all(typical[1:-1] <= 1.15 * spread[1:-1])


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("randomizer", KINDS, ids=str)
def test_intervals_of_quantiles_cover(randomizer: Randomizer, crowd: str) -> None:
    """At least 93 % of 300: windows make more than 95 % of it."""
    users = CROWDS[crowd]
    truth = np.quantile(users, SHARES, method="inverted_cdf")
    inside = []
    for tally in _tallies(randomizer, users):
        low, high = tally.quantiles(SHARES).interval()
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside, axis=0).min() >= 0.93


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("randomizer", KINDS, ids=str)
def test_intervals_of_cells_cover(randomizer: Randomizer, crowd: str) -> None:
    users, bins = CROWDS[crowd], 8
    truth = np.histogram(users, bins, (0.0, 1.0))[0] / N
    inside = []
    for tally in _tallies(randomizer, users, 200):
        found = tally.histogram(bins)
        assert found.values.sum() == pytest.approx(1.0, abs=1e-9)
        low, high = found.interval()
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside, axis=0).min() >= 0.9
    assert np.mean(inside) >= 0.94


def test_the_mean_of_the_same_reports_is_covered() -> None:
    for randomizer in KINDS:
        for crowd in ("even", "skewed"):
            users, inside = CROWDS[crowd], 0
            for tally in _tallies(randomizer, users):
                low, high = tally.estimate().interval()
                inside += bool(low[0] <= users.mean() <= high[0])
            assert 0.91 <= inside / TIMES <= 0.985  # 95 %, within 3.5 standard errors


@pytest.mark.parametrize("name", ["plateau", "rounding"])
def test_intervals_are_at_most_twice_the_spread(name: str) -> None:
    """As planned, for values within a third of the range; the estimates scatter by 3.92 sd."""
    n = 5000
    users = 0.2 + (np.arange(n) + 0.5) / (3.0 * n)
    made = {each.name: each for each in plan(MeanQuantiles(n), Target(2.0, 1e-6, n)).choices}
    machine, stream = made[name].device, simulation(4)
    assert machine is not None
    found = []
    for _ in range(60):
        tally = Distribution(machine)
        tally.add(machine.encode(users, stream))
        found.append(tally.quantiles([0.5]))
    values = np.array([each.values[0] for each in found])
    widths = np.array([np.subtract(*each.interval()[::-1])[0] for each in found])
    assert widths.mean() <= 2.0 * 3.92 * values.std()
    assert widths.mean() / 2.0 == pytest.approx(made[name].error, rel=0.15, abs=0.0)


def test_parts_add_up() -> None:
    machine = device(KINDS[0])
    reports = machine.encode(CROWDS["skewed"], simulation(5))
    whole, parts = Distribution(machine), [Distribution(machine) for _ in range(3)]
    whole.add(reports)
    for part, block in zip(parts, np.array_split(reports, 3), strict=True):
        part.add(block)
    for other in parts[1:]:
        parts[0].merge(other)
    assert parts[0].quantiles(SHARES).values.tolist() == whole.quantiles(SHARES).values.tolist()
    assert parts[0].estimate().values.tolist() == whole.estimate().values.tolist()


def test_those_who_stay_silent_are_missing() -> None:
    """Who reports is chance, too: intervals are longer by it, and cover."""
    users, inside = CROWDS["even"], []
    machine, stream = device(CheckIn(DiscretePiecewise(300, 3, eps0=8.0), 0.5)), simulation(9)
    for _ in range(200):
        tally = Distribution(machine)
        tally.add(machine.encode(users, stream))
        low, high = tally.quantiles([0.5]).interval()
        inside.append(low[0] <= 0.5 <= high[0])
    assert np.mean(inside) >= 0.93


def test_raw_values_stay_beside_moved_ones() -> None:
    tally = _tallies(KINDS[0], CROWDS["ends"], 1)[0]
    raw = tally.histogram(16)
    for moved in (raw.on_simplex(), raw.non_negative(), raw.non_negative().on_simplex()):
        assert moved.projected
        assert moved.raw is not None
        assert moved.raw.tolist() == raw.values.tolist()
        assert moved.values.min() >= 0.0
        for one, other in zip(moved.interval(), raw.interval(), strict=True):
            assert one.tolist() == other.tolist()
        assert [each["raw"] for each in moved.to_dict()["estimates"]] == raw.values.tolist()
    assert raw.on_simplex().values.sum() == pytest.approx(1.0, abs=1e-12)


def test_what_has_no_floor_is_refused() -> None:
    with pytest.raises(ParameterError, match="plateau, piecewise or rounding"):
        floor(device(KRR(3, eps0=1.0)))
    with pytest.raises(ParameterError, match="at least two"):
        Distribution(device(KINDS[0])).quantiles([0.5])
