"""The whole atlas: every point computed, in several processes, with what is finished kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from shuffledp.research.atlas.cell import Cell, ClaimedValue, Judgement, compute
from shuffledp.research.atlas.grid import Point

Track = Callable[[Iterator[Cell], int], Iterable[Cell]]


def survey(
    points: list[Point],
    *,
    workers: int = 1,
    journal: Path | None = None,
    track: Track = lambda cells, _total: cells,
) -> list[Cell]:
    """All cells, in the order of the points.

    ``journal`` names a file that keeps finished cells while the work goes on, so that an
    interrupted run continues where it stopped; it is removed at the end.
    """
    done = {} if journal is None else _read(journal, points)
    left = [point for point in points if point.key not in done]
    for cell in track(_computed(left, workers), len(left)):
        done[cell.point.key] = cell
        if journal is not None:
            _append(journal, cell)
    if journal is not None:
        journal.unlink(missing_ok=True)
    return [done[point.key] for point in points]


def _computed(points: list[Point], workers: int) -> Iterator[Cell]:
    if workers == 1:
        yield from map(compute, points)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(compute, point) for point in points]):
            yield future.result()


def _append(journal: Path, cell: Cell) -> None:
    claims = [asdict(claim) for claim in cell.claims]
    line = {"point": cell.point.key, "epsilon": cell.epsilon, "claims": claims}
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=False) + "\n")


def _read(journal: Path, points: list[Point]) -> dict[str, Cell]:
    """Cells an interrupted run finished; a last line cut short is computed again."""
    known = {point.key: point for point in points}
    cells: dict[str, Cell] = {}
    if not journal.exists():
        return cells
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry["point"] in known:
            claims = (
                ClaimedValue(**{**c, "verdict": Judgement(c["verdict"])}) for c in entry["claims"]
            )
            point = known[entry["point"]]
            cells[point.key] = Cell(point, entry["epsilon"], tuple(claims))
    return cells
