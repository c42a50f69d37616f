"""A real local cluster of two workers, one of which is killed: complete, and nothing twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp import KRR, ParameterError
from shuffledp.collection.auditing import EnginePath, audit, order_tests
from shuffledp.collection.devices import device
from shuffledp.collection.pipeline import Job, run
from shuffledp.collection.pipeline.tables import read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
pytest.importorskip("pyspark")
from pyspark.cloudpickle import (  # noqa: E402
    register_pickle_by_value,
    unregister_pickle_by_value,
)

from shuffledp.collection.pipeline import spark  # noqa: E402
from shuffledp.collection.pipeline.spark import Spark, session  # noqa: E402

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


def _plain(folder: Path, width: int = 256) -> list[Path]:
    """Files with a stretch that can only be reports: zeros, ones and twos, all of them."""
    found = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        content = np.frombuffer(path.read_bytes(), np.uint8)
        rows = content[: content.size // width * width].reshape(-1, width)
        if (rows.max(axis=1, initial=0) < 3).any() and any(
            np.unique(row).size == 3 for row in rows[rows.max(axis=1) < 3]
        ):
            found.append(path)
    return found


DRIVER = """
import sys
from shuffledp.collection.pipeline import run
from shuffledp.collection.pipeline.spark import Spark, session
from tests.collection.pipeline.test_spark import JOB
run(JOB, sys.argv[1], Spark(session("local[2]")), reports=sys.argv[2])
"""


def test_a_killed_driver_leaves_nothing_to_read(cluster: Any, data: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    np.savez(temporary / "control.npz", reports=np.arange(1000, dtype=np.uint8)[:, None] % 3)
    assert _plain(temporary) == [temporary / "control.npz"]  # it sees what it should
    environment = os.environ | {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(data), str(tmp_path / "mixed.parquet")], env=environment
    ) as driver:
        for _ in range(6000):
            parts = list(temporary.glob("shuffledp-spark-*/part-*"))
            if len(parts) >= 4 or driver.poll() is not None:
                break
            time.sleep(0.05)
        family = [driver.pid, *_descendants(driver.pid)]
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    assert len(parts) >= 4
    left = list(temporary.glob("shuffledp-spark-*"))
    assert len(left) == 1
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in left[0].glob("part-*"))
    assert sum(path.stat().st_size for path in left[0].glob("part-*")) > 4 * ROWS
    assert _plain(temporary) == [temporary / "control.npz"]
    assert not (tmp_path / "mixed.parquet").exists()
    # the next run in that place tidies up
    run(JOB, data, Spark(cluster, temporary), reports=tmp_path / "mixed.parquet")
    assert list(temporary.glob("shuffledp-*")) == []


def test_reports_need_a_spark_that_encrypts(cluster: Any) -> None:
    class Careless:
        class sparkContext:
            @staticmethod
            def getConf() -> dict[str, str]:
                return {}

    with pytest.raises(ParameterError, match=r"session.*spark\.io\.encryption\.enabled = true"):
        Spark(Careless())


def _table(path: Path, sizes: list[int]) -> Path:
    table = pa.table({"dest": np.resize(["A", "B", "C"], sum(sizes))})
    with pq.ParquetWriter(path, table.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(table.slice(start, size))
            start += size
    return path


def _job(n: int) -> Job:
    return Job("histogram", ("dest",), n, 9.0, 1e-8, "krr", 1.0, ("A", "B", "C"))


@pytest.mark.parametrize("sizes", [[0, 300], [100, 0, 200], [1, 299]])
def test_an_empty_row_group_is_nothing_special(
    cluster: Any, tmp_path: Path, sizes: list[int]
) -> None:
    data, out = _table(tmp_path / "users.parquet", sizes), tmp_path / "mixed.parquet"
    assert pq.ParquetFile(data).metadata.num_row_groups == len(sizes)
    for reports in (None, out):
        assert run(_job(300), data, Spark(cluster), reports=reports)[1].reports == 300
    assert pq.read_table(out).num_rows == 300


def _damaged(path: Path) -> Path:
    """The footer is right, the pages are not."""
    _table(path, [300])
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("reports", [False, True])
def test_bad_tables_are_told_in_a_line(cluster: Any, tmp_path: Path, reports: bool) -> None:
    out = tmp_path / "mixed.parquet" if reports else None
    cases = [
        (_table(tmp_path / "none.parquet", [0]), ("dest",), "a table with rows"),
        (_table(tmp_path / "users.parquet", [300]), ("where",), "one of dest"),
        (
            _table(tmp_path / "more.parquet", [200, 101]),
            ("dest",),
            "at least the rows of the table",
        ),
        (_damaged(tmp_path / "damaged.parquet"), ("dest",), "a readable table"),
        (tmp_path / "missing.parquet", ("dest",), "a readable table"),
    ]
    (tmp_path / "text.parquet").write_text("no table")
    cases.append((tmp_path / "text.parquet", ("dest",), "a readable table"))
    for path, columns, words in cases:
        job = Job("histogram", columns, 300, 9.0, 1e-8, "krr", 1.0, ("A", "B", "C"))
        with pytest.raises(ParameterError, match=words) as caught:
            run(job, path, Spark(cluster), reports=out)
        assert "\n" not in str(caught.value)
        assert "java" not in str(caught.value)


def test_a_failing_worker_is_told_in_a_line(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object) -> int:
        raise ArithmeticError("the floor is wet")

    monkeypatch.setattr("shuffledp.collection.pipeline.spark._pile", fails)
    data = _table(tmp_path / "users.parquet", [300])
    with pytest.raises(ParameterError, match="the floor is wet") as caught:
        run(_job(300), data, Spark(cluster), reports=tmp_path / "mixed.parquet")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "master", ["nonsense", "local[two]", "spark://127.0.0.1:1", "spark://nowhere", "yarn"]
)
def test_a_bad_master_is_told_in_a_line(tmp_path: Path, master: str) -> None:
    data = _table(tmp_path / "users.parquet", [300])
    question = "--column dest --task histogram --categories A,B,C --epsilon 9 --delta 1e-6"
    found = subprocess.run(
        [sys.executable, "-m", "shuffledp", "run", str(data), *question.split(), "--spark", master],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2
    assert found.stderr.startswith("Error: --spark must be ")
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


AUDIT: dict[str, Any] = {"delta": 1e-3, "trials": 2000}


def test_an_audit_of_the_cluster(cluster: Any) -> None:
    """What runs stands; a device that keeps the truth more often does not."""
    path = EnginePath(Spark(cluster, piles=8))
    found = audit(KRR(4, eps0=3.0), 50, path=path, **AUDIT)
    assert not found.violated
    assert found.path == "spark"
    assert found.ordered is None
    assert found.family is not None
    assert 0.5 * found.claimed.upper < found.family <= found.claimed.upper
    assert {test.orders for test in found.orders} == {
        "by the cluster",
        "by the cluster, two compared",
    }
    wrong = path.release(device(KRR(4, eps0=6.0)))
    assert audit(KRR(4, eps0=3.0), 50, path=path, release=wrong, **AUDIT).leaks


def _unshuffled(job: Any, store: Any, parts: Any, pile: int) -> bytes:
    return b"".join(store.read(part, pile) for part in parts)


@pytest.mark.parametrize("fault", ["piles in order", "no piles", "within parts", "table order"])
def test_an_audit_finds_faults_in_the_cluster(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    register_pickle_by_value(sys.modules[__name__])
    try:
        if fault != "within parts":
            monkeypatch.setattr(spark, "_one_pile", _unshuffled)
        if fault in ("within parts", "table order"):
            monkeypatch.setattr(spark, "_pile", _pile_per_part)
        path = EnginePath(Spark(cluster, piles=1 if fault == "no piles" else 8), batches=2)
        tests = order_tests(path.orders(500, 0))
    finally:
        unregister_pickle_by_value(sys.modules[__name__])
    assert any(not test.uniform for test in tests)


def _pile_per_part(job: Any, data: str, store: Any, part: Any) -> int:
    """All reports of a part in one pile."""
    reports = np.concatenate(list(spark._reports(job, data, part)))
    piles = [reports[:0]] * store.piles
    piles[part.group % store.piles] = reports
    store.write(part, piles)
    return len(reports)


def test_a_bad_value_is_named(cluster: Any, data: Path) -> None:
    wrong = Job("histogram", ("dest",), GROUPS * ROWS, 1.0, 1e-8, "krr", 3.0, ("A", "B"))
    with pytest.raises(ParameterError, match=r"declared categories only \(row 75001\)"):
        run(wrong, data, Spark(cluster))
