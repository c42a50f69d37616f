"""shuffledp atlas: every theorem against concrete data sets."""

from __future__ import annotations

from pathlib import Path

import click

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.options import json_option, print_json


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("atlas"),
    show_default=True,
    help="Folder for the data, the picture and the page.",
)
@click.option("--full", is_flag=True, help="A finer grid: more crowds, more deltas.")
@click.option("--mechanism", "only", help="Only the part of the grid with this mechanism.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that compute.",
)
@json_option
def atlas(out: Path, full: bool, only: str | None, workers: int, as_json: bool) -> None:
    """Where do published bounds hold, and where does a data set break them?

    An interrupted run continues where it stopped.
    """
    from shuffledp.display.text import print_rows, tracked
    from shuffledp.research.atlas import grid, save, survey
    from shuffledp.research.atlas.grid import FAMILIES
    from shuffledp.research.atlas.summary import lines

    names = sorted({family.mechanism for family in FAMILIES})
    if only is not None:
        checks.one_of("mechanism", only, names)
    points = [point for point in grid(full) if only in (None, point.family.mechanism)]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("out", "a folder that can be made", str(out)) from error
    cells = survey(
        points,
        workers=workers,
        journal=out / "unfinished.jsonl",
        track=lambda found, total: tracked(found, "asking every theorem", total),
    )
    summary = lines(cells)
    files = save(cells, summary, out)
    if as_json:
        print_json({"files": files, "theorems": [line.to_dict() for line in summary]})
        return
    rows = []
    for line in summary:
        if line.violations:
            cell, claim = line.worst
            rows.append(
                (
                    line.theorem.id,
                    f"{len(line.violations)} of {line.answered}",
                    cell.point.key,
                    claim.claimed,
                    claim.leaked,
                    claim.dataset,
                )
            )
    title = f"violated claims at {len(cells)} places (worst of each theorem)"
    columns = ("theorem", "violated", "worst at", "claimed", "leaked", "data set")
    print_rows(title, columns, rows, ["files: " + ", ".join(files)])
