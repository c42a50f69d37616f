"""Budgets as users hand them over: an array, a histogram {eps: count},
or a column of a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from shuffledp.errors import NOT_SHOWN, ParameterError
from shuffledp.numerics.rounding import Array

_CONDITION = "a finite number > 0"
_NUMERIC = set("0123456789+-.,_eE")


def _budget(value: object, row: int) -> float:
    """One budget, or an error naming its row and value."""
    if isinstance(value, bool) or value is None:
        raise ParameterError("budgets", f"{_CONDITION} in row {row}", value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError("budgets", f"{_CONDITION} in row {row}", value) from None
    if not (math.isfinite(number) and number > 0.0):
        raise ParameterError("budgets", f"{_CONDITION} in row {row}", value)
    return number


def expand(budgets: object) -> Array:
    """One number per user, in the order given."""
    if isinstance(budgets, Mapping):
        return _from_histogram(budgets)
    if isinstance(budgets, np.ndarray) and budgets.dtype.kind in "fiu":
        values = budgets.astype(np.float64).ravel()
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
        if bad.size:
            row = int(bad[0])
            raise ParameterError("budgets", f"{_CONDITION} in row {row + 1}", float(values[row]))
    elif isinstance(budgets, Iterable) and not isinstance(budgets, str | bytes):
        values = np.array([_budget(value, row) for row, value in enumerate(budgets, start=1)])
    else:
        raise ParameterError("budgets", "numbers, a {budget: count} mapping or an array", budgets)
    if values.size == 0:
        raise ParameterError("budgets", "at least one user's budget", "none")
    return values


def _from_histogram(budgets: Mapping[object, object]) -> Array:
    parts = []
    for row, (value, count) in enumerate(budgets.items(), start=1):
        number = _budget(value, row)
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not whole or count < 1:  # type: ignore[operator]
            raise ParameterError("budgets", f"a count >= 1 for {number:g} (row {row})", count)
        parts.append(np.full(int(count), number))  # type: ignore[call-overload]
    if not parts:
        raise ParameterError("budgets", "at least one user's budget", "none")
    return np.concatenate(parts)


def read_budgets(path: str | Path, column: str) -> Array:
    """That column of a CSV file with a header; rows are counted as in a spreadsheet (header: 1)."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError("budgets", "a readable CSV file", str(path)) from error
    if not rows or not rows[0]:
        raise ParameterError("budgets", "a CSV file with a header and rows", "an empty file")
    names = [name.strip() for name in rows[0]]
    place = _place(names, column)
    values = []
    for row, cells in enumerate(rows[1:], start=2):
        if len(cells) != len(names):
            condition = f"as many cells in row {row} as in the header, row 1 ({len(names)})"
            raise ParameterError("budgets", condition, len(cells))
        values.append(_cell(cells[place].strip(), row))
    if not values:
        raise ParameterError("budgets", "a CSV file with at least one user", "a header only")
    return np.array(values)


def _cell(text: str, row: int) -> float:
    """The budget in a cell; what does not look like one may be anything, and is not quoted."""
    condition = f"{_CONDITION} in row {row} (the header is row 1)"
    try:
        if "_" in text:  # Python would read 1_0 as 10
            raise ValueError
        return _budget(float(text), row)
    except ValueError:
        shown = text if set(text) <= _NUMERIC else NOT_SHOWN
        raise ParameterError("budgets", condition, shown) from None


def _place(names: list[str], column: str) -> int:
    """Which cell of a row holds the budget."""
    if column not in names:
        if all(_is_number(name) for name in names):
            raise ParameterError(
                "budgets", "a CSV file whose first row names the columns", "numbers"
            )
        # they are not listed: where there is no header, they are what a user holds
        raise ParameterError("column", f"one of the {len(names)} names in the first row", column)
    if names.count(column) > 1:
        raise ParameterError("column", "the name of one column only", column)
    return names.index(column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
