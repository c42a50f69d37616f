"""Protocols whose analyst sees numbers, on the page: the same answers, code and commands."""

import contextlib
import io
import json
import re
import shlex

import httpx
import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main

ASKED = {"n": "3000", "delta": "1e-5"}
SHAPES: list[dict[str, str]] = [
    {"mechanism": "rappor", "eps0": "4", "k": "5", "only_sums": "true"},
    {"mechanism": "rr", "eps0": "1", "only_sums": "true", "rounds": "3"},
    {"mechanism": "noise-share", "noise": "polya:shape=0.001,scale=5", "k": "5"},
    {"mechanism": "split-and-mix", "noise": "skellam:rate=0.1", "levels": "3", "messages": "9"},
    {"mechanism": "sample-threshold", "rate": "0.1", "threshold": "12", "neighbours": "remove"},
    {"mechanism": "dummies", "noise": "poisson:rate=80"},
    {"mechanism": "dummies", "noise": "poisson:rate=0.01", "by_users": "true", "colluders": "30"},
    {"mechanism": "dummies", "noise": "poisson:rate=20", "k": "4", "eps0": "5"},
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["mechanism"])
def test_three_ways_to_ask(server: str, shape: dict[str, str]) -> None:
    page = httpx.get(f"{server}/api/account", params=shape | ASKED, timeout=120)
    assert page.status_code == 200, page.text
    answer = page.json()
    words = shlex.split(answer["command"])
    assert words[:2] == ["shuffledp", "account"]
    printed = json.loads(CliRunner().invoke(main, [*words[1:], "--json"]).stdout)
    assert answer["epsilon"] == printed["epsilon"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(answer["python"], {})
    shown = re.search(r"epsilon in \[(\S+), (\S+)\]", said.getvalue())
    assert shown is not None
    assert float(shown[2]) == pytest.approx(answer["epsilon"]["upper"], rel=1e-4, abs=0.0)
    asked = shape | ASKED | {"curve": "users"}
    points = httpx.get(f"{server}/api/curve", params=asked, timeout=120)
    assert points.status_code == 200, points.text
    assert points.json()["points"]


CENTRAL: list[dict[str, str]] = [
    {"mechanism": "allocation", "sigma": "1", "steps": "1000"},
    {"mechanism": "allocation", "sigma": "2", "steps": "500", "k": "3", "epochs": "4"},
    {"mechanism": "minibatches", "sigma": "1", "batch": "60", "n": "60000"},
]


@pytest.mark.parametrize("shape", CENTRAL, ids=lambda shape: shape["mechanism"])
def test_training_in_the_centre(server: str, shape: dict[str, str]) -> None:
    """Number, command and code agree; a curve is over the steps, or over the records."""
    asked = shape | {"delta": "1e-6"}
    answer = httpx.get(f"{server}/api/account", params=asked, timeout=120).json()
    words = shlex.split(answer["command"])
    printed = json.loads(CliRunner().invoke(main, [*words[1:], "--json"]).stdout)
    assert answer["epsilon"] == printed["epsilon"]
    assert answer["status"] == "PROVEN"
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(answer["python"], {})
    shown = re.search(r"epsilon in \[(\S+), (\S+)\]", said.getvalue())
    assert shown is not None
    assert float(shown[2]) == pytest.approx(answer["epsilon"]["upper"], rel=1e-4, abs=0.0)
    points = httpx.get(f"{server}/api/curve", params=asked | {"curve": "users"}, timeout=120)
    assert points.status_code == 200, points.text
    varied = int(shape.get("n") or shape["steps"])
    assert all(varied / 31 <= point["x"] <= 31 * varied for point in points.json()["points"])


def test_the_least_noise_of_random_allocation(server: str) -> None:
    target = {"epsilon": "1", "delta": "1e-6", "find": "sigma"}
    shape = {"mechanism": "allocation", "steps": "1000", "epochs": "10", "sigma": "9"}
    answer = httpx.get(f"{server}/api/calibrate", params=shape | target, timeout=120).json()
    assert answer["epsilon"]["value"] <= 1.0
    again = CliRunner().invoke(main, [*shlex.split(answer["command"])[1:], "--json"])
    assert json.loads(again.stdout)["sigma"] == answer["value"]
    for wrong in ({"find": "eps0"}, {"steps": ""}):
        reply = httpx.get(f"{server}/api/calibrate", params=shape | target | wrong, timeout=120)
        assert reply.status_code == 422
        assert "for" in reply.json()["error"]["message"]
    refused = {"mechanism": "minibatches", "batch": "60", "n": "600"} | target
    assert httpx.get(f"{server}/api/calibrate", params=refused, timeout=120).status_code == 422


def test_the_least_noise(server: str) -> None:
    target = {"epsilon": "1", "delta": "1e-6"}
    for shape, parameter in (
        ({"mechanism": "dummies", "noise": "poisson:rate=3", "find": "noise"}, "rate"),
        ({"mechanism": "split-and-mix", "levels": "9", "find": "noise"}, "scale"),
        ({"mechanism": "rappor", "k": "5", "only_sums": "true", "find": "eps0"}, "eps0"),
    ):
        given = shape | target | {"n": "2000"}
        answer = httpx.get(f"{server}/api/calibrate", params=given, timeout=120).json()
        assert answer["parameter"] == parameter
        assert answer["delta"]["value"] <= 1e-6
        again = CliRunner().invoke(main, [*shlex.split(answer["command"])[1:], "--json"])
        assert json.loads(again.stdout)["value"] == answer["value"]


def test_the_page_lists_them_and_says_what_is_wrong(server: str) -> None:
    listed = httpx.get(f"{server}/api/mechanisms", timeout=120).json()
    assert listed["dummies"]["needs"] == ["noise"]
    assert "only_sums" in listed["rappor"]["takes"]
    wrong = {"mechanism": "dummies", "noise": "skellam:rate=1"}
    reply = httpx.get(f"{server}/api/account", params=wrong | ASKED, timeout=120)
    assert reply.status_code == 422
    assert reply.json()["error"]["parameter"] == "dummies"
    wrong = {"mechanism": "dummies", "noise": "poisson:rate=80", "find": "eps0"}
    reply = httpx.get(
        f"{server}/api/calibrate", params=wrong | {"n": "9", "epsilon": "1", "delta": "0.1"}
    )
    assert reply.json()["error"]["parameter"] == "find"
