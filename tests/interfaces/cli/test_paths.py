"""No command writes over what it reads, or two things to one file; nothing is read or spent before."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.files import same_file
from shuffledp.interfaces.cli import main

TASK = (
    "--column dest --categories ATL,BOS --task histogram --epsilon 1 --delta 1e-6 --mechanism krr"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("dest,eps\n" + "ATL,1\nBOS,2\n" * 200)
    Path("list.csv").write_text("ATL\nBOS\n")
    os.link("in.csv", "hard.csv")
    Path("soft.csv").symlink_to("in.csv")
    Path("folder").mkdir()
    Path("way").symlink_to("folder")
    assert CliRunner().invoke(main, f"encode in.csv {TASK} --out e.csv".split()).exit_code == 0
    start = "ledger init users --epsilon 9 --delta 1e-6 --store book.csv"
    assert CliRunner().invoke(main, start.split()).exit_code == 0


BUDGETS = "personalized in.csv --column dest --budgets-column eps --delta 1e-6 --budgets-hidden"


@pytest.mark.parametrize(
    "line",
    [
        f"run in.csv {TASK} --out in.csv",
        f"run in.csv {TASK} --out hard.csv",
        f"run in.csv {TASK} --out soft.csv",
        f"run in.csv {TASK} --out folder/../in.csv",
        f"run soft.csv {TASK} --reports hard.csv",
        f"run --out in.csv {TASK} in.csv",
        f"run in.csv {TASK} --out s.csv --reports s.csv",
        f"run in.csv {TASK} --out s.csv --reports S.csv",
        f"run in.csv {TASK} --out folder/s.csv --reports way/s.csv",
        f"run in.csv {TASK} --categories list.csv --out list.csv",
        f"run in.csv {TASK} --ledger book.csv --cohort users --out book.csv",
        f"run in.csv {TASK} --ledger book.csv --cohort users --reports ./book.csv",
        f"encode in.csv {TASK} --out in.csv",
        f"encode in.csv {TASK} --out soft.csv",
        "shuffle e.csv --out e.csv",
        "shuffle e.csv --ledger book.csv --cohort users --out book.csv",
        "analyze e.csv --unshuffled --out e.csv",
        f"{BUDGETS} --categories list.csv --out in.csv",
        f"{BUDGETS} --categories list.csv --out list.csv",
        "ledger export --store book.csv --csv-file book.csv",
        "ledger export --store book.csv --csv-file both --json-file ./both",
        "ledger export --store book.csv --json-file book.csv-wal",
        "ledger init more --epsilon 1 --delta 0 --rule planned --plan in.csv --store in.csv",
        "ledger init more --epsilon 1 --delta 0 --rule planned --plan hard.csv --store in.csv",
        "train check-in --data in.csv --ledger hard.csv --cohort users",
        "train check-in --folder folder --ledger way/log.csv --cohort users",
        "train check-in --folder folder --ledger folder/checkpoint.pt --cohort users",
        "train check-in --simulation --folder way --data folder/run.json",
    ],
)
def test_files_in_use_are_not_written_over(line: str) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = CliRunner().invoke(main, line.split())
    assert result.exit_code == 2, result.output
    assert "must be another file than" in result.output
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "line", ["account --mechanism laplace --budgets x.png --budgets-hidden --delta 1e-5"]
)
def test_pictures_too(line: str) -> None:
    Path("x.png").write_text("eps\n1\n")
    result = CliRunner().invoke(main, f"{line} --plot x.png".split())
    assert result.exit_code == 2
    assert "--plot must be another file than --budgets" in result.output
    assert Path("x.png").read_text() == "eps\n1\n"


def test_same_file() -> None:
    assert same_file("in.csv", "./in.csv")
    assert same_file("new.csv", "folder/../new.csv")
    assert same_file("new.csv", "NEW.csv")  # where it is not known, they are taken to be one
    assert not same_file("in.csv", "new.csv")
    assert not same_file("new.csv", "newer.csv")
    assert not same_file("folder/new.csv", "new.csv")
    assert not same_file("x" * 5000, "in.csv")


def test_other_files_are_written() -> None:
    line = f"run in.csv {TASK} --out a.csv --reports b.csv --ledger book.csv --cohort users"
    assert CliRunner().invoke(main, line.split()).exit_code == 0
