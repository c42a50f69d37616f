"""Heavy hitters, Gaussian means and vectors, budgets per user: from a table to an answer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from shuffledp.collection.pipeline.job import text, words
from shuffledp.interfaces.cli import main

N = 20_000
WORDS = "--categories été,BOS,LAX,x"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "users.parquet"
    generator = np.random.default_rng(2)
    word = np.array(["été", "BOS", "LAX", "x"])[generator.choice(4, N, p=[0.5, 0.3, 0.15, 0.05])]
    table = pa.table(
        {
            "word": word,
            "size": generator.uniform(0.0, 10.0, N),
            "age": generator.uniform(2.0, 4.0, N),
            "eps": generator.choice([0.5, 1.0, 4.0], N),
            "bad": np.where(np.arange(N) == 17, -1.0, 1.0),
        }
    )
    pq.write_table(table, path)
    return path


def _call(line: str) -> Result:
    return CliRunner().invoke(main, line.split())


def _ok(line: str) -> dict[str, Any]:
    result = _call(line + " --json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_words_are_numbers_and_back() -> None:
    given = ["", "x", "BOS", "été", "a long one"]
    found = words(pa.array(given), 5, 0)
    assert [text(int(word), 5) for word in found] == ["", "x", "BOS", "été", "a lon"]


def test_heavy_hitters(data: Path, tmp_path: Path) -> None:
    line = f"run {data} --column word --task heavy-hitters --epsilon 1 --delta 1e-6"
    found = _ok(f"{line} --letters 5 --most 3 --out {tmp_path}/words.csv")
    names = [row["name"] for row in found["estimates"]]
    assert names == ["été", "BOS", "LAX"]
    for row, share in zip(found["estimates"], (0.5, 0.3, 0.15), strict=True):
        assert abs(row["value"] - share) < 6 * row["error"]
    assert found["privacy"]["upper"] <= 1.0
    assert (tmp_path / "words.csv").read_text().count("\n") == 4
    assert "at most 7" in _call(f"{line} --letters 8").output
    assert "left out" in _call(f"{line} --low 1 --high 2").output


VECTORS = (
    "--column size --column age --task vector --low 0 --high 10 --epsilon 1 --delta 1e-6"
    " --mechanism gaussian-vector --norm 7.1"
)


def _check_vectors(found: dict[str, Any]) -> None:
    assert found["eps0"] is None
    assert found["privacy"]["upper_end"]["status"] == "PROVEN"
    assert found["privacy"]["upper"] <= 1.0
    for row, mean in zip(found["estimates"], (5.0, 3.0), strict=True):
        assert abs(row["value"] - mean) < 6 * row["error"] + 0.1


def test_gaussian_vectors(data: Path, tmp_path: Path) -> None:
    found = _ok(f"run {data} {VECTORS} --out {tmp_path}/means.csv")
    _check_vectors(found)
    clipped = "means of vectors clipped to 7.1 from the middle of the range"
    assert clipped in found["note"], "a bias that no error bar shows"
    assert (tmp_path / "means.csv").read_text().count(clipped) == 2


@pytest.mark.slow
def test_gaussian_vectors_over_files(data: Path, tmp_path: Path) -> None:
    _ok(f"encode {data} {VECTORS} --out {tmp_path}/reports.parquet")
    _ok(f"shuffle {tmp_path}/reports.parquet --out {tmp_path}/mixed.parquet")
    _check_vectors(_ok(f"analyze {tmp_path}/mixed.parquet"))


@pytest.mark.slow
def test_gaussian_numbers(data: Path) -> None:
    found = _ok(
        f"run {data} --column size --task mean --low 0 --high 10 --epsilon 1 --delta 1e-6"
        " --mechanism gaussian"
    )
    assert found["privacy"]["upper"] <= 1.0
    assert found["privacy"]["upper_end"]["theorem"] == "blanket"
    (row,) = found["estimates"]
    assert abs(row["value"] - 5.0) < 6 * row["error"] + 0.1


@pytest.mark.parametrize("visible", ["visible", "hidden"])
def test_a_budget_per_user(data: Path, tmp_path: Path, visible: str) -> None:
    line = f"personalized {data} --column word {WORDS} --budgets-column eps --delta 1e-6"
    found = _ok(f"{line} --budgets-{visible} --out {tmp_path}/r.csv --plot {tmp_path}/r.png")
    assert [each["eps0"] for each in found["classes"]] == pytest.approx([0.5, 1.0, 4.0])
    assert sum(each["count"] for each in found["classes"]) == found["reports"] == N
    assert all(each["epsilon"]["upper"] <= each["eps0"] for each in found["classes"])
    shares = {"été": 0.5, "BOS": 0.3, "LAX": 0.15, "x": 0.05}
    for row in found["estimates"]:
        assert abs(row["value"] - shares[row["name"]]) < 6 * row["error"] + 0.02
    assert (tmp_path / "r.png").stat().st_size > 5000


def test_budgets_as_a_table(data: Path) -> None:
    line = f"personalized {data} --column word {WORDS} --budgets-column eps --delta 1e-6"
    shown = _call(f"{line} --budgets-visible --simulation 1")
    assert "worst class" in shown.stdout
    assert "protects nobody" in shown.stdout


@pytest.mark.parametrize("visible", ["visible", "hidden"])
def test_a_budget_per_user_is_booked_before_the_answer(
    data: Path, tmp_path: Path, visible: str
) -> None:
    book, out = tmp_path / "book.db", tmp_path / "r.csv"
    line = f"personalized {data} --column word {WORDS} --budgets-column eps --delta 1e-5"
    line += f" --budgets-{visible} --out {out} --ledger {book} --cohort"
    for cohort, epsilon in (("poor", 0.01), ("rich", 5)):
        start = f"ledger init {cohort} --epsilon {epsilon} --delta 1e-5 --store {book}"
        assert _call(start).exit_code == 0
    refused = _call(f"{line} poor")
    assert refused.exit_code == 3, refused.output
    assert not out.exists()
    assert refused.stdout == ""
    found = _ok(f"{line} rich")
    (cohort,) = _ok(f"ledger show rich --store {book}")["cohorts"]
    assert cohort["spends"] == 1
    worst = max(each["epsilon"]["upper"] for each in found["classes"])
    assert worst <= float(cohort["lost"]["epsilon"]) <= worst * (1 + 1e-15)
    assert _call(f"{line} rich --out /nowhere/x.csv").exit_code == 2
    assert _ok(f"ledger show rich --store {book}")["cohorts"][0]["spends"] == 1


@pytest.mark.parametrize("names", ["東京,大阪", "$5,$10$,$x_$", "\u0f00,b"])
def test_names_in_pictures(tmp_path: Path, names: str) -> None:
    """No warning (they are errors here), no formula; what no font draws is said once."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    from shuffledp.display.fonts import _fallbacks

    rows = [name for name in names.split(",") for _ in range(100)]
    (tmp_path / "names.csv").write_text("word\n" + "\n".join(rows) + "\n", encoding="utf-8")
    line = f"run {tmp_path}/names.csv --column word --task histogram --epsilon 1 --delta 1e-4"
    result = _call(f"{line} --categories {names} --mechanism krr --plot {tmp_path}/names.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "names.png").stat().st_size > 5000
    families, missing = _fallbacks({ord(letter) for letter in names})
    assert result.stderr.count("no installed font draws") == bool(missing)
    for family in families:
        drawn = get_font(findfont(FontProperties(family=family))).get_charmap()
        assert any(ord(letter) in drawn for letter in names)


def test_another_font_is_found_for_what_the_usual_one_lacks() -> None:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    from shuffledp.display.fonts import _fallbacks

    usual = get_font(findfont(FontProperties())).get_charmap().keys()
    letter = min(
        get_font(findfont(FontProperties(family="STIXGeneral"))).get_charmap().keys() - usual
    )
    families, missing = _fallbacks({ord("a"), letter, 0x10FFFD})
    assert len(families) == 1
    assert missing == {0x10FFFD}


def test_budgets_that_are_none(data: Path) -> None:
    line = f"personalized {data} --column word {WORDS} --delta 1e-6"
    assert "--budgets-visible" in _call(f"{line} --budgets-column eps").output
    wrong = _call(f"{line} --budgets-column bad --budgets-hidden")
    assert wrong.exit_code == 2
    assert "row 18" in wrong.output
    assert (
        "--budgets-column must be one of the"
        in _call(f"{line} --budgets-column none --budgets-hidden").output
    )
