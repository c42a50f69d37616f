"""Many processes spend from one cohort at once; some are killed with SIGKILL.

Run by itself, so that it may fork: python -m tests.ledger.spenders STORE THING FILE SPENDERS KILLS
Each receipt's number goes to the end of FILE as soon as its spender holds it. When the kills are
done the spenders go on until the budget is used up.
"""

import os
import random
import signal
import sys
import time

from shuffledp import LDP, BudgetExceededError, LedgerError, Shuffled
from shuffledp.ledger import Guarantee, Ledger

THINGS: dict[str, Guarantee | Shuffled] = {
    "stated": Guarantee("0.01", "1e-9"),
    "protocol": Shuffled(LDP(eps0=0.3), n=100),
}


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


def start(ledger: Ledger, thing: str, file: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            spend_on(ledger, thing, file)
        finally:
            os._exit(0)
    return child


def main(store: str, thing: str, path: str, spenders: int, kills: int) -> None:
    chance = random.Random(7)
    ledger = Ledger.open(store, timeout=300.0)
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND)
    alive = [start(ledger, thing, file) for _ in range(spenders)]
    for _ in range(kills):
        enough = os.fstat(file).st_size + 4 * chance.randrange(4)  # a few receipts later
        while os.fstat(file).st_size < enough:
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                raise SystemExit("the budget was used up before the last kill")
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.01))
        victim = alive.pop(chance.randrange(len(alive)))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        alive.append(start(ledger, thing, file))
    for child in alive:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]))
