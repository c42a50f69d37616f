"""Frequencies from users with budgets of their own: k-ary randomized response,
each at its own budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.protocols.personalized import Guarantees
from shuffledp.accounting.randomizers import KRR
from shuffledp.accounting.randomizers.families import KRRFamily
from shuffledp.collection.analysis import Estimate, Frequencies, MixedFrequencies, combine
from shuffledp.collection.devices import Device, Stream, device
from shuffledp.collection.pipeline.job import distinct, numbered, numbers, places
from shuffledp.collection.pipeline.label import privacy, uncovered
from shuffledp.collection.pipeline.tables import column_names, read
from shuffledp.errors import ParameterError

_MOST = 10_000
"""Distinct budgets."""


def personalized(
    data: str | Path,
    column: str,
    budgets_column: str,
    categories: tuple[str, ...],
    stream: Stream,
    *,
    delta: float,
    budgets_visible: bool,
    other: str = "",
    values_from_data: bool = False,
    book: Callable[[Guarantees], None] = lambda _guarantees: None,
    advance: Callable[[int], None] = lambda _rows: None,
) -> tuple[Guarantees, Estimate]:
    """What every class of users is guaranteed, and the frequencies.

    Visible budgets travel with the reports: each class is estimated by itself, then all are
    weighted. Hidden ones stay on the devices: the analyst counts all reports alike. ``book`` is
    called when the answer is ready and before it is given: to record what it costs, or to refuse.
    """
    distinct(categories)
    k = len(categories)
    delta = checks.probability("delta", delta)
    names = column_names(data)
    if names and budgets_column not in names:
        condition = f"one of the {len(names)} names in the first line of the table"
        raise ParameterError("budgets_column", condition, budgets_column)
    users: Counter[float] = Counter()
    for row, batch in numbered(read(data, [budgets_column])):
        users.update(_budgets(batch.column(0), row).tolist())
        if len(users) > _MOST:
            raise ParameterError("budgets_column", f"at most {_MOST:,} budgets", len(users))
    devices: dict[float, Device] = {eps0: device(KRR(k, eps0=eps0)) for eps0 in sorted(users)}
    actual: Counter[float] = Counter()
    for eps0, machine in devices.items():
        actual[machine.randomizer.eps0] += users[eps0]
    deployment = Personalized(KRRFamily(k), dict(actual), budgets_visible=budgets_visible)
    guarantees = replace(
        deployment.guarantees(delta=delta),
        uncovered=uncovered(simulated=stream.simulated, values_from_data=values_from_data),
    )
    together = MixedFrequencies(list(devices.values()), [users[eps0] for eps0 in devices])
    apart = {eps0: Frequencies(machine) for eps0, machine in devices.items()}
    for row, batch in numbered(read(data, [column, budgets_column])):
        values = places(batch.column(0), categories, row, other)
        budgets = _budgets(batch.column(1), row)
        for eps0 in np.unique(budgets).tolist():
            users[eps0] -= int(np.count_nonzero(budgets == eps0))
            if users[eps0] < 0:
                raise _changed(data)
            reports = devices[eps0].encode(values[budgets == eps0], stream)
            (apart[eps0] if budgets_visible else together).add(reports)
        advance(batch.num_rows)
    if any(users.values()):
        raise _changed(data)
    book(guarantees)
    if budgets_visible:
        found = combine([tally.estimate(categories) for tally in apart.values()])
    else:
        found = together.estimate(categories)
    worst = guarantees.worst
    said = privacy(worst.interval, delta, guarantees.uncovered)
    label = f"{said}, worst class (budget {worst.eps0:g})"
    known = None if guarantees.uncovered else worst.interval
    return guarantees, replace(found, guarantee=known, label=label)


def _changed(data: str | Path) -> ParameterError:
    """The guarantee was computed for the users of the first reading."""
    return ParameterError("data", "a file that is left alone while it is read", str(data))


def _budgets(column: object, row: int) -> NDArray[np.float64]:
    try:
        found = numbers(column, row)
    except ParameterError as error:
        raise ParameterError("budgets_column", error.condition, error.value) from None
    bad = np.flatnonzero(~(np.isfinite(found) & (found > 0.0)))
    if bad.size:
        raise ParameterError(
            "budgets_column",
            f"finite numbers > 0 (row {row + bad[0] + 1})",
            float(found[bad[0]]),
        )
    return found
