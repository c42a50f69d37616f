"""The planner: sound targets, errors as predicted, the command."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError, Plateau, RoundedResponse, Shuffled
from shuffledp.accounting.protocols import Rounds
from shuffledp.collection.analysis import Frequencies
from shuffledp.collection.analysis.means import decoder
from shuffledp.collection.devices import Device, device, secure
from shuffledp.collection.devices.vectors import CoordinateDevice, GaussianVectorDevice
from shuffledp.collection.planning import (
    HeavyHitters,
    Histogram,
    Mean,
    MeanQuantiles,
    Plan,
    Quantiles,
    Sometimes,
    Target,
    Task,
    Vector,
    limits,
    plan,
)
from shuffledp.interfaces.cli import main

STREAM = secure()
K = 12


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {
        "histogram": plan(Histogram(K), Target(1.0, 1e-6, 3000)),
        "mean": plan(Mean(), Target(1.0, 1e-6, 300)),
        "vector": plan(Vector(3), Target(1.0, 1e-6, 3000)),
    }


def _simulated_histogram(machine: Device, n: int, repeats: int) -> float:
    shares = np.array([n // 2] + [0] * (K - 1)) + n // 2 // K
    users = np.repeat(np.arange(K), shares)
    truth = shares / users.size
    errors = []
    for _ in range(repeats):
        tally = Frequencies(machine)
        tally.add(machine.encode(users, STREAM))
        errors.append(np.mean((tally.estimate().values - truth) ** 2))
    return math.sqrt(float(np.mean(errors)) * users.size / n)


def _simulated_mean(machine: Device, n: int, samples: int) -> float:
    """From so many means of n users; those of a vector's coordinates have independent errors."""
    inner = getattr(machine, "inner", machine)
    decoding = decoder(inner)
    value = max((i / 4.0 for i in range(5)), key=decoding.variance)
    if isinstance(machine, GaussianVectorDevice):
        repeats = samples // 3
        reports = machine.encode(np.full((n * repeats, 3), value), STREAM)
        means = decoding.decode(reports.ravel()).reshape(repeats, n, 3).mean(axis=1)
        return math.sqrt(float(np.mean((means - value) ** 2)))
    if inner is machine:
        reports = machine.encode(np.full(n * samples, value), STREAM)
        means = decoding.decode(reports[:, -1]).reshape(samples, n).mean(axis=1)
        return math.sqrt(float(np.mean((means - value) ** 2)))
    assert isinstance(machine, CoordinateDevice)
    repeats = samples // machine.dimensions
    share, high, low, _ = decoding.hardest_users(1.0 / machine.dimensions)
    users = np.where(np.arange(n * repeats) % n < round(share * n), high, low)
    value = float(users[:n].mean())
    reports = machine.encode(np.tile(users[:, None], (1, machine.dimensions)), STREAM)
    away = (decoding.decode(reports[:, -1]) - value).reshape(repeats, n)
    asked = reports[:, 0].reshape(repeats, n)
    errors = [
        np.where(asked == i, away, 0.0).sum(axis=1) / (asked == i).sum(axis=1)
        for i in range(machine.dimensions)
    ]
    return math.sqrt(float(np.mean(np.square(errors))))


@pytest.mark.parametrize("task", ["histogram", "mean", "vector"])
def test_predicted_errors_are_those_of_a_simulation(plans: dict[str, Plan], task: str) -> None:
    """Within 5 %, five standard deviations or more of the simulated error itself."""
    made = plans[task]
    for choice in made.choices:
        assert choice.device is not None
        if task == "histogram":
            simulated = _simulated_histogram(choice.device, made.target.n, 450)
        else:
            n = made.target.n
            simulated = _simulated_mean(choice.device, n if task == "mean" else 300, 6000)
            simulated *= 1.0 if task == "mean" else math.sqrt(300 / n)
        assert simulated == pytest.approx(choice.error, rel=0.05, abs=0.0), choice.name


