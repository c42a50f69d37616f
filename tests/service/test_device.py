"""Devices: any value of the question goes in, one sealed report comes out."""

import math
from typing import Any

import numpy as np
import pytest

from shuffledp.collection.devices import simulation
from shuffledp.errors import ParameterError, ServiceError
from shuffledp.service import Device
from shuffledp.service.device import inputs
from shuffledp.service.task import Task
from tests.service.made import key, make_task


def _opened(task: Task, record: bytes) -> np.ndarray:
    _, inner = task.format.unwrap(record, key("shuffler"))
    padded = key("analyst").open(inner, task.format.inner_info)
    return task.unpadded(padded)[0]


@pytest.mark.parametrize(
    ("question", "mechanism", "value"),
    [
        ("histogram", "krr", "B"),
        ("histogram", "rappor", "B"),
        ("histogram", "subset", "B"),
        ("mean", "one-bit", 0.3),
        ("mean", "laplace", 1),
        ("quantiles", "krr", 0.999),
        ("heavy-hitters", "prefix", "café"),
    ],
)
def test_a_report_is_what_the_sampler_gives(question: str, mechanism: str, value: Any) -> None:
    task = make_task(mechanism, task=question)
    sealed = Device(task.document, simulation(7)).report(value)
    expected = task.job.device.encode(inputs(task, value), simulation(7))
    found = _opened(task, sealed.record())
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    again = _opened(task, sealed.record())
    assert np.array_equal(again, expected)  # a repetition is the same report
    assert sealed.record() != sealed.record()  # that looks different on its way


def test_inputs() -> None:
    mean = make_task("one-bit", task="mean", low=-10.0, high=30.0)
    assert inputs(mean, 0)[0] == 0.25
    assert [inputs(mean, value)[0] for value in (-1e300, 1e308, math.inf)] == [0.0, 1.0, 1.0]
    assert list(inputs(make_task(), "C")) == [2]
    other = make_task(categories=("A", "rest"), other="rest")
    assert list(inputs(other, "Z")) == [1]
    bins = make_task(task="quantiles", bins=8)
    assert [int(inputs(bins, value)[0]) for value in (0.0, 0.13, 1.0)] == [0, 1, 7]


@pytest.mark.parametrize(
    ("question", "mechanism", "value"),
    [
        ("histogram", "krr", "E"),
        ("histogram", "krr", 1),
        ("mean", "one-bit", "1"),
        ("mean", "one-bit", math.nan),
        ("mean", "one-bit", True),
        pytest.param("mean", "one-bit", 10**400, id="huge"),
        ("heavy-hitters", "prefix", ""),
        ("heavy-hitters", "prefix", 3),
    ],
)
def test_values_of_another_kind_are_not_shown(question: str, mechanism: str, value: Any) -> None:
    device = Device(make_task(mechanism, task=question))
    with pytest.raises(ParameterError, match=r"'value'.*not shown"):
        device.report(value)
    device.report("A" if question != "mean" else 0.5)  # nothing was reported before


def test_who_reports_twice_is_told() -> None:
    device = Device(make_task())
    device.report("A")
    with pytest.raises(ServiceError, match="twice"):
        device.report("A")


def test_padding_hides_nothing_and_adds_nothing() -> None:
    task = make_task(length=100)
    padded = Device(task).randomize("A")
    assert len(padded) == 100
    assert padded[1:] == bytes(99)
    reports, good = task.unpadded(padded + b"\1" * 100 + padded[:50] + b"\1" + padded[51:])
    assert (len(reports), list(good)) == (1, [True, False, False])
