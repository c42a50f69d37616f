"""The HTTP interface: the command line's numbers, errors in words, limits that protect others."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main
from shuffledp.interfaces.web.answers import _coarse_to_fine

SLOW = {"mechanism": "laplace", "eps0": "8", "n": "100", "order": "40"}


def _command(line: str) -> dict[str, object]:
    run = CliRunner().invoke(main, [*shlex.split(line)[1:], "--json"])
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    "given",
    [
        {"eps0": "2", "n": "100000", "delta": "1e-6"},
        {"eps0": "2", "n": "1e5", "epsilon": "0.03", "colluders": "10"},
        {
            "mechanism": "krr",
            "k": "16",
            "eps0": "2",
            "n": "100000",
            "check_in": "0.1",
            "alpha": "0.1",
        },
        {"mechanism": "gaussian", "sigma": "3", "sensitivity": "1", "n": "1000", "epsilon": "0.1"},
        {"eps0": "1", "n": "1000", "rounds": "5", "epsilon": "0.3"},
    ],
)
def test_account_is_the_command_line(server: str, given: dict[str, str]) -> None:
    answer = httpx.get(f"{server}/api/account", params=given, timeout=120).json()
    expected = _command(answer["command"])
    for name, value in expected.items():
        if name not in ("seconds", "schema"):
            assert answer[name] == value
    scope: dict[str, object] = {"print": lambda value: scope.update(printed=value)}
    exec(answer["python"], scope)
    assert scope["printed"].to_dict() == answer[answer["quantity"]]  # type: ignore[attr-defined]


def test_bounds_are_those_of_compare(server: str) -> None:
    given = {"eps0": "2", "n": "1000", "delta": "1e-6"}
    answer = httpx.get(f"{server}/api/bounds", params=given, timeout=120).json()
    run = CliRunner().invoke(main, shlex.split("compare --eps0 2 --n 1000 --delta 1e-6 --json"))
    assert answer["bounds"] == json.loads(run.stdout)["bounds"]


@pytest.mark.parametrize(
    "given",
    [
        {"find": "eps0", "n": "10000", "epsilon": "0.5", "delta": "1e-6"},
        {"find": "n", "eps0": "3", "epsilon": "0.5", "delta": "1e-6"},
    ],
)
def test_calibrate_is_the_command_line(server: str, given: dict[str, str]) -> None:
    answer = httpx.get(f"{server}/api/calibrate", params=given, timeout=120).json()
    assert answer["value"] == _command(answer["command"])[given["find"]]


def test_a_curve_arrives_in_parts_and_whole(server: str) -> None:
    given = {"eps0": "2", "n": "1000", "curve": "delta", "top": "0.5"}
    points, start, parts = [], 0, 0
    while start is not None:
        part = httpx.get(
            f"{server}/api/curve", params={**given, "start": start}, timeout=120
        ).json()
        points += part["points"]
        start, parts = part["next"], parts + 1
    assert sorted(point["x"] for point in points) == [0.5 * i / 20 for i in range(21)]
    asked = next(point for point in points if point["x"] == 0.25)
    expected = _command("shuffledp account --eps0 2 --n 1000 --epsilon 0.25")["delta"]
    lower, upper = expected["lower"], expected["upper"]  # type: ignore[index]
    assert 0.95 * lower <= asked["lower"] <= upper
    assert lower <= asked["upper"] <= 1.05 * upper


@pytest.mark.parametrize("count", [1, 2, 3, 17, 21])
def test_coarse_to_fine_visits_every_point_once(count: int) -> None:
    order = _coarse_to_fine(count)
    assert sorted(order) == list(range(count))
    assert order[:2] == [0, count - 1][: len(order)]


@pytest.mark.parametrize(
    ("given", "parameter", "words"),
    [
        (
            {"eps0": "-1", "n": "10", "delta": "1e-6"},
            "eps0",
            "must be a finite number > 0. Got -1.0",
        ),
        ({"eps0": "x", "n": "10", "delta": "1e-6"}, "eps0", "must be a number. Got 'x'"),
        ({"eps0": "nan", "n": "10", "delta": "1e-6"}, "eps0", "must be a number. Got 'nan'"),
        ({"eps0": "1", "n": "2.5", "delta": "1e-6"}, "n", "must be a whole number. Got '2.5'"),
        ({"eps0": "1", "delta": "1e-6"}, "n", "must be given"),
        ({"eps0": "1", "n": "10"}, "question", "exactly one of"),
        ({"eps0": "1", "n": "10", "delta": "2"}, "delta", "strictly between 0 and 1"),
        ({"eps0": "1", "n": "10", "delta": "1e-6", "magic": "1"}, "magic", "must be one of"),
        ({"mechanism": "krr", "eps0": "1", "k": "1e9", "n": "9", "delta": "1e-6"}, "k", "at most"),
        ({"mechanism": "channel", "n": "9", "delta": "1e-6"}, "mechanism", "must be one of"),
        ({"channel": "/etc/passwd", "n": "9", "delta": "1e-6"}, "channel", "must be one of"),
    ],
)
def test_errors_are_in_words(
    server: str, given: dict[str, str], parameter: str, words: str
) -> None:
    reply = httpx.get(f"{server}/api/account", params=given, timeout=120)
    assert reply.status_code == 422
    error = reply.json()["error"]
    assert error["parameter"] == parameter
    assert words in error["message"]


def test_a_parameter_given_twice_and_a_long_query_are_refused(server: str) -> None:
    twice = httpx.get(f"{server}/api/account?eps0=1&eps0=2&n=10&delta=1e-6", timeout=120)
    assert (twice.status_code, twice.json()["error"]["parameter"]) == (422, "eps0")
    assert httpx.get(f"{server}/api/account?eps0={'1' * 3000}", timeout=120).status_code == 414


def test_a_long_question_is_refused(strict_server: str) -> None:
    reply = httpx.get(f"{strict_server}/api/account", params=SLOW, timeout=120)
    assert reply.status_code == 422
    assert "more than 1 s" in reply.json()["error"]["message"]
    short = f"{strict_server}/api/account?eps0=1&n=300&delta=1e-3"
    end = time.monotonic() + 120
    while httpx.get(short, timeout=120).status_code != 200:  # on a busy machine a second is little
        assert time.monotonic() < end


def test_a_long_question_holds_up_nobody(server: str) -> None:
    async def ask() -> list[int]:
        async with httpx.AsyncClient(base_url=server, timeout=120) as client:
            long = asyncio.create_task(client.get("/api/account", params=SLOW))
            short = [
                await client.get(f"/api/account?eps0=1&n={n}&delta=1e-3") for n in range(200, 203)
            ]
            assert not long.done()
            long.cancel()
            return [reply.status_code for reply in short]

    assert asyncio.run(ask()) == [200, 200, 200]


@pytest.mark.parametrize("after", [0.0, 0.3])
def test_an_interrupt_ends_it_quietly(after: float) -> None:
    """As a terminal sends it: to the workers too, which may still be starting."""
    command = [sys.executable, "-m", "shuffledp", "web", "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("http://127.0.0.1:")
        time.sleep(after)
        os.killpg(server.pid, signal.SIGINT)
        assert server.stderr.read() == ""
    assert server.returncode == 0


def test_foreign_host_names_are_refused(server: str) -> None:
    """A page elsewhere must not reach the calculator by a name it controls."""
    reply = httpx.get(f"{server}/api/mechanisms", headers={"host": "evil.example"}, timeout=120)
    assert reply.status_code == 400


def test_headers_keep_the_page_to_itself(server: str) -> None:
    reply = httpx.get(f"{server}/", timeout=120)
    assert "default-src 'self'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.slow
def test_a_hundred_users(server: str) -> None:
    """100 users, 20 questions each from 40 deployments: no error. Speed: bench/web.py."""
    failures: list[object] = []

    def user(number: int) -> None:
        with httpx.Client(timeout=120) as client:
            for step in range(20):
                n = 1000 + 100 * ((7 * number + step) % 40)
                reply = client.get(f"{server}/api/account?eps0=1&n={n}&delta=1e-6")
                if reply.status_code != 200:
                    failures.append(reply.text)

    users = [threading.Thread(target=user, args=(number,)) for number in range(100)]
    for each in users:
        each.start()
    for each in users:
        each.join()
    assert not failures
