"""A hundred million users end to end, in bounded memory; growth with the number of users.

    python bench/pipeline.py [--users 100000000] [--json]

Writes a Parquet table of users, then in a process of its own: plans, randomizes every row, shuffles all
reports through files, writes them, and estimates. Shows CPU seconds and the largest memory of that
process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from figures import Figure, publish

_ROWS = 1 << 20


def write_users(path: Path, users: int) -> None:
    """A column of 16 values."""
    generator = np.random.default_rng(1)
    schema = pa.schema([("value", pa.string())])
    names = pa.array([f"v{i}" for i in range(16)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, users, _ROWS):
            size = min(_ROWS, users - start)
            places = pa.array(np.minimum(generator.geometric(0.3, size) - 1, 15))
            writer.write_batch(pa.record_batch([names.take(places)], schema=schema))


def whole(users: int) -> Figure:
    """One collection, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        data, reports = Path(folder) / "users.parquet", Path(folder) / "reports.parquet"
        write_users(data, users)
        line = (
            f"run {data} --column value --task histogram --epsilon 1 --delta 1e-10 --mechanism krr"
            f" --categories {','.join(f'v{i}' for i in range(16))} --reports {reports} --json"
        )
        program = (
            "import json, resource, runpy, sys\n"
            f"sys.argv = ['shuffledp', *{line.split()!r}]\n"
            "try:\n    runpy.run_module('shuffledp', run_name='__main__')\n"
            "except SystemExit as end:\n    assert not end.code\n"
            "used = resource.getrusage(resource.RUSAGE_SELF)\n"
            "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"TMPDIR": folder},
            check=True,
            capture_output=True,
            text=True,
        )
        size = pq.ParquetFile(reports).metadata.num_rows
    used, memory = json.loads(done.stderr.splitlines()[-1])
    if not json.loads(done.stdout)["reports"] == size == users:
        raise SystemExit(f"{users} users, but {size} reports")
    return Figure("run, histogram of 16; users", users, used, note=f"{memory / 1024**2:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=100_000_000)
    parser.add_argument("--json", action="store_true")
    most = parser.parse_args().users
    sizes = [10**k for k in range(6, 12) if 10**k < most] + [most]
    publish("A collection end to end, planning included", [whole(users) for users in sizes])


if __name__ == "__main__":
    main()
