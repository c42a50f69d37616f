"""Users with several columns, a report for each: every data set of a few users, report by report.

Nothing is assumed but what the devices do and what the analyst sees: for every column the reports
in no order (unlinked), or the rows of reports in no order (linked).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from tests.oracles.brute_force import Channel

Row = tuple[int, ...]
View = Callable[[tuple[Row, ...]], object]


def unlinked(rows: tuple[Row, ...]) -> object:
    """What is seen if every column is shuffled by itself."""
    return tuple(tuple(sorted(column)) for column in zip(*rows, strict=True))


def linked(rows: tuple[Row, ...]) -> object:
    """What is seen if the reports of a user stay together."""
    return tuple(sorted(rows))


def law(channels: tuple[Channel, ...], users: tuple[Row, ...], view: View) -> dict:
    """Of what is seen, by going through all that the users may report."""
    outputs = list(itertools.product(*(range(len(channel[0])) for channel in channels)))
    found: dict[object, Fraction] = defaultdict(Fraction)
    for rows in itertools.product(outputs, repeat=len(users)):
        mass = Fraction(1)
        for values, row in zip(users, rows, strict=True):
            for channel, x, z in zip(channels, values, row, strict=True):
                mass *= channel[x][z]
        found[view(rows)] += mass
    return found


def worst_delta(channels: tuple[Channel, ...], n: int, e: Fraction, view: View) -> Fraction:
    """The largest H_e over all neighbouring data sets, both directions."""
    values = list(itertools.product(*(range(len(channel)) for channel in channels)))
    laws = {
        users: law(channels, users, view)
        for users in itertools.combinations_with_replacement(values, n)
    }
    worst = Fraction(0)
    for others in itertools.combinations_with_replacement(values, n - 1):
        for x, y in itertools.permutations(values, 2):
            p, q = (laws[tuple(sorted((*others, each)))] for each in (x, y))
            excess = sum((max(p[key] - e * q[key], Fraction(0)) for key in p), Fraction(0))
            worst = max(worst, excess)
    return worst
