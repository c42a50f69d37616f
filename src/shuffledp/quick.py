"""From a table to private estimates in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shuffledp import checks
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.collection.analysis import Estimate


def run(
    data: Any,
    column: str | Sequence[str] = "value",
    *,
    task: str,
    delta: float,
    epsilon: float | None = None,
    eps0: float | None = None,
    categories: Sequence[str] | None = None,
    low: float | None = None,
    high: float | None = None,
    mechanism: str = "best",
    simulation: int | None = None,
    **options: Any,
) -> Estimate:
    """Randomize every row as a device would, shuffle, estimate. Needs the extra 'run'.

    Parameters
    ----------
    data
        A CSV or Parquet file, a data frame of pandas or polars, an Arrow table, a mapping of
        columns, or the values of the one column.
    column
        The column asked about; several for task "vector".
    task
        "histogram", "heavy-hitters", "quantiles", "mean" or "vector".
    delta, epsilon, eps0
        The central guarantee, or its delta and a local budget.
    categories
        The public values of a histogram; they must not come from the data.
    low, high
        The public range of numbers.
    mechanism
        A randomizer by name, or another shape of a plan (``planning.ALL_SHAPES``); "best" is the
        planner's choice of a randomizer.
    simulation
        A seed for reproducible experiments, which protect nobody; the answer says so.
    **options
        ``bins``, ``norm``, ``letters``, ``most``, ``other``, as for the command.

    Returns
    -------
    Estimate
        Numbers with error bars, and the privacy they cost.

    Examples
    --------
    >>> import shuffledp
    >>> answers = ["yes"] * 700 + ["no"] * 300
    >>> found = shuffledp.run(answers, task="histogram", categories=["yes", "no"],
    ...                       epsilon=1.0, delta=1e-6)
    >>> bool(abs(found.values[0] - 0.7) < 0.2)
    True
    >>> found.guarantee.upper <= 1.0
    True
    """
    from shuffledp.collection.devices import secure
    from shuffledp.collection.devices import simulation as simulated
    from shuffledp.collection.pipeline import Embedded, Job, survey
    from shuffledp.collection.pipeline import run as collect
    from shuffledp.collection.pipeline.counted import collect as count
    from shuffledp.collection.pipeline.counted import shaped
    from shuffledp.collection.pipeline.tables import as_table
    from shuffledp.collection.planning import ALL_SHAPES

    columns = (column,) if isinstance(column, str) else tuple(column)
    promised = eps0 if epsilon is None else epsilon
    if promised is None or None not in (epsilon, eps0):
        raise ParameterError("epsilon", "given, or else eps0", (epsilon, eps0))
    table = as_table(data, columns)
    if task == "histogram":
        if categories is None or isinstance(categories, str):
            raise ParameterError("categories", "a list of public values", categories)
        options |= {"categories": tuple(map(str, categories))}
    elif task != "heavy-hitters":
        ends = {"low": low, "high": high}
        for name, end in ends.items():
            options[name] = checks.real(name, end, "a number, for this task", -math.inf, math.inf)
    users = survey(table, columns, values=False)[0]
    job = Job(task, columns, users, epsilon=promised, delta=delta, mechanism=mechanism, **options)
    stream = secure() if simulation is None else simulated(simulation)
    if mechanism in ALL_SHAPES and eps0 is None:
        return count(shaped(job), table, stream)[1]
    job = job.calibrated() if eps0 is None else job.at_budget(eps0)
    return collect(job, table, Embedded(stream))[1]
