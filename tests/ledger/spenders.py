"""Many processes spend from one cohort at once; some are killed, or their sessions are, at a chosen step.

Run by itself, so that it may fork: python -m tests.ledger.spenders STORE THING FILE SPENDERS KILLS WHOM
Each receipt's number goes to the end of FILE as soon as its spender holds it. When the kills are
done the spenders go on until the budget is used up.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shuffledp import LDP, BudgetExceededError, LedgerError, Shuffled
from shuffledp.ledger import Guarantee, Ledger
from shuffledp.ledger.store import Execute, Store

THINGS: dict[str, Guarantee | Shuffled] = {
    "stated": Guarantee("0.01", "1e-9"),
    "protocol": Shuffled(LDP(eps0=0.3), n=100),
}
STEPS = 80
"""A few spends: each statement is a step, and each end of a transaction."""


@dataclass
class Doomed:
    """A store that sends SIGKILL after so many steps, to its own process or to its server's, and again."""

    store: Store
    whom: str
    steps: list[int]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    @contextmanager
    def transaction(self, *, write: bool, create: bool = False) -> Iterator[Execute]:
        with self.store.transaction(write=write, create=create) as execute:
            self._step(execute)

            def watched(sql: str, *values: object) -> list[tuple[Any, ...]]:
                rows = execute(sql, *values)
                self._step(execute)
                return rows

            yield watched
        self._step(None)  # recorded, and the spender has not heard of it

    def _step(self, execute: Execute | None) -> None:
        if not self.steps:
            return
        self.steps[0] -= 1
        if self.steps[0] > 0:
            return
        if self.whom == "spender":
            os.kill(os.getpid(), signal.SIGKILL)
        elif execute is not None:
            self.steps.pop(0)
            os.kill(execute("SELECT pg_backend_pid()")[0][0], signal.SIGKILL)


def spend_on(ledger: Ledger, thing: str, file: int) -> None:
    """Spend until the budget is used up; the store may go away for a while."""
    while True:
        try:
            receipt = ledger.spend("users", THINGS[thing])
            os.write(file, f"{receipt.number}\n".encode())
        except BudgetExceededError:
            return
        except LedgerError:
            time.sleep(0.05)


def start(work: Callable[[], None]) -> None:
    if os.fork() == 0:
        try:
            work()
        finally:
            os._exit(0)


def main(store: str, thing: str, path: str, spenders: int, kills: int, whom: str) -> None:
    chance = random.Random(7)
    ledger = Ledger.open(store, timeout=300.0)
    ledger.remaining("users", THINGS[thing])  # what it costs is computed once, not by everybody
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND)

    def begin(times: int = 0) -> None:
        doomed = Doomed(ledger.store, whom, [chance.randint(1, STEPS) for _ in range(times)])
        start(lambda: spend_on(Ledger(doomed), thing, file))

    alive = 0
    while whom == "spender" and (kills or alive):
        if kills and alive < spenders:
            begin(1)
            kills, alive = kills - 1, alive + 1
        elif os.WIFSIGNALED(os.wait()[1]):
            alive -= 1
        else:
            raise SystemExit("the budget was used up before the last kill")
    for _ in range(spenders):
        begin(kills)  # of servers: by the first one
        kills = 0
    for _ in range(spenders):
        os.wait()


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]), sys.argv[6])
