"""Batches: opened whole by the right key, or refused in words."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import analyze
from shuffledp.collection.pipeline.report_files import read_reports
from shuffledp.errors import LostKeyError, ParameterError, ServiceError
from shuffledp.service import Device
from shuffledp.service.analyst import open_batch
from shuffledp.service.batch import Batch, read_batch, write_batch
from shuffledp.service.task import Task
from tests.service.made import key, make_task

STREAM = simulation(3)


def _inner(task: Task, value: str = "A") -> bytes:
    return Device(task, STREAM).report(value).inner


def _write(task: Task, records: Sequence[bytes], path: Path, number: int | None = None) -> Path:
    rows = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), -1)
    batch = Batch(bytes(range(16)), task, len(records) if number is None else number)
    write_batch(batch, [rows[:3], rows[3:]], path, 0.0)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    task = make_task()
    return _write(task, [_inner(task) for _ in range(20)], tmp_path / "a.batch")


def test_a_batch_is_opened_and_analyzed(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports.parquet"
    opened = open_batch(path, [key("other"), key("analyst")], out)
    assert (opened.reports, opened.unusable) == (20, 0)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size == opened.batch.size
    job, blocks = read_reports(out)
    assert sum(map(len, blocks)) == 20
    assert job.shuffled
    assert job.proven is not None
    assert make_task().stated.epsilon == pytest.approx(job.proven.upper, rel=2e-9, abs=0.0)
    _, found = analyze(out)
    assert found.reports == 20
    assert "PROVEN" in found.label


def test_a_wrong_key_opens_nothing(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports.parquet"
    for keys in ([key("other")], []):
        with pytest.raises(LostKeyError, match="nobody can"):
            open_batch(path, keys, out)
    assert not out.exists()


def test_cut_short_or_altered_anywhere(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    cuts = {0, 1, 17, 18, 20, 22, 50, len(content) // 2, len(content) - 33, len(content) - 1}
    for end in cuts:
        path.write_bytes(content[:end])
        with pytest.raises(ParameterError, match="a whole file of a shuffler"):
            open_batch(path, [key("analyst")], tmp_path / "out.csv")
    for place in (0, 18, 21, 30, 200, len(content) - 100, len(content) - 1):
        altered = bytearray(content)
        altered[place] ^= 1
        path.write_bytes(altered)
        with pytest.raises(ParameterError, match="a whole file of a shuffler"):
            open_batch(path, [key("analyst")], tmp_path / "out.csv")
    path.write_bytes(content + b"\0")
    with pytest.raises(ParameterError, match="should have"):
        open_batch(path, [key("analyst")], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "header", [b"", b"{}", b"[]", b"null", b'{"task":1}', b"\xff", b"[" * 9999]
)
def test_headers_of_others(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "a.batch"
    path.write_bytes(b"shuffledp-batch-1\n" + len(header).to_bytes(4) + header + bytes(64))
    with pytest.raises(ParameterError, match="header cannot be read"):
        read_batch(path)
    path.write_bytes(b"shuffledp-batch-1\n" + b"\xff" * 4 + header)
    with pytest.raises(ParameterError, match="header cannot be read"):
        read_batch(path)
    with pytest.raises(ParameterError, match="can be read"):
        read_batch(tmp_path / "none")


def test_a_foreign_batch_is_refused_whole(tmp_path: Path) -> None:
    """Reports of another task, under this one's name."""
    other = make_task(title="another")
    path = _write(make_task(), [_inner(other) for _ in range(12)], tmp_path / "a.batch")
    with pytest.raises(ServiceError, match="not of the task"):
        open_batch(path, [key("analyst")], tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_one_device_does_not_spoil_a_batch(tmp_path: Path) -> None:
    task = make_task()
    form = task.format

    def sealed(report: bytes) -> bytes:
        return key("analyst").public.seal(report, form.inner_info)

    bad = [sealed(b"\x04" + bytes(15)), sealed(b"\1" * 16), bytes(form.inner)]
    records = [bad[0], *(_inner(task) for _ in range(10)), *bad[1:]]
    opened = open_batch(
        _write(task, records, tmp_path / "a.batch"), [key("analyst")], tmp_path / "a.csv"
    )
    assert (opened.reports, opened.unusable) == (10, 3)
    with pytest.raises(ServiceError, match="Only 9 of 11"):
        open_batch(
            _write(task, records[2:], tmp_path / "b.batch"), [key("analyst")], tmp_path / "b.csv"
        )
    assert not (tmp_path / "b.csv").exists()


def test_a_batch_has_as_many_reports_as_it_says(tmp_path: Path) -> None:
    task = make_task()
    with pytest.raises(ServiceError, match="nothing was released"):
        _write(task, [_inner(task) for _ in range(10)], tmp_path / "a.batch", number=11)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_the_batch(path: Path) -> None:
    with pytest.raises(ParameterError, match="another file"):
        open_batch(path, [key("analyst")], path)
