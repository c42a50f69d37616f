"""A day of very many reports through several shufflers, simulated: queues, delays, failures, batches.

    python examples/scale.py [--reports 1e9] [--tasks 4] [--shufflers 4] [--minimum 1e6] [--every 3600] [--seed 1] [--json]

Second by second: devices report at a rate that follows the day, a load balancer spreads them over the
shufflers of their task, each shuffler stores what its core and the database manage, refuses what its queue
does not hold, and devices come again later. Shufflers crash and lose what they had not acknowledged; the
database fails over and stores nothing meanwhile; releases are made one after another, and one that is
interrupted starts over. Speeds are those of ``bench/service.py``. No report is ever counted twice or lost: that is
checked at the end, as is the minimum of every batch.
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

DAY = 86_400


@dataclass(frozen=True)
class Plan:
    """What is deployed; speeds are in reports per second."""

    reports: int = 10**9
    tasks: int = 4
    shufflers: int = 4
    """Processes for each task, each with a core of its own."""
    minimum: int = 10**6
    every: int = 3600
    """Seconds between releases of a task."""
    core: float = 3500.0
    """Single reports that one process stores."""
    row: float = 9000.0
    """Reports of one task that the database stores: its row is locked by one process at a time."""
    database: float = 40_000.0
    """Reports of all tasks that the database stores."""
    release: float = 200_000.0
    """Reports that are read, permuted, written and deleted."""
    waiting: int = 20_000
    """Reports in the queue of a process, before it refuses."""
    patience: float = 20.0
    """Seconds after which a refused device comes again, on average."""
    swing: float = 0.6
    """The busiest second has so much more than the average, the quietest so much less."""
    crash: float = 86_400.0
    """Seconds between two crashes of a process, on average."""
    restart: int = 30
    failover: int = 2
    """Times a day that the database is away."""
    away: int = 60
    """Seconds for which it is."""


@dataclass
class Outcome:
    """What became of the day."""

    stored: int = 0
    refused: int = 0
    crashes: int = 0
    queue: list[int] = field(default_factory=list)
    retrying: list[int] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    left: int = 0
    """Reports that wait for a batch at the end."""

    def summary(self) -> dict[str, float]:
        queue, retrying = np.array(self.queue), np.array(self.retrying)
        delays = np.array(self.delays or [np.nan])
        return {
            "reports stored": self.stored,
            "refusals per report": self.refused / max(1, self.stored),
            "crashes of a process": self.crashes,
            "queue, median": float(np.median(queue)),
            "queue, 99 %": float(np.quantile(queue, 0.99)),
            "queue, longest": float(queue.max()),
            "devices that come again, most": float(retrying.max()),
            "seconds with such devices": int((retrying > 0).sum()),
            "batches": len(self.batches),
            "smallest batch": min(self.batches, default=0),
            "largest batch": max(self.batches, default=0),
            "release delay, median (s)": float(np.median(delays)),
            "release delay, longest (s)": float(delays.max()),
            "reports left for the next day": self.left,
        }


def simulate(plan: Plan, seed: int = 1, seconds: int = DAY) -> Outcome:
    """One day, or the first seconds of it."""
    random, outcome = np.random.default_rng(seed), Outcome()
    shape = (plan.tasks, plan.shufflers)
    queue, back = np.zeros(shape, np.int64), np.zeros(shape, np.int64)  # back: when it is up again
    retrying, waiting = np.zeros(plan.tasks, np.int64), np.zeros(plan.tasks, np.int64)
    came = 0
    down = np.zeros(seconds + plan.away, bool)
    for start in random.integers(0, seconds, plan.failover):
        down[start : start + plan.away] = True
    due: deque[tuple[int, int]] = deque()  # tasks to be released, and since when
    begun: tuple[int, int, int] | None = None  # task, since when, size
    work = 0.0
    for second in range(seconds):
        fresh, again = _arrivals(plan, random, second, retrying)
        came += int(fresh.sum())
        retrying -= again
        up = back <= second
        refused = _offer(plan, random, queue, fresh + again, up)
        crashed = up & (random.random(shape) < 1.0 / plan.crash)
        refused += (queue * crashed).sum(axis=1)  # not acknowledged: their devices come again
        queue[crashed], back[crashed] = 0, second + plan.restart
        outcome.crashes += int(crashed.sum())
        if not down[second]:
            taken = _stored(plan, queue * (back <= second))
            queue -= taken
            waiting += taken.sum(axis=1)
            outcome.stored += int(taken.sum())
        retrying += refused
        outcome.refused += int(refused.sum())
        outcome.queue.append(int(queue.sum()))
        outcome.retrying.append(int(retrying.sum()))
        # releases: one at a time, each whole or begun anew
        for task in range(plan.tasks):
            if (second + 1 + task * plan.every // plan.tasks) % plan.every == 0:
                due.append((task, second))
        if down[second]:
            work = 0.0
            continue
        if begun is None and due:
            task, since = due.popleft()
            if waiting[task] >= plan.minimum:
                begun, work = (task, since, int(waiting[task])), 0.0
                waiting[task] = 0
        if begun is not None:
            work += plan.release
            if work >= begun[2]:
                outcome.batches.append(begun[2])
                outcome.delays.append(second + 1 - begun[1])
                begun = None
    outcome.left = int(waiting.sum()) + (0 if begun is None else begun[2])
    assert outcome.stored == sum(outcome.batches) + outcome.left
    assert came == outcome.stored + int(queue.sum() + retrying.sum())
    assert all(size >= plan.minimum for size in outcome.batches)
    return outcome


def _arrivals(plan: Plan, random: Any, second: int, retrying: Any) -> tuple[Any, Any]:
    """Of each task: devices that report, and devices that come again."""
    rate = plan.reports / DAY * (1.0 + plan.swing * np.sin(2 * np.pi * (second / DAY - 0.25)))
    fresh = random.poisson(rate / plan.tasks, plan.tasks)
    return fresh, random.binomial(retrying, 1.0 - np.exp(-1.0 / plan.patience))


def _offer(plan: Plan, random: Any, queue: Any, arriving: Any, up: Any) -> Any:
    """Spread over the processes that are up; how many of each task were refused."""
    refused = np.zeros(plan.tasks, np.int64)
    for task in range(plan.tasks):
        alive = np.flatnonzero(up[task])
        if not len(alive):
            refused[task] = arriving[task]
            continue
        parts = random.multinomial(arriving[task], np.full(len(alive), 1.0 / len(alive)))
        fits = np.minimum(parts, plan.waiting - queue[task, alive])
        queue[task, alive] += fits
        refused[task] = arriving[task] - fits.sum()
    return refused


def _stored(plan: Plan, queue: Any) -> Any:
    """What a second is enough for: a core's share, a task's share, the database's."""
    able = np.minimum(queue, int(plan.core))
    tasks = able.sum(axis=1, keepdims=True)
    share = np.minimum(1.0, plan.row / np.maximum(tasks, 1))
    total = (tasks * share).sum()
    return np.floor(able * share * min(1.0, plan.database / max(total, 1.0))).astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    for name in ("reports", "tasks", "shufflers", "minimum", "every"):
        parser.add_argument(f"--{name}", type=float, default=getattr(Plan, name))
    given = parser.parse_args()
    plan = Plan(
        **{
            name: int(getattr(given, name))
            for name in ("reports", "tasks", "shufflers", "minimum", "every")
        }
    )
    summary = simulate(plan, given.seed).summary()
    if given.json:
        print(json.dumps({"plan": asdict(plan), "seed": given.seed, "outcome": summary}, indent=1))
        return
    for name, value in summary.items():
        print(f"{name:32} {value:,.4g}" if value % 1 else f"{name:32} {value:,.0f}")


if __name__ == "__main__":
    main()
