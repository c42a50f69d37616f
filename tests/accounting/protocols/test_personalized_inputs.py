"""Bad budgets are named with their row and value; small inputs behave."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from shuffledp import ParameterError
from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.protocols.budgets import read_budgets
from shuffledp.accounting.randomizers.families import (
    Family,
    GaussianFamily,
    KRRFamily,
    LaplaceFamily,
    family,
)
from shuffledp.interfaces.cli import main


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        (-1.0, "-1.0"),
        (0.0, "0.0"),
        (math.nan, "nan"),
        (None, "None"),
        ("many", "'many'"),
        ("", "''"),
    ],
)
def test_bad_budgets(bad: object, shown: str) -> None:
    with pytest.raises(ParameterError, match="row 3") as error:
        Personalized(LaplaceFamily(), [1.0, 0.5, bad, 2.0], budgets_visible=False)
    assert shown in str(error.value)


def test_bad_arrays_and_histograms() -> None:
    with pytest.raises(ParameterError, match="row 2"):
        Personalized(LaplaceFamily(), np.array([1.0, np.inf]), budgets_visible=False)
    with pytest.raises(ParameterError, match="count"):
        Personalized(LaplaceFamily(), {1.0: 0}, budgets_visible=False)
    for nothing in ([], {}, np.array([])):
        with pytest.raises(ParameterError, match="at least one"):
            Personalized(LaplaceFamily(), nothing, budgets_visible=False)
    with pytest.raises(ParameterError, match="budgets_visible"):
        Personalized(LaplaceFamily(), [1.0], budgets_visible="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Personalized(LaplaceFamily(), [1.0])  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="deltas"):
        Personalized(GaussianFamily(), [1.0], budgets_visible=False)
    with pytest.raises(ParameterError, match="colluders"):
        Personalized(LaplaceFamily(), [1.0, 1.0], budgets_visible=False, colluders=2)
    with pytest.raises(ParameterError, match="mechanism"):
        family("olh")


@pytest.mark.parametrize("one", [LaplaceFamily(), KRRFamily(2)])
def test_a_single_user_keeps_the_own_budget(one: LaplaceFamily) -> None:
    (only,) = Personalized(one, [1.0], budgets_visible=False).guarantees(delta=1e-9).classes
    assert only.count == 1
    assert only.interval.upper == pytest.approx(1.0, rel=1e-3, abs=0.0)
    assert only.interval.lower <= only.interval.upper


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["account", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("id,eps\n", "at least one user"),
        ("id,budget\n1,2\n", "column"),
        ("id,eps\n1,0.5\n2,\n", "row 3"),
        ("id,eps\n1,0.5\n2,-3\n", "row 3"),
        ("id,eps\n1,lots\n", "in row 2 (the header is row 1)"),
        ("id,eps\n1\n", "row 2"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "users.csv"
    path.write_text(text)
    code, output = _run(
        "--mechanism", "laplace", "--budgets", str(path), "--delta", "1e-5", "--budgets-hidden"
    )
    assert code == 2
    assert message in output


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("id,eps\n" + "".join(f"{i},{0.5 if i % 3 else 1.5}\n" for i in range(300)))
    base = ("--mechanism", "laplace", "--budgets", str(path), "--column", "eps")
    code, output = _run(*base, "--delta", "1e-5")
    assert code == 0
    assert "the worst is assumed" in output
    assert "--budgets-hidden" in output
    picture = tmp_path / "classes.png"
    code, output = _run(*base, "--delta", "1e-5", "--budgets-hidden", "--plot", str(picture))
    assert code == 0
    assert "PROVEN" in output
    assert picture.read_bytes().startswith(b"\x89PNG")
    for option, quantity in (("--delta", "epsilon"), ("--epsilon", "delta")):
        result = CliRunner().invoke(
            main, ["account", *base, option, "0.01", "--budgets-visible", "--json"]
        )
        assert result.exit_code == 0
        data = json.loads(result.stdout)
        assert [each["count"] for each in data["classes"]] == [200, 100]
        assert [each["eps0"] for each in data["classes"]] == [0.5, 1.5]
        worst = max(each[quantity]["upper"] for each in data["classes"])
        assert data[quantity]["upper"] == worst
        assert all(each[quantity]["lower"] <= each[quantity]["upper"] for each in data["classes"])
        assert "travels" in data["warning"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eps\n1,5\n2\n", "row 2"),  # a decimal comma must not be read as 1
        ("eps\n1\n\n2\n", "row 3"),
        ("id,eps\n1,0.5\n2,0.5,7\n", "row 3"),
        ("eps\n1_0\n", "'1_0'"),
        ("eps,eps\n1,2\n", "one column only"),
        ("1\n2\n", "first row names the columns"),
        ("eps\n1\n200\n", "user 2"),
        ('eps,name\n1,a\n2,"b\n3,c\n', "readable CSV file"),  # the last user would be lost
    ],
)
def test_files_that_could_be_misread(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "users.csv"
    path.write_text(text)
    code, output = _run(
        "--mechanism", "laplace", "--budgets", str(path), "--delta", "1e-5", "--budgets-hidden"
    )
    assert code == 2
    assert message in output


def test_a_byte_order_mark_is_no_part_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("eps\n0.5\n2\n", encoding="utf-8-sig")
    assert read_budgets(path, "eps").tolist() == [0.5, 2.0]


@pytest.mark.parametrize("question", [{"delta": 1e-5}, {"epsilon": 0.3}])
@pytest.mark.parametrize("one", [LaplaceFamily(), KRRFamily(4), GaussianFamily()])
def test_amplified_only_where_something_is(one: Family, question: dict[str, float]) -> None:
    deltas = None if one.pure else 1e-6
    (alone,) = (
        Personalized(one, [1.0], budgets_visible=False, deltas=deltas)
        .guarantees(**question)
        .classes
    )
    assert alone.applies == "own budget"
    crowd = Personalized(one, {1.0: 2000}, budgets_visible=False, deltas=deltas)
    assert crowd.guarantees(**question).classes[0].applies == "amplified"


def test_very_many_visible_budgets_count_on_the_rarest() -> None:
    many = np.linspace(0.5, 2.0, 1500)
    answer = Personalized(KRRFamily(4), many, budgets_visible=True).guarantees(epsilon=0.1)
    assert "its rarest budget" in answer.warning
    assert {each.applies for each in answer.classes} == {"own budget"}
    few = Personalized(KRRFamily(4), many[:10], budgets_visible=True)
    assert "its rarest budget" not in few.warning
    common = {eps: 300 + 40 * (k % 2) for k, eps in enumerate(many.tolist())}
    crowded = Personalized(KRRFamily(4), common, budgets_visible=True, colluders=50)
    for each in crowded.guarantees(delta=1e-5).classes:
        assert each.applies == "amplified"
        alone = Personalized(KRRFamily(4), {each.eps0: 250}, budgets_visible=True)
        own = alone.guarantees(delta=1e-5).classes[0].interval
        assert each.interval.upper == pytest.approx(own.upper, rel=1e-3, abs=0.0)
        assert each.interval.lower <= each.interval.upper


@pytest.mark.parametrize(
    "text",
    [
        "name,eps\nZoe-secret,1\n",
        "name,eps\n1,1\nZoe-secret,1,2\n",
        "Zoe-secret,0.5\n",
    ],
    ids=["no number", "too many cells", "no header"],
)
def test_what_a_user_holds_is_not_quoted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text(text)
    code, output = _run(
        *("--mechanism", "laplace", "--budgets", str(path), "--column", "name"),
        *("--delta", "1e-5", "--budgets-hidden"),
    )
    assert code == 2
    assert "Zoe-secret" not in output
