"""A hundred million users end to end, in bounded memory.

    python bench/pipeline.py [--users 100000000] [--json]

Writes a Parquet table of users, then in a process of its own: randomizes every row, shuffles all
reports through files, writes them, and estimates. Shows wall and CPU seconds and the largest
memory of that process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=100_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, reports = Path(folder) / "users.parquet", Path(folder) / "reports.parquet"
        write_users(data, options.users)
        line = (
            f"run {data} --column value --task histogram --epsilon 1 --delta 1e-10 --mechanism krr"
            f" --categories {','.join(f'v{i}' for i in range(16))}"
        )
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "shuffledp", *line.split(), "--reports", str(reports), "--json"],
            env=os.environ | {"TMPDIR": folder},
            check=True,
            capture_output=True,
            text=True,
        )
        wall = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = pq.ParquetFile(reports).metadata.num_rows
    found = json.loads(done.stdout)
    row = {
        "users": found["reports"],
        "shuffled_reports_written": size,
        "wall_seconds": wall,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "largest_memory_GiB": used.ru_maxrss / 1024**2,
        "epsilon": found["privacy"]["upper"],
    }
    for name, value in row.items():
        print(f"{name:>26} {value:,.6g}", file=sys.stderr)
    if options.json:
        print(json.dumps(row, indent=2))


if __name__ == "__main__":
    main()
