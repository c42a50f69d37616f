"""A spender killed everywhere: the book stays whole, and nothing acknowledged is lost.

Run by itself, so that it may fork: python -m tests.ledger.killed STORE FOLDER MANNER
"""

import os
import sys
from pathlib import Path

from shuffledp.ledger import Guarantee, Ledger
from shuffledp.ledger.sqlite import SQLiteStore
from tests.killing import kill_everywhere

SPENT = Guarantee("0.01", "1e-9")


def main(store: str, place: str, manner: str) -> None:
    """Prints, for each kill, how many spends it left in the book, and how many it acknowledged."""
    folder = Path(place)
    receipts, following = folder / "acknowledged", folder / "next"
    receipts.touch()
    following.write_text("1")
    ledger = Ledger.open(store)
    ledger.create("users", "10", "1e-5")

    def work() -> None:
        file = os.open(receipts, os.O_WRONLY | os.O_APPEND)
        number = int(following.read_text())
        if manner == "careless":  # a negative control: the receipt before the record
            os.write(file, f"{number}\n".encode())
        assert ledger.spend("users", SPENT).number == number
        if manner == "careful":
            os.write(file, f"{number}\n".encode())

    def check(ended: bool) -> None:
        acknowledged = [int(line) for line in receipts.read_text().splitlines()]
        numbers = [receipt.number for receipt in ledger.history("users")]
        assert set(acknowledged) <= set(numbers), "a spend was lost"
        assert [found.problems for found in ledger.verify()] == [()]
        (entry,) = ledger.balance("users").entries or (None,)
        assert len(numbers) == (entry.rounds if entry else 0)
        if isinstance(ledger.store, SQLiteStore):
            with ledger.store.transaction(write=False) as execute:
                assert execute("PRAGMA integrity_check") == [("ok",)]
        following.write_text(f"{len(numbers) + 1}")
        print(len(numbers), len(acknowledged), "ended" if ended else "killed", flush=True)

    kill_everywhere(folder, work, check)


if __name__ == "__main__":
    main(*sys.argv[1:])
