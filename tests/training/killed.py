"""A training run killed everywhere: what was shown was booked, and it is resumed to the same account.

Run by itself, so that it may fork: python -m tests.training.killed FOLDER MANNERS...
"""

import shutil
import sys
from pathlib import Path

import torch

from shuffledp.training import FileBook, run
from tests.killing import kill_everywhere
from tests.training.test_run import DATA, sgd

RELEASES = 2
_SMALL: dict[str, object] = {"epochs": RELEASES, "blocks": 4}


class Careless(FileBook):
    """A negative control: booked once the release is made."""

    def spend(self, releases: int) -> None:
        super().spend(releases - 1)


def sweep(folder: Path, manner: str) -> None:
    shown, book = folder / "shown", FileBook(folder / "book.json", {})
    whole = sgd(**_SMALL).account.after(RELEASES).epsilon

    def work() -> float:
        folder.mkdir(exist_ok=True)
        trainer = sgd(simulation=manner != "secure", **_SMALL)
        kept = Careless(folder / "book.json", {}) if manner == "careless" else None
        with shown.open("a", buffering=1) as file:
            history = run(
                trainer,
                DATA,
                folder=folder,
                book=kept,
                on_row=lambda row: print(row.release, file=file),
            )
        return history.spent.epsilon

    def check(ended: bool) -> None:
        seen = len(shown.read_text().splitlines())
        booked = book.total()
        assert seen <= booked, "more was shown than booked"
        assert work() == whole
        end = "ended" if ended else "killed"
        print(
            f"{manner} {end}: shown {seen}, booked {booked}, resumed to {book.total()}", flush=True
        )
        shutil.rmtree(folder)

    kill_everywhere(folder, work, check)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in sys.argv[2:]:
        sweep(Path(sys.argv[1]), each)