@pytest.mark.parametrize("task", ["histogram", "mean", "vector"])
def test_every_choice_meets_the_target_nearly_exactly(plans: dict[str, Plan], task: str) -> None:
    made = plans[task]
    for choice in made.choices:
        assert choice.device is not None
        if choice.eps0 is None:  # unbounded likelihood ratios take their time
            assert choice.achieved is not None
            assert 0.7e-6 < choice.achieved.value <= 1e-6
            assert choice.achieved.status.value == "PROVEN"
            continue
        found = Shuffled(choice.device.randomizer, made.target.n).delta(made.target.epsilon)
        assert 0.87e-6 < found.upper <= 1e-6
        assert found.status.value == "PROVEN"


def test_the_order_and_the_baselines(plans: dict[str, Plan]) -> None:
    for made in plans.values():
        errors = [choice.error for choice in made.choices]
        assert errors == sorted(errors)
        local, central = made.baselines
        assert central.error < made.best.error < local.error
        assert (local.trust, central.trust) == ("nobody", "curator")


def test_rounds_are_composed() -> None:
    """More than an equal share for each round, and never more than the target."""
    target = Target(1.0, 1e-6, 10_000, rounds=10)
    build = Histogram(K).randomizers()["krr"]
    found = target.largest(build)[1]
    share = Target(0.1, 1e-7, 10_000).largest(build)[1]
    assert found.randomizer.eps0 > 1.2 * share.randomizer.eps0
    together = Rounds([(Shuffled(found.randomizer, 10_000), 10)]).delta(1.0)
    assert together.upper <= 1e-6
    assert target.achieved(found.randomizer).value == together.upper


def test_a_tiny_crowd_keeps_its_local_budget() -> None:
    found = Target(0.5, 1e-9, 1).largest(Histogram(K).randomizers()["krr"])[1]
    assert found.randomizer.eps0 == pytest.approx(0.5, rel=2e-3, abs=0.0)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0.0}, {"delta": 1.0}, {"n": 0}, {"rounds": 0}, {"n": 1.5}]
)
def test_bad_targets(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "n": 10, "rounds": 1} | wrong
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Target(**given)


