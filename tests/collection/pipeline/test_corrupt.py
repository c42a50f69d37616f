"""Tables that are none, or odd: an answer or one clear line, never a fault."""

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from shuffledp import ParameterError
from shuffledp.collection.pipeline.tables import read
from shuffledp.interfaces.cli import main

TARGET = "--epsilon 1 --delta 1e-6"
HISTOGRAM = f"--column d --task histogram --categories A,B,C {TARGET} --mechanism krr"
MEAN = f"--column x --task mean --low 0 --high 1 {TARGET} --mechanism laplace"
WORDS = f"--column d --task heavy-hitters --letters 2 {TARGET}"
N = 300


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _call(*words: str) -> Result:
    """Nothing but the library's own errors reaches the command line."""
    result = CliRunner().invoke(main, [*words[0].split(), *words[1:]])
    assert result.exit_code in (0, 2), (words, result.output)
    if result.exit_code:
        (line,) = result.output.strip().splitlines()
        assert line.startswith("Error: ")
    return result


def _answer(line: str) -> dict[str, Any]:
    result = _call(f"{line} --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _each_way(path: str) -> list[Result]:
    results = []
    for question in (HISTOGRAM, MEAN, WORDS):
        results.append(_call(f"run {path} {question}"))
        results.append(_call(f"run {path} {question} --on-bad-rows drop --minimum 5"))
    open_list = HISTOGRAM.replace("--categories A,B,C", "--categories-from-data")
    results.append(_call(f"encode {path} {open_list} --out e.csv"))
    results.append(_call(f"shuffle {path} --out o.csv"))
    results.append(_call(f"analyze {path} --unshuffled"))
    budgets = f"personalized {path} --column d --categories A,B --budgets-column x --delta 1e-6"
    results.append(_call(f"{budgets} --budgets-hidden"))
    return results


FILES = {
    "latin": b"d,x\n" + "é,1\n".encode("latin1") * N,
    "utf16": ("d,x\n" + "A,1\n" * N).encode("utf16"),
    "nul": b"d,x\n" + b"A\0,1\n" * N,
    "ragged": b"d,x\nA,1\nZoe-secret-value,2,3\n",
    "quote": b'd,x\n"A,1\nB,2\n',
    "empty": b"",
    "newlines": b"\n\n\n",
    "random": random.Random(1).randbytes(5000),
    "header": b"d,x\n",
    "twice": b"d,d\nA,B\n",
    "long line": b"d,x\n" + b"A" * 3_000_000 + b",1\n",
    "long name": b"d," + b"x" * 200_000 + b"\nA,1\n",
    "half a header": b"# shuffledp {\n",
    "deep header": b"# shuffledp " + b"[" * 100_000 + b"\n",
    "no line": b"d,x",
    "semicolons": b"d;x\nA;1\n",
    "name in two lines": b'"d\nd",x\nA,1\n',
}


@pytest.mark.parametrize("case", FILES)
def test_texts(case: str) -> None:
    Path("f.csv").write_bytes(FILES[case])
    results = _each_way("f.csv")
    assert all(result.exit_code == 2 for result in results) or case == "nul"
    assert all("Zoe" not in result.output for result in results)


def test_folders_and_names() -> None:
    Path("d.csv").mkdir()
    Path("d.parquet").mkdir()
    for path in ("d.csv", "d.parquet", "missing.csv", "/dev/null", "x" * 300 + ".csv"):
        assert all(result.exit_code == 2 for result in _each_way(path))
    with pytest.raises(ParameterError, match="null byte"):
        list(read("a\0b.csv", ["d"]))


COLUMNS: dict[str, Any] = {
    "times": pa.array([1] * N, pa.timestamp("s")),
    "lists": pa.array([[1.0]] * N),
    "structs": pa.array([{"a": 1}] * N),
    "bits": pa.array([True] * N),
    "decimals": pa.array(["1"] * N).cast(pa.decimal128(30, 10)),
    "nulls": pa.nulls(N),
    "bytes": pa.array([b"\xff\xfe"] * N),
    "half": pa.array(np.full(N, 0.5, np.float16)),
    "views": pa.array(["0.5"] * N).cast(pa.string_view()),
    "large texts": pa.array(["0.5"] * N, pa.large_string()),
    "codes": pa.array(["0.5"] * N).dictionary_encode(),
    "not numbers": pa.array([float("nan")] * N),
    "largest": pa.array([2**63 - 1] * N),
    "unsigned": pa.array([2**64 - 1] * N, pa.uint64()),
    "none": pa.array([], pa.float64()),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_types(case: str) -> None:
    pq.write_table(pa.table({"x": COLUMNS[case], "d": COLUMNS[case]}), "f.parquet")
    _each_way("f.parquet")


def test_columns_of_one_name_and_of_none() -> None:
    twice = pa.Table.from_arrays([pa.array(["A"] * N)] * 2, names=["d", "d"])
    pq.write_table(twice, "f.parquet")
    assert "one column only" in _each_way("f.parquet")[0].output
    pq.write_table(pa.table({}), "f.parquet")
    _each_way("f.parquet")


@pytest.mark.parametrize("name", ["g.csv", "g.parquet", "e.csv", "e.parquet"])
def test_damaged_files(name: str) -> None:
    pq.write_table(pa.table({"d": ["A", "B", "C"] * 100, "x": [0.5] * 300}), "g.parquet")
    Path("g.csv").write_text("d,x\n" + "A,0.5\nB,0.25\n" * 150)
    for kind in ("csv", "parquet"):
        assert _call(f"encode g.csv {HISTOGRAM} --out e.{kind}").exit_code == 0
    whole, chance = Path(name).read_bytes(), random.Random(name)
    for _ in range(15):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)) :]
        Path(f"f.{name[2:]}").write_bytes(damaged)
        if name.startswith("g"):
            for question in (HISTOGRAM, MEAN):
                _call(f"run f.{name[2:]} {question}")
        else:
            _call(f"shuffle f.{name[2:]} --out o.csv")
            _call(f"analyze f.{name[2:]} --unshuffled")


