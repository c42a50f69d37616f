"""What is wrong is said in words, by name, and nothing stays half-written."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from shuffledp import ParameterError
from shuffledp.collection.devices import simulation
from shuffledp.collection.pipeline import Embedded, Job, steps
from shuffledp.collection.pipeline.job import not_numbers, numbers
from shuffledp.files import whole_file
from shuffledp.interfaces.cli import main

TARGET = "--epsilon 1 --delta 1e-6 --mechanism"
HISTOGRAM = f"--column dest --categories ATL,BOS,LAX --task histogram {TARGET} krr"
MEAN = f"--column delay --task mean {TARGET} laplace"
ROWS = "ATL,1\nBOS,2\nLAX,3\n" * 100


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(f"dest,delay\n{ROWS}")
    return tmp_path


def _refused(line: str, code: int = 2) -> str:
    before = sorted(os.listdir())
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == code, result.output
    assert sorted(os.listdir()) == before
    return result.output


HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"mechanism": "magic"}, "'mechanism' in the header of e.csv one of krr, rappor"),
    ({"n": 2.5}, "'n' in the header of e.csv a whole number"),
    ({"n": True}, "'n' in the header of e.csv a whole number"),
    ({"n": 0}, "'n' in the header of e.csv an integer from 1"),
    ({"n": None}, "'n' in the header of e.csv a whole number"),
    ({"delta": "small"}, "'delta' in the header of e.csv a finite number"),
    ({"delta": 2.0}, "'delta' in the header of e.csv a number strictly between"),
    ({"strength": -1.0}, "'strength' in the header of e.csv a finite number > 0"),
    ({"strength": float("inf")}, "'strength' in the header of e.csv a finite number"),
    ({"n": 10**400}, "'n' in the header of e.csv a whole number"),
    ({"task": "poem"}, "'task' in the header of e.csv one of histogram"),
    ({"columns": "dest"}, "'columns' in the header of e.csv a list of texts"),
    ({"categories": ["a", "a"]}, "'categories' in the header of e.csv each given once"),
    ({"shuffled": "yes"}, "'shuffled' in the header of e.csv true or false"),
    ({"surprise": 1}, "'surprise' in the header of e.csv left out"),
]


@pytest.mark.parametrize("step", ["shuffle e.csv --out x.csv", "analyze e.csv"])
def test_headers_are_checked_field_by_field(step: str) -> None:
    assert (
        CliRunner().invoke(main, f"encode survey.csv {HISTOGRAM} --out e.csv".split()).exit_code
        == 0
    )
    first, *rest = Path("e.csv").read_text().splitlines(keepends=True)
    about = json.loads(first.removeprefix("# shuffledp "))
    for change, message in HEADERS:
        Path("e.csv").write_text(f"# shuffledp {json.dumps(about | change)}\n" + "".join(rest))
        assert message in _refused(step)
    for name in about:
        some = {key: value for key, value in about.items() if key != name}
        Path("e.csv").write_text(f"# shuffledp {json.dumps(some)}\n" + "".join(rest))
        assert f"'{name}' in the header of e.csv given" in _refused(step)
    for nonsense in ("[1]", "{", "7"):
        Path("e.csv").write_text(f"# shuffledp {nonsense}\n" + "".join(rest))
        assert "a header of 'shuffledp encode' (e.csv)" in _refused(step)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("--low 0 --high inf", "--high must be a number within"),
        ("--low=-inf --high 0", "--low must be a number within"),
        ("--low 0 --high nan", "--high must be a number within"),
        ("--low=-1e308 --high 1e308", "--low must be a number within"),
        ("--low 1 --high 1", "--high must be a number above low"),
    ],
)
def test_ranges_are_finite(ends: str, message: str) -> None:
    assert message in _refused(f"run survey.csv {MEAN} {ends}")


def test_values_far_out_of_the_range_are_clamped() -> None:
    Path("far.csv").write_text("delay\n1e308\n-1e308\ninf\n-inf\n" + "0\n" * 96)
    line = f"run far.csv {MEAN} --low=-1e149 --high 1e149 --json"
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 0, result.output
    assert np.isfinite(json.loads(result.stdout)["estimates"][0]["error"])


@pytest.mark.parametrize("command", [f"run survey.csv {HISTOGRAM}", "personalized"])
def test_categories_are_distinct(command: str) -> None:
    if command == "personalized":
        command = "personalized survey.csv --column dest --budgets-column delay --delta 1e-6"
        command += " --budgets-hidden"
    said = _refused(f"{command} --categories ATL,BOS,LAX,BOS")
    assert "--categories must be each given once. Got 'BOS'" in said


def test_an_empty_file_is_called_so() -> None:
    Path("none.csv").write_text("")
    assert "no line with names" in _refused(f"run none.csv {HISTOGRAM}")
    Path("names.csv").write_text("dest\n")
    assert "a table with rows" in _refused(f"run names.csv {HISTOGRAM}")


def test_a_bad_number_is_named_with_its_row() -> None:
    Path("bad.csv").write_text("delay\n1\n2\nthree\n4\nfive\n")
    said = _refused(f"run bad.csv {MEAN} --low 0 --high 9 --out x.csv")
    assert "row 3" in said
    assert "three" not in said  # what a user holds is not for logs
    for place in (0, 1, 6, 7):
        texts = ["1.5"] * 8
        texts[place] = "x"
        with pytest.raises(ParameterError, match=f"row {place + 11}"):
            numbers(pa.array(texts), 10)


def test_what_is_no_number_or_missing_is_found_wherever_it_stands() -> None:
    held = [1.0, float("nan"), None, 2.0]
    assert not_numbers(pa.array(held, from_pandas=False)).tolist() == [False, True, True, False]
    assert not_numbers(pa.array(["1", "x", None, "nan"])).tolist() == [False, True, True, True]


def test_reports_never_overwrite_the_data(folder: Path) -> None:
    data = folder / "survey.csv"
    before = data.read_bytes()
    job = Job(
        *("histogram", ("dest",), 300, 1.0, 1e-6),
        mechanism="krr", strength=1.0, categories=("ATL", "BOS", "LAX"),
    )  # fmt: skip
    for path in (data, str(data)):
        with pytest.raises(ParameterError, match="reports"):
            steps.run(job, path, Embedded(simulation(1)), reports=path)
        assert data.read_bytes() == before


def _python(code: str, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, **options
    )


def test_a_full_spill_disk_is_not_blamed_on_the_output(folder: Path) -> None:
    """Temporary files of at most 1 kB."""
    code = """
