"""The papers' items: printed values beside ours, differences said, files that agree."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shuffledp import CheckIn, Gaussian, Repeated, Shuffled
from shuffledp.interfaces.cli import main
from shuffledp.research.reproduce import (
    ITEMS,
    adult_training,
    best_accuracy,
    chen2024_training,
    liew2023,
    liew2023_training,
    wang2023,
    wang2023_mixtures,
)
from shuffledp.research.reproduce.result import Result
from shuffledp.training.accounting import CheckInRounds
from shuffledp.training.presets import PRESETS

ROOT = Path(__file__).parents[3]


def _rows(result: Result) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.to_dict()["rows"]
    return rows


def test_wang_table_2_lower_bound_and_eps0_entries() -> None:
    """The printed lower bound is the exact pair in steps of 100 clones; eps0 is the local guarantee."""
    rows = _rows(wang2023.table_2())
    for row, close in zip(rows, (0.011, 0.003, 0.001, 0.001, 0.001), strict=True):
        assert abs(row["lower difference"]) < close
        assert row["exact in steps of 100"] < row["leaked by 3-RR"] <= row["exact"]
        assert row["2023 ours"] == pytest.approx(row["2023 printed"], rel=1e-4, abs=0.0)
    assert [row["2023 ours"] for row in rows[2:]] == [4.444] * 3


def test_smaller_steps_lead_to_the_exact_pair() -> None:
    from shuffledp import LDP, Shuffled

    exact = Shuffled(LDP(4.444), 10_000).bound("stronger-clones", epsilon=0.4).value
    values = [wang2023.stepped_delta(0.4, step) for step in (100, 20, 1)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(exact, rel=1e-6, abs=0.0)


def test_wang_figure_1_goes_beyond_the_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(eps0 > 4.444 for eps0 in wang2023._BUDGETS)
    monkeypatch.setattr(wang2023, "_BUDGETS", (5.0,))
    for row in _rows(wang2023.figure_1()):
        assert row["(eps,delta) 2023"] is None
        assert row["eps0 alone"] - 1e-12 <= row["Theorem 4.2"] <= row["exact pair"] + 1e-9


def test_wang_figure_3_pairs_that_might_have_been_meant() -> None:
    found = wang2023_mixtures.other_pairs()
    assert len(found) == 4
    for values in found.values():
        assert values["Lemma 3.1"] == pytest.approx(0.0020, rel=1e-3, abs=0.0)
        assert values["Proposition 6.4"] < 0.5 * 1.5e-6


def test_liew_equation_17_at_many_users() -> None:
    """Not below the paper's pair, below a pair at distance 2; (18) says the same but at order 2."""
    rows = {row["order"]: row for row in _rows(liew2023.equation_17(6000))}
    n, e = 6000, math.exp
    assert rows[2]["pair, distance 1"] == pytest.approx(
        0.1 * (e(1 / 25) - 1) / n, rel=1e-3, abs=0.0
    )
    assert rows[2]["pair, distance 2"] == pytest.approx(
        0.1 * (e(4 / 25) - 1) / n, rel=1e-3, abs=0.0
    )
    assert rows[2]["pair, distance 1"] < rows[2]["(17)"] < rows[2]["pair, distance 2"]
    assert rows[2]["verdict"]
    for order in (4, 16):
        assert rows[order]["(17)"] > rows[order]["pair, distance 2"]
        assert rows[order]["(17)"] == pytest.approx(rows[order]["(18)"], rel=0.01, abs=0.0)
        assert not rows[order]["verdict"]


