"""The survey page in a real headless Chromium, against a running shuffler, to the analyst's estimate."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from shuffledp.collection.pipeline import analyze
from shuffledp.service.analyst import open_batch
from shuffledp.service.store import open_store
from shuffledp.service.task import Task
from tests.interfaces.web import chromium
from tests.service.made import HOUR, OPENS, key, make_shuffler, make_task, records
from tests.service.serving import Running, serving
from tests.service.test_conformance import bundled


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    bundled()
    program, environment = chromium.find()
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(chromium.NODE))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], env={**os.environ, **environment}
        )
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One person's browser, at the time of the shuffler."""
    made = browser.new_context()
    made.clock.install(time=OPENS)
    made.set_default_timeout(120_000)
    yield made
    made.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    shuffler = make_shuffler(tmp_path, open_store(tmp_path / "store.db"))
    with serving(shuffler) as found:
        yield found


def _visit(context: BrowserContext, running: Running, task: Task, state: str = "ready") -> Page:
    """The page; every script error and foreign request fails the test."""
    page = context.new_page()
    page.on("pageerror", _fail)
    page.on(
        "request",
        lambda request: None if request.url.startswith(running.url) else _away(request.url),
    )
    page.goto(f"{running.url}/survey/{task.id.hex()}")
    page.wait_for_selector(f"body[data-state={state}]")
    return page


def _fail(error: object) -> None:
    raise AssertionError(str(error))


def _away(url: str) -> None:
    assert url.startswith("data:"), url


def _accessible(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_from_a_browser_to_an_estimate(
    context: BrowserContext, running: Running, tmp_path: Path
) -> None:
    task = running.app.shuffler.open_task(make_task(title="Which of these?").document)
    page = _visit(context, running, task)
    _accessible(page)
    assert page.locator("h1").inner_text() == "Which of these?"
    assert "PROVEN" in page.locator("#promise").inner_text()
    assert "one of the 4 answers is drawn in place of yours" in page.locator("#steps").inner_text()
    page.get_by_label("B", exact=True).check()
    page.get_by_role("button").click()
    page.wait_for_selector("body[data-state=sent]")
    _accessible(page)
    said = page.locator("#report").inner_text()
    shown = bytes.fromhex(page.locator("#record").text_content() or "")
    _, inner = task.format.unwrap(shown, key("shuffler"))
    report = key("analyst").open(inner, task.format.inner_info)
    assert f"“{task.job.categories[report[0]]}”" in said  # what left is what is shown
    assert report[1:] == bytes(15)
    again = _visit(context, running, task, "sent")  # once for each browser
    assert "has answered already" in again.locator("#message").inner_text()
    assert again.locator("form").is_hidden()
    running.app.shuffler.accept(task.id, b"".join(records(task, 9)))
    (released,) = running.app.shuffler.release(task.id)
    opened = open_batch(released.path, [key("analyst")], tmp_path / "reports.csv")
    assert (opened.reports, opened.unusable) == (10, 0)
    assert analyze(tmp_path / "reports.csv")[1].reports == 10


@pytest.mark.parametrize(
    ("mechanism", "question", "words"),
    [
        ("rappor", "histogram", "tick"),
        ("one-bit", "mean", "“"),
        ("laplace", "mean", "on a scale from 0 to 1024"),
        ("krr", "quantiles", "cell"),
    ],
)
def test_every_device(
    context: BrowserContext,
    running: Running,
    tmp_path: Path,
    mechanism: str,
    question: str,
    words: str,
) -> None:
    task = running.app.shuffler.open_task(make_task(mechanism, task=question).document)
    page = _visit(context, running, task)
    if question == "histogram":
        page.get_by_label("C", exact=True).check()
    else:
        page.get_by_label("A number from 0 to 1").fill("0.25")
    page.get_by_role("button").click()
    page.wait_for_selector("body[data-state=sent]")
    assert words in page.locator("#report").inner_text()
    value = "A" if question == "histogram" else 0.5
    running.app.shuffler.accept(task.id, b"".join(records(task, 9, value)))
    (released,) = running.app.shuffler.release(task.id)
    opened = open_batch(released.path, [key("analyst")], tmp_path / "reports.csv")
    assert (opened.reports, opened.unusable) == (10, 0)


def test_what_goes_wrong_is_said(context: BrowserContext, running: Running) -> None:
    later = replace(make_task(title="Later"), opens=OPENS + HOUR)
    closed = running.app.shuffler.open_task(later.document)
    assert (
        "not open yet"
        in _visit(context, running, closed, "closed").locator("#message").inner_text()
    )
    programs = running.app.shuffler.open_task(make_task("subset").document)
    page = _visit(context, running, programs, "failed")
    assert "not for browsers" in page.locator("#message").inner_text()
    task = running.app.shuffler.open_task(make_task(largest=10).document)
    running.app.shuffler.accept(task.id, b"".join(records(task, 10)))
    page = _visit(context, running, task)
    page.get_by_label("A", exact=True).check()
    page.get_by_role("button").click()
    for _ in range(1_000):  # each pause passes at once, however late an answer begins it
        if page.locator("body[data-state=failed]").count():
            break
        page.clock.run_for(70_000)
        page.wait_for_timeout(20)
    page.wait_for_selector("body[data-state=failed]")
    assert "gives no answer" in page.locator("#message").inner_text()
    running.app.shuffler.release(task.id)
    page.get_by_role("button").click()  # the same report again
    page.wait_for_selector("body[data-state=sent]")
    assert running.app.shuffler.store.tasks()[-1].waiting == 1


def test_the_page_keeps_to_itself(running: Running) -> None:
    from shuffledp.service.client import Client

    task = running.app.shuffler.open_task(make_task().document)
    with Client(running.url) as client:
        for path, status in (
            (f"/survey/{task.id.hex()}", 200),
            ("/survey/none", 404),
            ("/static/device.js", 200),
            ("/static/../application.py", 404),
            ("/static/application.py", 404),
        ):
            assert client.request("GET", path).status == status
        assert client._connection is not None
        client._connection.request("GET", f"/survey/{task.id.hex()}")
        answer = client._connection.getresponse()
        assert "script-src 'self'" in (answer.getheader("content-security-policy") or "")
        assert "http" not in answer.read().decode().replace("http-equiv", "")
