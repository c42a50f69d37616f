"""The atlas: certain violations only, none of a proven theorem, and it continues after a stop."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import labels
from shuffledp.accounting.bounds import all_theorems, get_theorem
from shuffledp.accounting.protocols import refute
from shuffledp.interfaces.cli import main
from shuffledp.labels import Direction, Status
from shuffledp.research.atlas import Cell, ClaimedValue, Judgement, Point, grid, save, survey
from shuffledp.research.atlas.cell import _judge
from shuffledp.research.atlas.grid import FAMILIES, ParameterSweep
from shuffledp.research.atlas.summary import Line, lines

LDP, KRR, LAPLACE, GAUSSIAN, CHECKED_IN, BALL, APPROXIMATE, DRAWN, ROUNDS = FAMILIES
POINTS = [
    Point(LDP, 0.5, 1000, 1e-3),
    Point(LDP, 8.0, 10_000, 1e-6),
    Point(KRR, 4.0, 100, 1e-6),
    Point(LAPLACE, 4.0, 10_000, 1e-6),
]


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return survey(POINTS)


@pytest.fixture(scope="module")
def summary(cells: list[Cell]) -> list[Line]:
    return lines(cells)


@pytest.mark.parametrize(
    ("family", "theorem"),
    [
        (BALL, "swap-gaussian"),
        (APPROXIMATE, "stronger-clones-approximate"),
        (DRAWN, "subsampled"),
        (ROUNDS, "composition-gdp"),
    ],
    ids=lambda given: getattr(given, "title", given),
)
def test_other_ways_to_report_are_covered(family: ParameterSweep, theorem: str) -> None:
    (cell,) = survey([Point(family, 1.0, 100, 1e-6)])
    assert theorem in {claim.theorem for claim in cell.claims}
    assert not _violated(cell)


def _violated(cell: Cell) -> dict[str, ClaimedValue]:
    return {c.theorem: c for c in cell.claims if c.verdict is Judgement.VIOLATED}


def test_the_refuted_are_caught_where_they_fail(cells: list[Cell]) -> None:
    _, generic, krr, laplace = cells
    assert {"chen-2024-gdp", "ccc-2024-personal"} <= set(_violated(generic))
    assert "variation-ratio-2024" in _violated(krr)
    assert "hps-2024" in _violated(laplace)


def test_nothing_proven_is_violated(cells: list[Cell]) -> None:
    proven = {theorem.id for theorem in all_theorems() if theorem.status is Status.PROVEN}
    assert not [name for cell in cells for name in _violated(cell) if name in proven]
    assert any(claim.theorem in proven for cell in cells for claim in cell.claims)


def test_a_violation_is_confirmed_by_an_independent_search(cells: list[Cell]) -> None:
    laplace = cells[3]
    claim = _violated(laplace)["hps-2024"]
    found = refute(
        laplace.point.protocol.randomizer, laplace.point.n, epsilon=claim.at, delta=claim.claimed
    )
    assert found.refuted
    assert found.delta == pytest.approx(claim.leaked, rel=2e-3, abs=0.0)
    assert claim.dataset == found.dataset


def test_every_leak_is_at_least_what_the_point_asks_for(cells: list[Cell]) -> None:
    for cell in cells:
        leaks = [claim.leaked for claim in cell.claims if claim.question == "epsilon"]
        assert min(leaks) == max(leaks) >= cell.point.leak * (1.0 - 1e-3)


@pytest.mark.parametrize(
    ("status", "direction", "value", "verdict"),
    [
        (Status.PROVEN, Direction.UPPER, 0.1, Judgement.HOLDS),
        (Status.HEURISTIC, Direction.UPPER, 0.0999, Judgement.VIOLATED),
        (Status.REFUTED, Direction.ESTIMATE, 0.0999, Judgement.VIOLATED),
        (Status.ASYMPTOTIC, Direction.ESTIMATE, 0.0999, Judgement.VIOLATED),
        (Status.FIXED_PAIR, Direction.UPPER, 0.01, Judgement.ONE_PAIR),
        (Status.FIXED_PAIR, Direction.LOWER, 0.05, Judgement.HOLDS),
        (Status.FIXED_PAIR, Direction.LOWER, 0.3, Judgement.VIOLATED),
    ],
)
def test_verdicts(
    monkeypatch: pytest.MonkeyPatch,
    status: Status,
    direction: Direction,
    value: float,
    verdict: Judgement,
) -> None:
    judged = replace(get_theorem("wang-2023"), status=status, direction=direction)
    monkeypatch.setitem(labels._REGISTRY, judged.id, judged)
    values = [get_theorem("stronger-clones").value(0.2), judged.value(value)]
    assert _judge("epsilon", 1.0, values, 0.1, "a data set")[1].verdict is verdict


def test_files_say_the_same(cells: list[Cell], summary: list[Line], tmp_path: Path) -> None:
    save(cells, summary, tmp_path)
    data = json.loads((tmp_path / "atlas.json").read_text())
    with (tmp_path / "atlas.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(data["claims"]) == sum(line.answered for line in summary)
    assert {row["theorem"] for row in data["theorems"]} == {t.id for t in all_theorems()}
    violated = [row for row in rows if row["verdict"] == "violated"]
    assert all(float(row["claimed"]) < float(row["leaked"]) and row["dataset"] for row in violated)
    page = (tmp_path / "atlas.md").read_text()
    assert "### hps-2024" in page
    assert "all at 0" in page
    first = page.partition("| ---: | ---: |\n")[2].splitlines()[0]
    assert first.startswith("| `poisson-batches` | REFUTED |")
    assert (tmp_path / "atlas.png").read_bytes().startswith(b"\x89PNG")


def test_refuted_on_record_are_recomputed(summary: list[Line]) -> None:
    for line in summary:
        if line.on_record is not None:
            claimed, leaked = line.on_record
            assert claimed < leaked


def test_an_interrupted_run_continues(
    tmp_path: Path, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "unfinished.jsonl"
    computed: list[Point] = []
    known = {cell.point: cell for cell in cells}

    def stop_after_two(point: Point) -> Cell:
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(point)
        return known[point]

    monkeypatch.setattr("shuffledp.research.atlas.run.compute", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        survey(POINTS, journal=journal)
    with journal.open("a") as file:
        file.write('{"point": "cut sho')
    computed.clear()
    monkeypatch.setattr(
        "shuffledp.research.atlas.run.compute", lambda point: computed.append(point) or known[point]
    )
    assert survey(POINTS, journal=journal) == cells
    assert computed == POINTS[2:]
    assert not journal.exists()


def test_the_grid_names_every_place_once() -> None:
    for points in (grid(), grid(full=True)):
        assert len({point.key for point in points}) == len(points)


def test_a_wrong_mechanism_is_refused_in_words(tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["atlas", "--mechanism", "magic", "--out", str(tmp_path)])
    assert run.exit_code == 2
    assert "The 'mechanism' parameter must be one of gaussian, krr, laplace, ldp" in run.output


@pytest.mark.slow
def test_the_command_writes_the_whole_atlas(tmp_path: Path) -> None:
    arguments = ["atlas", "--out", str(tmp_path), "--workers", "2", "--json"]
    run = CliRunner().invoke(main, arguments)
    assert run.exit_code == 0, run.output
    data = json.loads(run.stdout)
    for line in data["theorems"]:
        if line["status"] == "PROVEN":
            assert line["violated"] == 0, line
    assert not (tmp_path / "unfinished.jsonl").exists()
