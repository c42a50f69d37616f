"""Encode and shuffle, killed everywhere: outputs are absent, or whole and readable.

Run by itself, so that it may fork: python -m tests.collection.pipeline.killed FOLDER MANNER
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shuffledp.collection.devices import secure
from shuffledp.collection.pipeline import Job, analyze, encode, shuffle, tables
from tests.killing import kill_everywhere

N = 1000


@contextmanager
def _careless(_parameter: str, path: str | Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A negative control: the file has its name from the beginning."""
    with open(path, "wb") as file:
        yield file


def main(place: str, manner: str) -> None:
    folder = Path(place) / "outputs"
    folder.mkdir()
    data = folder.parent / "survey.csv"
    data.write_text("dest\n" + "ATL\nBOS\nLAX\nATL\n" * (N // 4))
    encoded, mixed = folder / "encoded.parquet", folder / "mixed.csv"
    job = Job("histogram", ("dest",), N, 1.0, 1e-6, "krr", 1.0, ("ATL", "BOS", "LAX"))
    job.checked(), tables.arrow()  # once, and not in every child
    if manner == "careless":
        tables.whole_file = _careless

    def work() -> None:
        encode(job, data, encoded, secure())
        shuffle(encoded, mixed, secure(), memory=4096)

    def check(ended: bool) -> None:
        whole = [path for path in (encoded, mixed) if path.exists()]
        for path in whole:
            assert analyze(path, unshuffled=True)[1].reports == N, path
        if ended:  # and what the killed ones left hidden is gone
            assert sorted(os.listdir(folder)) == [encoded.name, mixed.name]
        else:
            print("".join("-+"[path in whole] for path in (encoded, mixed)))
        for path in whole:
            path.unlink()
        sys.stdout.flush()

    kill_everywhere(folder, work, check)


if __name__ == "__main__":
    main(*sys.argv[1:])
