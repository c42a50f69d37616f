"""The calculator without a server: the same answers, computed in the browser."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from shuffledp import KRR, Shuffled
from shuffledp.interfaces.web.fields import OFFERS
from shuffledp.interfaces.web.local import reply
from tests.interfaces.web import chromium

ROOT = Path(__file__).parents[3]
QUESTION = "mechanism=krr&k=16&eps0=2&n=100000&delta=1e-6"


def test_answers_are_those_of_the_library() -> None:
    status, body = reply("/api/account", QUESTION)
    found = Shuffled(KRR(k=16, eps0=2.0), n=100_000).epsilon(delta=1e-6)
    assert status == 200
    assert json.loads(body)["epsilon"] == found.to_dict()


def test_mechanisms_are_those_of_the_server() -> None:
    assert reply("/api/mechanisms", "") == (200, json.dumps(OFFERS))


@pytest.mark.parametrize(
    ("path", "query", "status", "parameter"),
    [
        ("/api/account", "eps0=2&n=ten&delta=1e-6", 422, "n"),
        ("/api/account", "eps0=-2&n=10&delta=1e-6", 422, "eps0"),
        ("/api/account", "eps0=2&n=10&delta=1e-6&shape=round", 422, "shape"),
        ("/api/nothing", "", 404, None),
    ],
)
def test_refusals_are_those_of_the_server(
    path: str, query: str, status: int, parameter: str | None
) -> None:
    found, body = reply(path, query)
    assert (found, json.loads(body)["error"]["parameter"]) == (status, parameter)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    out = tmp_path_factory.mktemp("calculator") / "site"
    subprocess.run([sys.executable, ROOT / "browser" / "calculator.py", out], check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(out))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
def test_the_browser_computes_the_same_number(address: str) -> None:
    """Of the same interval: rounding differs in the last digits; nothing is asked of others."""
    program, environment = chromium.find()
    truth = Shuffled(KRR(k=16, eps0=2.0), n=100_000).epsilon(delta=1e-6)
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=program, env=dict(environment), args=["--no-sandbox"]
        )
        page = browser.new_page()
        asked: list[str] = []
        faults: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"{address}?{QUESTION}")
        page.wait_for_function("document.getElementById('guaranteed').dataset.value", timeout=120e3)
        page.wait_for_selector("[data-plot=bounds] svg", timeout=120e3)
        ends = [page.get_attribute(f"#{end}", "data-value") for end in ("leaked", "guaranteed")]
        browser.close()
    assert [float(end or "nan") for end in ends] == pytest.approx(
        [truth.lower, truth.upper], rel=1e-12, abs=0.0
    )
    assert not faults
    assert all(url.startswith((address, "blob:", "data:")) for url in asked)