def test_text_json_and_files_agree(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    name = "wang-2023-table-2"
    words = ["reproduce", name, "--out", str(tmp_path)]
    shown = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    kept = json.loads((tmp_path / f"{name}.json").read_text())
    assert {key: shown[key] for key in kept} == kept
    with (tmp_path / f"{name}.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [[float(v) for v in row.values()] for row in table] == [
        list(row.values()) for row in kept["rows"]
    ]
    text = CliRunner().invoke(main, words).stdout
    assert all(f"{row['exact']:.6g}" in text for row in kept["rows"])
    assert all(remark.split(",")[0][:40] in text for remark in kept["remarks"])


def test_no_number_is_cut_short_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    from shuffledp.display.text import print_rows

    print_rows("wide", [f"column {i}" for i in range(20)], [[1.23456e-05] * 20])
    assert "…" not in capsys.readouterr().out


def test_results_kept_in_the_documentation_are_named_as_their_items() -> None:
    kept = {path.stem for path in (ROOT / "docs" / "training").glob("*.csv")}
    assert kept == {name for name, item in ITEMS.items() if item.takes}
    for name in kept:
        for ending in ("csv", "json", "png"):
            assert (ROOT / "docs" / "training" / f"{name}.{ending}").exists()


@pytest.mark.parametrize("name", ["chen-2024-figure-4", "chen-2024-figure-4-first"])
def test_results_kept_in_the_documentation_are_what_items_say_now(name: str) -> None:
    """Columns and labels; accuracies take minutes and are not computed again."""
    folder = ROOT / "docs" / "training"
    kept = json.loads((folder / f"{name}.json").read_text())["rows"]
    with (folder / f"{name}.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert tuple(kept[0])[-len(chen2024_training._COLUMNS) :] == chen2024_training._COLUMNS
    for row, line in zip(kept, table, strict=True):
        assert ["" if v is None else str(v) for v in row.values()] == list(line.values())
        label = {"sample": "REFUTED", "client": "ASYMPTOTIC"}.get(row["unit"])
        assert row["label of the claim"] == (label if row["epsilon claimed by Theorem 3"] else None)


def _kept(name: str) -> list[dict[str, Any]]:
    path = ROOT / "docs" / "training" / f"{name}.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return rows


def test_settings_were_chosen_by_the_searches_on_record() -> None:
    """Each search is the one in the code, and its best is what the training runs use."""
    kept = _kept("chen-2024-figure-4-search")
    settings = chen2024_training.searched_settings(chen2024_training._SEARCHED)
    assert [tuple(row.values())[:4] for row in kept] == [tuple(s.values()) for s in settings]
    printed = [row for row in kept if (row["clip"], row["learning rate"]) == (10.0, 0.05)]
    best = max(printed, key=lambda row: row["validation accuracy"])
    chosen = {"network": best["network"], "scale": best["scale of inputs"]}
    assert chosen == chen2024_training.CHOSEN
    assert max(row["validation accuracy"] or 0.0 for row in kept) < 0.9

    kept = _kept("best-accuracy-search")
    assert [row["sigma"] for row in kept] == [s.sigma for s in best_accuracy.SEARCHED]
    first = [i for i, s in enumerate(best_accuracy.SEARCHED) if s.epsilon == 0.5]
    best_one = max(first, key=lambda i: kept[i]["validation accuracy"])
    assert best_accuracy.SEARCHED[best_one] == best_accuracy.BEST[0]
    assert best_accuracy.BEST[1] in best_accuracy.SEARCHED

    kept = _kept("adult-training-search")
    for name, tried in adult_training.SEARCHED_STEPS.items():
        rows = [row for row in kept if row["preset"] == name]
        assert len(rows) == len(tried)
        best = max(rows, key=lambda row: row["validation accuracy"])
        options = PRESETS[name].options
        assert (options["clip"], options["learning_rate"]) == (best["clip"], best["learning rate"])


def test_accuracies_kept_are_at_proven_epsilons() -> None:
    for row in _kept("best-accuracy"):
        assert row["epsilon if deployed"] <= row["epsilon"]
    last = {row["epsilon"]: row["test accuracy"] for row in _kept("best-accuracy")}
    assert set(last) == {setting.epsilon for setting in best_accuracy.BEST}
    assert last[1.0] > 0.96
    final = _kept("liew-2023-figure-1b-accuracy")[-1]
    account = CheckInRounds(sigma=5.0, clients=60_000, rate=0.1, delta=1 / 60_000)
    proven = account.after(final["rounds"]).epsilon
    assert final["epsilon if deployed"] == pytest.approx(proven, rel=1e-6, abs=0.0)
    assert list(final)[-2:] == list(liew2023_training.BASELINES)


def test_the_baselines_of_figure_1b_are_above_what_is_proven_now() -> None:
    """One round composed as (epsilon, delta), its divergences added up, and the whole account."""
    report = CheckIn(Gaussian(5.0, 1.0, ball=True), 0.1)
    baseline, generic = liew2023_training.BASELINES.values()
    composed, added = (method(report, 60_000, 1000, 1 / 60_000) for method in (baseline, generic))
    proven = Shuffled(Repeated(report, 1000), 60_000).guaranteed(delta=1 / 60_000).value
    assert proven < added < composed
    assert composed == pytest.approx(1.2254, rel=1e-3, abs=0.0)
    assert added == pytest.approx(0.28857, rel=1e-3, abs=0.0)
