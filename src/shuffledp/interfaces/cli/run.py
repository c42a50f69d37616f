"""shuffledp run: randomize, shuffle and estimate in one go."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.collection import (
    bar,
    job,
    job_booking,
    ledger_options,
    memory_option,
    questions_about_data,
    show,
    simulation_option,
    stream,
)
from shuffledp.interfaces.cli.options import Count, json_option, plot_option
from shuffledp.interfaces.cli.paths import TABLE
from shuffledp.interfaces.cli.questions import answer, blamed_on
from shuffledp.interfaces.cli.questions import asked as asked_questions


@click.command()
@questions_about_data
@click.option("--out", type=TABLE, help="Write the estimates to this .csv or .parquet file.")
@click.option("--reports", type=TABLE, help="Also write the shuffled reports to this file.")
@click.option("--simplex", is_flag=True, help="Make frequencies non-negative with sum 1.")
@click.option("--non-negative", is_flag=True, help="Move frequencies below 0 to 0.")
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="Run on this Spark cluster, such as local[2] or spark://host:7077 (Parquet only).",
)
@click.option("--rounds", type=Count(), help="Rounds that share the guarantee (shapes).")
@click.option(
    "--colluders", type=Count(), help="Users who tell the analyst what they sent (shapes)."
)
@click.option("--max-eps0", type=float, help="Largest local budget (shapes).")
@click.option("--check-in", type=float, help="Probability with which users report.")
@ledger_options
@simulation_option
@memory_option
@json_option
@plot_option
def run(
    data: str,
    tasks: str | None,
    messages: int | None,
    out: str | None,
    reports: str | None,
    simplex: bool,
    non_negative: bool,
    master: str | None,
    ledger: str | None,
    cohort: str | None,
    simulation: int | None,
    memory: int,
    as_json: bool,
    plot: str | None,
    rounds: int | None,
    colluders: int | None,
    max_eps0: float | None,
    check_in: float | None,
    **question: Any,
) -> None:
    """Calibrate, randomize every row of DATA as a device would, shuffle, estimate.

    With --tasks several questions about the same users, under one guarantee.
    """
    from shuffledp.collection.pipeline import Embedded, Engine
    from shuffledp.collection.pipeline import run as collect
    from shuffledp.collection.pipeline.counted import CountedJob
    from shuffledp.collection.pipeline.counted import collect as count

    if tasks is None:
        _complete(simplex=simplex, non_negative=non_negative, **question)
    if simplex and non_negative:
        raise ParameterError("non_negative", "left out with --simplex, which sees to it", True)
    shown = partial(
        show, out=out, plot=plot, as_json=as_json, project=simplex, non_negative=non_negative
    )
    book = job_booking(ledger, cohort, simulated=simulation is not None)
    kept = {"rounds": rounds, "colluders": colluders, "max_eps0": max_eps0}
    limits = {name: value for name, value in kept.items() if value is not None}
    if tasks is not None or (messages or 1) > 1:
        alone = {"reports": reports, "master": master, "check_in": check_in, **limits}
        for name, value in alone.items():
            if value is not None:
                raise ParameterError(name, "left out where users send several messages", value)
        with blamed_on(tasks):
            answer(
                asked_questions(data, tasks, messages, **question),
                data,
                book=book,
                simulation=simulation,
                memory=memory,
                out=out,
                plot=plot,
                as_json=as_json,
                simplex=simplex,
                non_negative=non_negative,
            )
        return
    asked = job(data, counted=limits, check_in=1.0 if check_in is None else check_in, **question)
    if master is not None and check_in is not None:
        raise ParameterError("check_in", "left out with --spark", check_in)
    if isinstance(asked, CountedJob):
        for name, value in (("reports", reports), ("master", master)):
            if value is not None:
                raise ParameterError(name, f"left out for {asked.mechanism!r}", value)
        with bar("collecting", asked.n) as advance:
            source = stream(simulation)
            asked, found = count(asked, data, source, book=book, advance=advance)
        shown(asked, found)
        return
    engine: Engine
    if master is None:
        engine = Embedded(stream(simulation), memory << 20)
    else:
        if simulation is not None:
            raise ParameterError("simulation", "left out with --spark", simulation)
        from shuffledp.collection.pipeline.spark import Spark, session

        engine = Spark(session(master))
    with bar("randomizing", asked.n) as advance:
        asked, found = collect(asked, data, engine, reports=reports, book=book, advance=advance)
    shown(asked, found)


def _complete(
    *,
    simplex: bool,
    non_negative: bool,
    task: str | None,
    columns: tuple[str, ...],
    **_: Any,
) -> None:
    """One question needs a task and a column."""
    if task is None:
        raise ParameterError("task", "given, or else --tasks", None)
    if not columns:
        raise ParameterError("columns", "given, or else --tasks", None)
    for name, asked_for in (("simplex", simplex), ("non_negative", non_negative)):
        if asked_for and "histogram" not in task:
            raise ParameterError(name, "left out unless the task is histogram", asked_for)