def test_whole_numbers_keep_their_last_digit() -> None:
    """As categories all digits count; as numbers, those of the range."""
    last = 2**63 - 1
    pq.write_table(pa.table({"d": [last, last - 1] * N, "x": [last, 40] * N}), "f.parquet")
    listed = f"--categories {last},{last - 1}"
    found = _answer(f"run f.parquet {HISTOGRAM.replace('--categories A,B,C', listed)}")
    assert [row["name"] for row in found["estimates"]] == [str(last), str(last - 1)]
    assert "declared categories" in _call(f"run f.parquet {HISTOGRAM}").output
    (row,) = _answer(f"run f.parquet {MEAN.replace('--high 1', '--high 100')}")["estimates"]
    assert abs(row["value"] - 70.0) < 6 * row["error"]  # beyond the range is at its end
    wide = MEAN.replace("--low 0 --high 1", f"--low {last - 10} --high {last + 3000}")
    assert "within +-2^53" in _call(f"run f.parquet {wide}").output


def test_a_list_of_categories_may_begin_with_a_mark() -> None:
    """As editors on Windows write it; and a list may be longer than the name of a file."""
    Path("g.csv").write_text("d,x\n" + "A,0.5\nB,0.25\n" * 150)
    Path("list.txt").write_bytes(b"\xef\xbb\xbfA\r\nB\r\n")
    found = _answer(f"run g.csv {HISTOGRAM.replace('A,B,C', 'list.txt')}")
    assert [row["name"] for row in found["estimates"]] == ["A", "B"]
    many = ",".join(["A", "B", *(f"value{i}" for i in range(100))])
    assert len(_answer(f"run g.csv {HISTOGRAM.replace('A,B,C', many)}")["estimates"]) == 102
    Path("list.txt").write_bytes("é\n".encode("latin1"))
    assert "in UTF-8" in _call(f"run g.csv {HISTOGRAM.replace('A,B,C', 'list.txt')}").output
    assert sorted(os.listdir()) == ["g.csv", "list.txt"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "macintosh"])
@pytest.mark.parametrize("more", ["", " --other REST"], ids=["listed", "other"])
def test_a_user_without_a_value_is_not_lost(end: str, more: str) -> None:
    """In a table of one column that is an empty line: n must not tell whether there was a value."""
    rows = ["d", *"ABC" * N, "", *"ABC" * N, ""]
    Path("t.csv").write_bytes(end.join(rows).encode())
    said = _call(f"run t.csv {HISTOGRAM}{more}").output
    assert f"missing values (row {3 * N + 1})" in said
    found = _answer(f"run t.csv {HISTOGRAM}{more} --on-bad-rows drop --minimum {N}")
    assert (found["dropped"], found["reports"]) == (1, 6 * N)


@pytest.mark.parametrize(
    ("names", "good", "opens"), [("d", "A", '"B'), ("d,x", "A,1", 'A,"1')], ids=["asked", "beside"]
)
@pytest.mark.parametrize("rows", [(N,), (N, 2 * N)], ids=["to the end", "to the next"])
@pytest.mark.parametrize("line", ["run t.csv", f"run t.csv --n {3 * N}"])
def test_a_quote_that_is_not_closed_takes_no_rows(
    line: str, rows: tuple[int, ...], names: str, good: str, opens: str
) -> None:
    table = [opens if row in rows else good for row in range(3 * N)]
    Path("t.csv").write_text("\n".join([names, *table, ""]))
    assert "a row in each line" in _call(f"{line} {HISTOGRAM} --other REST").output


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "macintosh"])
@pytest.mark.parametrize("last", [False, True], ids=["open", "ended"])
def test_lines_are_counted_as_they_end(
    end: str, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a block of the file ends between the two bytes of one end."""
    monkeypatch.setattr("shuffledp.collection.pipeline.tables._BUFFER", 4)
    Path("t.csv").write_bytes((end.join(["d", *"ABCAB"]) + end * last).encode())
    assert sum(batch.num_rows for batch in read("t.csv", ["d"])) == 5


@pytest.mark.parametrize("before", range(1, 14))
def test_nobody_sends_a_report_for_each_line_of_a_value(before: int) -> None:
    """A value of several lines is one user's, also where a block of the reader ends inside it."""
    block = 1 << 20
    start = "d\n" + "A\n" * ((block - before) // 2)
    value = '"' + "\n".join("A" * 11) + '"\n'
    Path("t.csv").write_text(start[: block - before - before % 2] + value + "A\n" * 100)
    with pytest.raises(ParameterError, match="a row in each line"):
        for _ in read("t.csv", ["d"]):
            pass


def test_a_quote_open_for_long_is_named() -> None:
    Path("t.csv").write_text("d\n" + '"A\n' + "A\n" * 2_000_000)
    assert "is a quote not closed?" in _call(f"run t.csv {HISTOGRAM} --other REST").output