import resource, sys, numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
from shuffledp.collection.pipeline import steps, Job
from shuffledp.collection.devices import secure
from shuffledp.errors import ParameterError
try:
    steps.shuffle("e.csv", "mixed.csv", secure(), memory=1024)
except ParameterError as error:
    print(error)
"""
    (folder / "survey.csv").write_text("dest,delay\n" + 1000 * ROWS)
    encoded = CliRunner().invoke(main, f"encode survey.csv {HISTOGRAM} --out e.csv".split())
    assert encoded.exit_code == 0
    (folder / "spill").mkdir()
    found = _python(code, env=os.environ | {"TMPDIR": str(folder / "spill")})
    assert f"{folder}/spill (File too large)" in found.stdout, found.stderr
    assert "mixed" not in found.stdout
    assert sorted(os.listdir()) == ["e.csv", "spill", "survey.csv"]


@pytest.mark.parametrize(
    "line",
    [
        "theorems",
        "--help",
        "account --eps0 1 --n 1000 --delta 1e-6 --json",
        "analyze e.csv --unshuffled",
    ],
)
def test_a_full_stdout_is_one_line(line: str) -> None:
    encoded = CliRunner().invoke(main, f"encode survey.csv {HISTOGRAM} --out e.csv".split())
    assert encoded.exit_code == 0
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "shuffledp", *line.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert found.returncode == 2
    assert found.stderr == (
        "Error: the answer cannot be written to stdout: No space left on device.\n"
    )


WRITING = """
import signal, sys, time
# as in a terminal, also where the tests run in the background, which ignores it
signal.signal(signal.SIGINT, signal.default_int_handler)
from shuffledp.interfaces.cli import main
from shuffledp.files import whole_file
@main.command()
def wait():
    with whole_file("out", "result.csv") as file:
        file.write(b"half")
        file.flush()
        print("ready", flush=True)
        time.sleep(60)
main(["wait"])
"""


def _interrupted(number: signal.Signals) -> int:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        assert len(_partial()) == 1
        with whole_file("out", "result.csv") as other:  # a second writer leaves the first one alone
            other.write(b"whole")
            assert len(_partial()) == 2
        Path("result.csv").unlink()
        child.send_signal(number)
        return child.wait()


def _partial() -> list[str]:
    return [name for name in os.listdir() if name.startswith(".") and "partial" in name]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1)])
def test_asked_to_end_a_command_leaves_nothing(number: signal.Signals, code: int) -> None:
    assert _interrupted(number) == code
    assert os.listdir() == ["survey.csv"]


def test_what_a_killed_process_left_is_removed_by_the_next() -> None:
    assert _interrupted(signal.SIGKILL) == -9
    assert len(_partial()) == 1
    Path(".other.csv.abc.partial").write_text("of another output")
    with whole_file("out", "result.csv") as file:
        file.write(b"whole")
    assert _partial() == [".other.csv.abc.partial"]
    assert Path("result.csv").read_bytes() == b"whole"
    with pytest.raises(ParameterError, match="is a folder"), whole_file("out", "."):
        pass


def test_a_name_of_two_columns_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "twice.csv"
    data.write_text("x,x\n" + "0,1\n" * 100)
    line = f"run {data} --column x --task histogram --epsilon 1 --delta 1e-6 --categories 0,1"
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2
    assert "one column only" in result.output
