"""The simulated day: nothing is lost, no batch is too small, and too little is seen to be too little."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from scale import DAY, Plan, simulate

SMALL = Plan(
    reports=10**8, tasks=2, shufflers=2, minimum=10**5, every=300, database=4000.0, waiting=2000
)
HOUR = 3600


def test_an_hour() -> None:
    found = simulate(SMALL, 7, HOUR)
    assert found == simulate(SMALL, 7, HOUR)
    assert found != simulate(SMALL, 8, HOUR)
    assert len(found.batches) > 10
    assert min(found.batches) >= SMALL.minimum
    assert found.refused > 0  # the database was away, and every report came again
    assert found.stored + found.queue[-1] + found.retrying[-1] == pytest.approx(
        10**8 * HOUR / DAY * (1 - SMALL.swing), rel=0.02, abs=0.0
    )


def test_a_calm_day_has_no_queue() -> None:
    calm = replace(SMALL, failover=0, crash=1e12)
    found = simulate(calm, 1, HOUR)
    assert max(found.queue) == found.refused == found.crashes == 0


def test_too_few_processes_are_seen() -> None:
    found = simulate(replace(SMALL, failover=0, crash=1e12, core=20.0), 1, HOUR)
    assert max(found.queue) == (SMALL.waiting - 20) * SMALL.tasks * SMALL.shufflers
    assert found.refused > found.stored


def test_what_is_below_the_minimum_waits() -> None:
    found = simulate(replace(SMALL, minimum=10**7), 1, HOUR)
    assert found.batches == []
    assert found.left == found.stored


def test_crashes_lose_nothing_that_was_acknowledged() -> None:
    found = simulate(replace(SMALL, crash=200.0), 3, HOUR)
    assert found.crashes > 20
    assert found.stored == sum(found.batches) + found.left
