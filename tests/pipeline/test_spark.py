"""A real local cluster of two workers, one of which is killed: complete, and nothing twice."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp import ParameterError
from shuffledp.pipeline import Job, run
from shuffledp.pipeline.tables import read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
pytest.importorskip("pyspark")
from shuffledp.pipeline.spark import Spark, session  # noqa: E402

GROUPS, ROWS = 24, 100_000
JOB = Job("histogram", ("dest",), GROUPS * ROWS, 1.0, 1e-8, "krr", 3.0, ("A", "B", "C"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    started = session("local-cluster[2,1,1024]")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "users.parquet"
    values = np.repeat(["A", "B", "C"], [ROWS // 2, ROWS // 4, ROWS // 4])
    table = pa.table({"dest": values})
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(GROUPS):
            writer.write_table(table, row_group_size=ROWS)
    return path


def _descendants(of: int) -> dict[int, str]:
    """Processes this one started, and theirs."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(entry.name)] = int(status[1])
            lines[int(entry.name)] = (entry / "cmdline").read_text()
        except (OSError, ValueError, IndexError):
            continue
    found: dict[int, str] = {}
    waiting = [of]
    while waiting:
        parent = waiting.pop()
        for child in [pid for pid, above in parents.items() if above == parent]:
            found[child] = lines[child]
            waiting.append(child)
    return found


def _kill_one_worker(killed: list[int]) -> None:
    """End one executor as soon as it has started to work on a part."""
    for _ in range(600):
        mine = _descendants(os.getpid())
        busy = [
            pid
            for pid, line in mine.items()
            if "pyspark/daemon" in line or "pyspark.daemon" in line
        ]
        executors = [pid for pid, line in mine.items() if "CoarseGrainedExecutorBackend" in line]
        if busy and len(executors) >= 2:
            time.sleep(0.3)
            os.kill(executors[0], signal.SIGKILL)
            killed.append(executors[0])
            return
        time.sleep(0.1)


def _check(found: Any) -> None:
    assert found.reports == GROUPS * ROWS
    z = (found.values - [0.5, 0.25, 0.25]) / np.sqrt(found.variances)
    assert np.abs(z).max() < 6.0
    assert found.guarantee.upper <= 1.0


@pytest.mark.parametrize("reports", [False, True])
def test_a_killed_worker_costs_nothing(
    cluster: Any, data: Path, tmp_path: Path, reports: bool
) -> None:
    out = tmp_path / "mixed.parquet" if reports else None
    killed: list[int] = []
    killer = threading.Thread(target=_kill_one_worker, args=(killed,))
    killer.start()
    _, found = run(JOB, data, Spark(cluster, tmp_path), reports=out)
    killer.join()
    assert killed
    _check(found)
    if out is not None:
        values = np.concatenate([np.asarray(batch.column(0)) for batch in read(out, ["report_0"])])
        assert values.size == GROUPS * ROWS
        # in the table the first half of each group is "A": no trace of that is left
        first = values.reshape(GROUPS, 2, -1)[:, 0].ravel()
        share, rest = (first == 0).mean(), (values == 0).mean()
        assert abs(share - rest) < 6 * np.sqrt(rest * (1 - rest) / first.size)
    assert [name for name in os.listdir(tmp_path) if name.startswith("shuffledp-")] == []


def test_a_bad_value_is_named(cluster: Any, data: Path) -> None:
    wrong = Job("histogram", ("dest",), GROUPS * ROWS, 1.0, 1e-8, "krr", 3.0, ("A", "B"))
    with pytest.raises(ParameterError, match=r"declared categories only \(row 75001\)"):
        run(wrong, data, Spark(cluster))
