"""Tasks: documents that never change, and that say what is proven."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Shuffled
from shuffledp.accounting.protocols import restore
from shuffledp.errors import ParameterError, ServiceError, ShuffleDPError
from shuffledp.service.task import Task, exact
from tests.service.made import HOUR, OPENS, key, make_task

FREE = {("title",), ("cohort",), ("guarantee", "theorem"), ("guarantee", "leaked_by")}
FREE |= {("question", name) for name in ("low", "high")}
"""Fields that say something else with another value, and nothing wrong; histograms have no range."""
KINDS = [
    ("histogram", "krr", "response"),
    ("histogram", "rappor", "unary"),
    ("histogram", "oue", "unary"),
    ("mean", "one-bit", "one-bit"),
    ("mean", "laplace", "discrete-laplace"),
    ("mean", "truncated-laplace", "discrete-laplace"),
    ("histogram", "subset", None),
    ("quantiles", "krr", "response"),
    ("heavy-hitters", "prefix", None),
]


@pytest.mark.parametrize(("question", "mechanism", "kind"), KINDS)
def test_a_task_comes_back_as_it_was(question: str, mechanism: str, kind: str | None) -> None:
    more: dict[str, Any] = {"bins": 8} if question == "quantiles" else {}
    task = make_task(mechanism, task=question, **more)
    assert Task.read(task.document, task.id) == task
    assert task.id == hashlib.sha256(task.document).digest()
    given = json.loads(task.document)
    assert (given["randomizer"]["exact"] or {}).get("kind") == kind
    # anybody can compute the guarantee from the document alone
    actual = restore({"randomizer": given["randomizer"]["actual"], "n": given["batch"]["minimum"]})
    known = actual.epsilon(given["guarantee"]["delta"])
    stated = given["guarantee"]["epsilon"]
    assert known.upper <= stated <= given["guarantee"]["promised"]
    assert stated == pytest.approx(known.upper, rel=2e-9, abs=0.0)
    assert known.lower == given["guarantee"]["leaked"]
    assert actual == task.protocol
    assert task.length % 16 == 0
    assert task.length >= task.payload


def test_a_task_in_a_file(tmp_path: Path) -> None:
    task = make_task()
    task.save(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == task
    with pytest.raises(ParameterError, match="can be read"):
        Task.load(tmp_path / "none.json")


def _altered(**changes: Any) -> bytes:
    given = json.loads(make_task().document)
    for path, value in changes.items():
        part, _, name = path.partition("__")
        if name:
            given[part][name] = value
        else:
            given[part] = value
    return json.dumps(given, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"guarantee__epsilon": 1.0}, "only .* is proven"),
        ({"guarantee__epsilon": 2.5}, "promises epsilon = 2"),
        ({"guarantee__promised": 0.5}, "epsilon <= 0.5"),
        ({"guarantee__leaked": 2.5}, "'leaked'"),
        ({"guarantee__status": "HEURISTIC"}, "Nothing is proven"),
        ({"batch__minimum": 9}, "only .* is proven"),
        ({"batch__largest": 5}, "'users'"),
        ({"batch__minimum": 10.0}, "'minimum' of type int"),
        ({"randomizer__strength": 9.0}, "epsilon <= 2 holds"),
        ({"randomizer__strength": 0.5}, "randomizer.actual should be"),
        ({"randomizer__exact": None}, "randomizer.exact should be"),
        ({"randomizer__mechanism": "magic"}, "one of krr"),
        ({"report__length": 0}, "'length'"),
        ({"report__length": 1 << 15}, "'length'"),
        ({"report__columns": 2}, "report.columns should be 1"),
        ({"time__opens": OPENS + 1}, "multiple of the precision"),
        ({"time__expires": OPENS}, "after the opening"),
        ({"time__precision": 0}, "'precision'"),
        ({"keys__shuffler": []}, "1 to 8 different keys"),
        ({"keys__shuffler": [key("analyst").public.raw.hex()]}, "another key"),
        ({"keys__shuffler": ["00" * 32]}, "X25519"),
        ({"keys__analyst": "zz"}, "hexadecimal"),
        ({"cohort": ""}, "'cohort'"),
        ({"title": "a\nb"}, "'title'"),
        ({"title": 7}, "'title' of type str"),
        ({"extra": 1}, "without 'extra'"),
        ({"question": []}, "'question' of type dict"),
        ({"question__bins": True}, "a whole number"),
        ({"question__more": 1}, "the question's"),
        ({"protocol": "shuffledp-task-2"}, "of the protocol"),
    ],
)
def test_a_task_that_is_not_what_it_says(changes: dict[str, Any], words: str) -> None:
    with pytest.raises((ServiceError, ParameterError), match=words):
        Task.read(_altered(**changes))


def test_a_task_states_no_more_than_is_proven_by_a_digit() -> None:
    task = make_task()
    for factor, holds in ((1 - 1e-15, False), (1 + 1e-15, True)):
        stated = replace(task.stated, epsilon=task.job.guarantee.upper * factor)
        if holds:  # of another version of the accountant, say, and still proven
            assert Task.read(replace(task, stated=stated).document).stated == stated
        else:
            with pytest.raises(ServiceError, match=r"only .* is proven"):
                replace(task, stated=stated)


def test_only_one_text_has_a_name() -> None:
    document = make_task().document
    with pytest.raises(ServiceError, match="canonically"):
        Task.read(document + b"\n")
    with pytest.raises(ServiceError, match="canonically"):
        Task.read(document.replace(b'"bins":64', b'"bins":64,"bins":64'))
    with pytest.raises(ServiceError, match="digest"):
        Task.read(document, bytes(32))


@given(st.binary(max_size=60))
def test_what_is_no_task(noise: bytes) -> None:
    with pytest.raises(ParameterError, match="'task'"):
        Task.read(noise)


def test_every_field_of_another_type_is_refused_in_words() -> None:
    given = json.loads(make_task().document)
    places = [(name,) for name in given]
    places += [
        (name, field) for name, part in given.items() if type(part) is dict for field in part
    ]
    for place in places:
        for value in (None, True, -1, 1e300, "x", [], {}, [[]], [None], "x" * 2000):
            changed = json.loads(make_task().document)
            part = changed
            for name in place[:-1]:
                part = part[name]
            if part[place[-1]] == value:
                continue
            part[place[-1]] = value
            document = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
            try:
                taken = Task.read(document).document
            except ShuffleDPError:
                continue
            assert taken == document
            assert place in FREE, place


def test_numbers_that_are_none_are_refused() -> None:
    document = make_task().document.replace(b'"low":0.0', b'"low":NaN')
    with pytest.raises(ParameterError, match="JSON"):
        Task.read(document)
    with pytest.raises(ParameterError, match="at most"):
        Task.read(b"x" * (1 << 21))


def test_what_a_task_says() -> None:
    task = make_task()
    assert "PROVEN" in task.said
    assert "at least 10 reports" in task.said
    assert task.protocol == Shuffled(task.job.device.randomizer, 10)
    assert exact(task.job.device) == {
        "kind": "response",
        "k": 4,
        "replace": task.job.device.response.beta,  # type: ignore[attr-defined]
    }
    assert task.expires == OPENS + 24 * HOUR
