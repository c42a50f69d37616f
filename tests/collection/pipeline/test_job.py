"""A job that makes no sense is refused by the name of what is wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shuffledp import ParameterError
from shuffledp.collection.pipeline.job import Job
from shuffledp.collection.pipeline.steps import survey
from shuffledp.collection.planning import Vector

HISTOGRAM = Job("histogram", ("x",), 100, 1.0, 1e-6, categories=("a", "b"))
MEAN = Job("mean", ("x",), 100, 1.0, 1e-6)


@pytest.mark.parametrize(
    ("job", "changes", "name"),
    [
        (HISTOGRAM, {"task": "median"}, "task"),
        (HISTOGRAM, {"columns": ("x", "y")}, "column"),
        (HISTOGRAM, {"n": 0}, "n"),
        (HISTOGRAM, {"users": 99}, "users"),
        (HISTOGRAM, {"users": -1}, "users"),
        (HISTOGRAM, {"parts": 0}, "parts"),
        (HISTOGRAM, {"part": 0}, "part"),
        (HISTOGRAM, {"part": 2}, "part"),
        (HISTOGRAM, {"parts": 2}, "collection"),
        (HISTOGRAM, {"collection": "c"}, "collection"),
        (HISTOGRAM, {"bad_rows": "keep"}, "bad_rows"),
        (HISTOGRAM, {"other": "c"}, "other"),
        (HISTOGRAM, {"epsilon": 0.0}, "epsilon"),
        (HISTOGRAM, {"epsilon": float("nan")}, "epsilon"),
        (HISTOGRAM, {"delta": 1.5}, "delta"),
        (HISTOGRAM, {"categories": ("a",)}, "categories"),
        (HISTOGRAM, {"categories": ("a", "b", "a")}, "categories"),
        (HISTOGRAM, {"norm": 1.0}, "norm"),
        (MEAN, {"low": 1.0, "high": 1.0}, "high"),
        (MEAN, {"low": 2.0, "high": 1.0}, "high"),
        (MEAN, {"low": -1e200}, "low"),
        (MEAN, {"high": float("inf")}, "high"),
        (MEAN, {"bins": 1}, "bins"),
        (MEAN, {"most": 0}, "most"),
        (MEAN, {"letters": 0}, "letters"),
        (MEAN, {"letters": 8}, "letters"),
    ],
)
def test_what_is_wrong_is_named(job: Job, changes: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as error:
        replace(job, **changes)
    assert error.value.parameter == name


@pytest.mark.parametrize(
    ("job", "changes"),
    [
        (HISTOGRAM, {"users": 100}),
        (HISTOGRAM, {"part": 2, "parts": 2, "collection": "c"}),
        (HISTOGRAM, {"other": "b"}),
        (MEAN, {"bins": 2, "most": 1, "letters": 7}),
        (MEAN, {"task": "vector", "columns": ("x", "y"), "norm": 1.0}),
    ],
)
def test_just_inside_is_accepted(job: Job, changes: dict[str, Any]) -> None:
    assert replace(job, **changes) != job


def test_a_norm_is_in_units_of_the_range() -> None:
    """The noise is scaled to it: one that came out too small would protect too little."""
    job = Job("vector", ("x", "y"), 100, 1.0, 1e-6, low=-1.0, high=3.0, norm=2.0)
    assert isinstance(job.question, Vector)
    assert job.question.norm == 2.0 / 4.0
    assert job.question.diameter == 1.0


def test_values_are_listed_once_where_asked(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,y\nb,1\na,2\nb,3\n")
    assert survey(table, ["x"], values=True) == (3, ("a", "b"))
    assert survey(table, ["x"], values=False) == (3, ())