def test_command(tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    line = f"plan --task histogram --k 5 --n 2000 --epsilon 1 --delta 1e-5 --plot {picture}"
    shown = CliRunner().invoke(main, line.split())
    assert shown.exit_code == 0, shown.output
    assert "PROVEN by blanket" in shown.stdout
    assert picture.stat().st_size > 10_000
    printed = json.loads(CliRunner().invoke(main, [*line.split()[:-2], "--json"]).stdout)
    users = 2000 * printed["choices"][0]["error"]
    assert f"off by about {users:.3g} of 2,000 users" in printed["advice"][0]
    assert all(line in shown.stdout for line in printed["advice"])
    assert {row["name"] for row in printed["choices"]} == {
        "krr",
        "rappor",
        "oue",
        "olh",
        "hadamard",
        "subset",
    }
    missing = CliRunner().invoke(
        main, ["plan", "--task", "vector", "--n", "9", "--epsilon", "1", "--delta", "0.1"]
    )
    assert missing.exit_code == 2
    assert "dimensions" in missing.output


def test_a_local_budget_that_hides_nothing_is_pointed_out() -> None:
    weak = plan(Histogram(4), Target(epsilon=0.1, delta=1e-6, n=1000))
    loud = plan(Histogram(4), Target(epsilon=1.0, delta=1e-6, n=10**7))
    assert weak.best.eps0 < 5.0 < loud.best.eps0
    assert not any("if the shuffler fails" in line for line in weak.advice)
    assert any("if the shuffler fails" in line for line in loud.advice)


def test_devices_rebuild_what_was_planned(plans: dict[str, Plan]) -> None:
    best = plans["histogram"].best
    assert best.device is not None
    assert device(best.device.randomizer).randomizer.eps0 <= best.device.randomizer.eps0


@pytest.mark.parametrize("epsilon", [1e-4, 50.0])
def test_noise_no_device_can_add_is_left_out(epsilon: float) -> None:
    made = plan(Mean(), Target(epsilon, 1e-6, 5))
    assert "gaussian" not in {choice.name for choice in made.choices}
    assert len(made.choices) == 6


def test_gaussian_noise_is_planned_for_one_round_only() -> None:
    made = plan(Mean(), Target(1.0, 1e-4, 50, rounds=2))
    assert "gaussian" not in {choice.name for choice in made.choices}
    assert all(choice.achieved.value <= 1e-4 for choice in made.choices if choice.achieved)


def test_a_largest_local_budget_is_kept_and_costs_accuracy(plans: dict[str, Plan]) -> None:
    capped = plan(Histogram(K), Target(1.0, 1e-6, 3000, max_eps0=2.0))
    for choice in capped.choices:
        assert choice.eps0 is not None
        assert 1.99 < choice.eps0 <= 2.0
        assert choice.achieved is not None
        assert choice.achieved.value <= 1e-6
    assert capped.best.error > plans["histogram"].best.error
    loose = plan(Histogram(K), Target(1.0, 1e-6, 3000, max_eps0=30.0))
    assert loose.best.error == plans["histogram"].best.error
    only_pure = plan(Mean(), Target(1.0, 1e-6, 300, max_eps0=2.0))
    assert "gaussian" not in [choice.name for choice in only_pure.choices]


def test_colluders_hide_nobody(plans: dict[str, Plan]) -> None:
    found = plan(Histogram(K), Target(1.0, 1e-6, 6000, colluders=3000))
    for choice in found.choices:
        assert choice.device is not None
        alone = Shuffled(choice.device.randomizer, 6000, 3000).delta(1.0).upper
        assert alone <= 1e-6
    assert found.best.eps0 == pytest.approx(plans["histogram"].best.eps0, rel=1e-2, abs=0.0)


def test_users_who_report_sometimes() -> None:
    """The error is that of a simulation, within five standard deviations of it."""
    rate, n, repeats = 0.25, 4000, 300
    made = plan(Sometimes(Histogram(4), rate), Target(1.0, 1e-6, n))
    machine = made.best.device
    assert machine is not None
    assert Shuffled(machine.randomizer, n).delta(1.0).upper <= 1e-6
    assert machine.reporting == rate
    users = np.repeat(np.arange(4), n // 4)
    errors = []
    for _ in range(repeats):
        tally = Frequencies(machine)
        tally.add(machine.encode(users, STREAM))
        errors.append(np.mean((tally.estimate().values - 0.25) ** 2))
    spread = float(np.std(errors)) / math.sqrt(repeats)
    assert abs(float(np.mean(errors)) - made.best.error**2) < 5.0 * spread + 0.02 * np.mean(errors)


def test_quantiles_are_ranked_by_the_error_of_a_rank() -> None:
    n, bins, repeats = 2000, 16, 300
    made = plan(Quantiles(bins), Target(1.0, 1e-6, n))
    assert "hadamard" not in [choice.name for choice in made.choices]
    machine = made.best.device
    assert machine is not None
    users = np.arange(n) % bins
    below = []
    for _ in range(repeats):
        tally = Frequencies(machine)
        tally.add(machine.encode(users, STREAM))
        below.append(float(tally.estimate().values[: bins // 2].sum()))
    assert float(np.std(below)) == pytest.approx(made.best.error, rel=0.25, abs=0.0)
    assert "in rank" in str(made)


@pytest.mark.parametrize(
    ("task", "rounds"),
    [
        ("--task heavy-hitters --letters 2", 2),
        ("--task histogram --k 5", 1),
        ("--task quantiles --bins 16 --max-eps0 3", 1),
        *(
            pytest.param(task, rounds, marks=pytest.mark.slow)
            for task, rounds in (
                ("--task histogram --k 5", 2),
                ("--task quantiles --bins 16", 2),
                ("--task mean", 2),
                ("--task vector --dimensions 2", 2),
            )
        ),
    ],
)
def test_what_plan_says_to_paste_runs(
    task: str, rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "DATA.csv", "--rows", "3000"]).exit_code == 0
    Path("VALUES.txt").write_text("car\nbus\ntrain\nbike\nwalk\n")
    target = f"--n 3000 --epsilon 2 --delta 1e-6 --rounds {rounds}"
    words = f"plan {task} {target} --save plan.json --json"
    made = json.loads(CliRunner().invoke(main, words.split()).stdout)
    column = {"histogram": "transport", "heavy-hitters": "app"}.get(made["task"], "minutes")
    for step in made["next"]:
        line = step.replace("COLUMN", column).replace("LEAST", "0").replace("MOST", "120")
        line = line.replace("--column minutes --column minutes", "--column minutes --column eps")
        done = CliRunner().invoke(main, line.split()[1:])
        assert done.exit_code == 0, (line, done.output)
    assert f"1 of {rounds} round{'s' if rounds > 1 else ''} of 3,000 users" in done.stderr


_QUICK = (
    "histogram --k 5",
    "histogram --k 5 --check-in 0.5",
    "quantiles --bins 16 --colluders 20",
    "mean,quantiles --check-in 0.5",
    "heavy-hitters --letters 2 --check-in 0.5",
    "heavy-hitters --letters 3 --max-eps0 2 --colluders 3",
    "vector --dimensions 2 --messages 2",
)
_WHAT_IF = ("", " --rounds 3", " --check-in 0.5", " --colluders 20", " --max-eps0 2")
_LONG = [
    f"{task}{more}"
    for task, also in {
        "histogram --k 5": [" --several-messages", " --several-messages --max-eps0 3"],
        "quantiles --bins 16": [],
        "mean": [" --several-messages", " --several-messages --colluders 10"],
        "sum": [" --several-messages"],
        "mean,quantiles": [],
        "heavy-hitters": [],
        "vector --dimensions 2": [" --messages 2 --rounds 2", " --messages 2 --max-eps0 2"],
        "vector --dimensions 2 --norm 0.3": [],
    }.items()
    for more in [*_WHAT_IF, *also]
    if f"{task}{more}" not in _QUICK
]


@pytest.mark.parametrize(
    "task", [*_QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in _LONG)]
)
def test_the_command_of_every_row_runs(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "DATA.csv", "--rows", "1000"]).exit_code == 0
    Path("VALUES.txt").write_text("car\nbus\ntrain\nbike\nwalk\n")
    words = f"plan --task {task} --n 1000 --epsilon 2 --delta 1e-6"
    made = json.loads(CliRunner().invoke(main, [*words.split(), "--json"]).stdout)
    shown = "" if task in _LONG else CliRunner().invoke(main, words.split()).stdout
    column = {"histogram": "transport", "heavy-hitters": "app"}.get(made["task"], "minutes")
    data = {"COLUMN": column, "LEAST": "0", "MOST": "120", "NORM": "36"}
    for row in [*made["choices"], *made.get("shapes", [])]:
        line = row["command"]
        assert not shown or line in shown
        for placeholder, value in data.items():
            line = line.replace(placeholder, value)
        line = line.replace("--column minutes --column minutes", "--column minutes --column eps")
        done = CliRunner().invoke(main, [*line.split()[1:], "--json"])
        assert done.exit_code == 0, (line, done.output)
        assert json.loads(done.stdout)["privacy"]["upper"] <= 2.0
        assert 300 <= json.loads(done.stdout).get("reports", 1000) <= 1000
    for limit in made["limits"]:
        assert not shown or f"{limit['error']:.2g}" in shown


def test_what_check_in_does_not_go_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample-data", "DATA.csv", "--rows", "100"]).exit_code == 0
    mean = "DATA.csv --column minutes --task mean --low 0 --high 120 --delta 1e-3"
    mean += " --mechanism plateau"
    for line, why in (
        (f"run {mean} --epsilon 1 --check-in 0.5 --on-bad-rows drop --minimum 50", "who is silent"),
        (f"run {mean} --epsilon 1 --check-in 0.5 --reports r.parquet", "files of reports"),
        (f"run {mean} --epsilon 1 --check-in 0", "strictly between 0 and 1"),
        (f"run {mean} --epsilon 1 --check-in 0.5 --n 101", "at least the promised batch"),
        (f"run {mean} --epsilon 1 --strength 1", "--eps0 or --strength"),
        (f"run {mean} --strength 1", "a local budget"),
        (f"run {mean} --epsilon 1 --check-in 0.5 --mechanism noise-shares", "several_messages"),
        (
            "plan --task vector --dimensions 2 --messages 2 --n 100 --epsilon 1 --delta 1e-3"
            " --check-in 0.5",
            "left out with --messages",
        ),
    ):
        done = CliRunner().invoke(main, line.split())
        assert done.exit_code == 2, (line, done.output)
        assert why in done.output, (line, done.output)


@pytest.mark.parametrize("target", [Target(0.5, 1e-7, 100_000), Target(1.0, 1e-6, 1000)])
def test_width_and_levels_are_nearly_the_best(target: Target) -> None:
    """Against an exact account of others, tried one by one: at most 1 % of error is lost."""
    found = {each.name: each for each in plan(Mean(), target).choices}
    for name, tried in (
        ("plateau", [lambda e, w=w: Plateau(w, eps0=e) for w in (0.1, 0.14, 0.2, 0.4, 0.6)]),
        ("rounding", [lambda e, k=k: RoundedResponse(k, eps0=e) for k in (3, 4, 5, 9, 10, 12)]),
    ):
        for build in tried:
            machine = target.largest(build)[1]
            error = math.sqrt(Mean().variance(machine, target.n))
            assert found[name].error <= 1.01 * error


def test_the_mean_of_many_errs_little() -> None:
    """0.026 % of the range for 100,000 users at (0.5, 1e-7), where piecewise has 0.038 %."""
    made = plan(Mean(), Target(0.5, 1e-7, 100_000))
    assert made.best.name == "plateau"
    assert made.best.error <= 2.6e-4


@given(
    st.floats(1e-3, 30.0),
    st.floats(-9.0, -1.0),
    st.integers(1, 10**6),
)
@settings(max_examples=30, deadline=None)
def test_nothing_errs_less_than_the_limits(epsilon: float, exponent: float, n: int) -> None:
    target = Target(epsilon, 10.0**exponent, n)
    anybody, one_message = limits(Mean(), target)
    assert 0.0 <= anybody.error <= one_message.error <= 0.5
    curator = math.sqrt(2.0) / (epsilon * n)
    assert anybody.error <= curator


def test_the_limit_of_one_message_by_hand() -> None:
    """Three levels, n = 1: only the ends can be confused by more than a step."""
    target = Target(1e-9, 0.0 + 1e-300, 1)
    # levels 0, 1/2, 1: misses cost 1/16; s = (2, 0, 2) / 4
    three = (2 * min(1 / 16, 0.5) + 0.0) / 3
    assert limits(Mean(), target)[1].error ** 2 >= three * (1 - 1e-9)
    assert limits(Mean(), target)[0].error ** 2 == pytest.approx(1 / 8, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 3000])
@pytest.mark.parametrize(
    "task",
    [
        Histogram(2),
        Histogram(3),
        Histogram(40),
        Quantiles(16),
        HeavyHitters(16),
        Vector(3, 0.2),
        Sometimes(Histogram(5), 0.5),
    ],
)
def test_every_task_has_limits(task: Task, n: int) -> None:
    """Below what every mechanism does; beside the plan in text and JSON."""
    target = Target(1.0, 1e-6, n)
    anybody, one_message = limits(task, target)
    assert 0.0 < anybody.error <= one_message.error < 0.5
    names = [name for name in task.randomizers() if "gauss" not in name and "lap" not in name]
    for name in names[:3]:
        assert Plan.of(task, target, name).error >= one_message.error
    assert limits(MeanQuantiles(n), target) == []


def test_the_limits_of_counts_by_hand() -> None:
    """One user with one of two values: no protocol is right by more than the guarantee allows."""
    target = Target(1e-9, 1e-300, 1)
    # equally likely whatever is seen: the best answer is 1/2, but the middle is not forbidden
    assert limits(Histogram(2), target)[0].error ** 2 == pytest.approx(1 / 8, rel=1e-6, abs=0.0)
    # the value is guessed wrong half of the time: 1/2 in all, 1/4 for each of the two values
    assert limits(Histogram(2), target)[1].error ** 2 == pytest.approx(1 / 4, rel=1e-6, abs=0.0)
    # of four values with one user a single pair can differ: two of four frequencies
    both = limits(Histogram(4), target)
    assert both[0].error ** 2 == pytest.approx(1 / 16, rel=1e-6, abs=0.0)
    # guessed wrong three times of four
    assert both[1].error ** 2 == pytest.approx(3 / 16, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("name", ["plateau", "rounding", "one-bit", "piecewise"])
def test_choices_stay_above_the_limits(name: str) -> None:
    for n, epsilon in ((2, 0.1), (100, 3.0), (10_000, 0.5)):
        target = Target(epsilon, 1e-6, n)
        machine = target.largest(Mean().randomizers()[name])[1]
        assert math.sqrt(Mean().variance(machine, n)) >= limits(Mean(), target)[1].error
