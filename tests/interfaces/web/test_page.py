"""The page in a real headless Chromium: every control, its numbers, its accessibility."""

import csv
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from shuffledp.display.palette import COLOURS, DARK_COLOURS
from shuffledp.interfaces.cli import main
from shuffledp.interfaces.web.api import STATIC
from tests.interfaces.web import chromium

WAIT = 120_000
KRR = "?mechanism=krr&eps0=3&k=10&n=1000&check_in=0.5&colluders=20&epsilon=0.4"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program, environment = chromium.find()
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(chromium.NODE))
    expect.set_options(timeout=WAIT)  # however busy the machine
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], env={**os.environ, **environment}
        )
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(accept_downloads=True)
    made.set_default_timeout(WAIT)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    """A page whose every script error and foreign request fails the test."""
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: wrong.append(request.url) if away(request.url) else None)

    def away(url: str) -> bool:
        return not url.startswith(("blob:", "data:", f"{server}/"))

    opened.goto(server)
    answered(opened)
    yield opened
    assert wrong == []


def answered(page: Page) -> None:
    page.wait_for_selector("body[data-ready=answer], body[data-ready=all]")


def shown(page: Page) -> float:
    return float(page.locator("#number").get_attribute("data-value") or "nan")


def fill(page: Page, name: str, value: str) -> None:
    page.locator(f"#{name}").fill(value)
    answered(page)


def choose(page: Page, name: str, value: str) -> None:
    page.locator(f"#{name}").select_option(value)
    answered(page)


def by_command(page: Page) -> dict[str, object]:
    """The guarantee the command line prints for the command the page shows."""
    line = page.locator("#command").inner_text()
    run = CliRunner().invoke(main, [*shlex.split(line)[1:], "--json"])
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def test_the_number_is_that_of_the_command_line(page: Page, server: str) -> None:
    assert shown(page) == by_command(page)["epsilon"]["upper"]  # type: ignore[index]
    expect(page.locator("#number")).to_have_text("epsilon ≤ 0.031257")
    expect(page.locator("#status")).to_have_text("PROVEN")
    expect(page.locator("#theorem")).to_have_text("swap-ldp")
    page.goto(server + "/" + KRR)
    answered(page)
    assert shown(page) == by_command(page)["delta"]["upper"]  # type: ignore[index]
    choose(page, "question", "alpha")
    assert shown(page) == by_command(page)["tradeoff"]["lower"]  # type: ignore[index]


def test_shown_numbers_are_rounded_outward(page: Page) -> None:
    for eps0 in ("0.7", "1.3", "2", "4.1"):
        fill(page, "eps0", eps0)
        exact = shown(page)
        leaked = float(page.locator("#leaked").get_attribute("data-value") or "nan")
        headline = float(page.locator("#number").inner_text().split()[-1])
        assert exact <= headline <= exact * (1.0 + 2e-4)
        assert exact <= float(page.locator("#guaranteed").inner_text()) <= exact * (1.0 + 2e-8)
        assert leaked * (1.0 - 2e-8) <= float(page.locator("#leaked").inner_text()) <= leaked


def test_fields_and_sliders_change_the_answer(page: Page) -> None:
    first = shown(page)
    fill(page, "n", "1,000,000")
    more = shown(page)
    assert more < first
    fill(page, "eps0", "3")
    assert shown(page) > more
    fill(page, "delta", "1e-9")
    stricter = shown(page)
    fill(page, "colluders", "900000")
    assert shown(page) > stricter
    for name in ("n", "eps0", "delta"):
        before, slider = page.locator(f"#{name}").input_value(), page.locator(f"#{name}-slider")
        slider.focus()
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        assert float(page.locator(f"#{name}").input_value()) > float(before.replace(",", ""))
        answered(page)
    fill(page, "check_in", "0.5")
    expect(page.locator("#description")).to_contain_text("checked in with probability 0.5")
    assert shown(page) == by_command(page)["epsilon"]["upper"]  # type: ignore[index]


def test_every_mechanism_asks_for_what_it_needs(page: Page) -> None:
    fill(page, "n", "1000")
    choose(page, "question", "epsilon")  # one delta is quicker than the search for an epsilon
    options = page.locator("#mechanism option")
    names = [options.nth(i).get_attribute("value") or "" for i in range(options.count())]
    assert len(names) == 18
    for name in names:
        choose(page, "mechanism", name)
        expect(page.locator("#error")).to_be_hidden()
        assert shown(page) >= 0.0
        expect(page.locator("#command")).to_contain_text("--n 1000")
    choose(page, "mechanism", "gaussian")
    page.locator("#scalar").check()
    answered(page)
    expect(page.locator("#command")).to_contain_text("--scalar")


def test_rounds(page: Page) -> None:
    once = shown(page)
    fill(page, "rounds", "30")
    expect(page.locator("#description")).to_contain_text("30 rounds")
    assert shown(page) > once
    assert shown(page) == by_command(page)["epsilon"]["upper"]  # type: ignore[index]


def test_a_permalink_brings_everything_back(
    page: Page, context: BrowserContext, server: str
) -> None:
    page.goto(server + "/" + KRR)
    answered(page)
    link, number = page.locator("#permalink").inner_text(), shown(page)
    again = context.new_page()
    again.goto(link)
    answered(again)
    assert shown(again) == number
    wanted = {"mechanism": "krr", "eps0": "3", "k": "10", "n": "1000", "check_in": "0.5"}
    for name, value in {
        **wanted,
        "colluders": "20",
        "question": "epsilon",
        "epsilon": "0.4",
    }.items():
        assert again.locator(f"#{name}").input_value() == value
    assert again.locator("#permalink").inner_text() == link


def test_invalid_input_is_explained_and_marked(page: Page) -> None:
    fill(page, "eps0", "-1")
    expect(page.get_by_role("alert")).to_have_text(
        "The 'eps0' parameter must be a finite number > 0. Got -1.0 instead."
    )
    expect(page.locator("#eps0")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#number")).to_be_hidden()
    fill(page, "eps0", "two")
    expect(page.get_by_role("alert")).to_contain_text("must be a number. Got 'two'")
    fill(page, "eps0", "2")
    expect(page.locator("#error")).to_be_hidden()
    expect(page.locator("#number")).to_have_text("epsilon ≤ 0.031257")


def test_calibrate_and_use_the_result(page: Page) -> None:
    page.locator("#target-epsilon").fill("0.5")
    page.get_by_role("button", name="Find it").click()
    expect(page.locator("#found")).to_contain_text("largest eps0: 6.603642")
    page.get_by_role("button", name="Use this value").click()
    answered(page)
    expect(page.locator("#number")).to_contain_text("delta ≤")
    assert shown(page) <= 1e-6
    page.locator("#find").select_option("n")
    page.locator("#target-delta").fill("2")
    page.get_by_role("button", name="Find it").click()
    expect(page.locator("#found")).to_contain_text("strictly between 0 and 1")


def test_plots_and_files(page: Page, tmp_path: Path) -> None:
    page.wait_for_selector("body[data-ready=all]")
    for name in ("users", "delta", "tradeoff", "bounds"):
        expect(page.locator(f"[data-plot={name}] svg")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_label(f"Save {name} as PNG").click()
        picture = tmp_path / "picture.png"
        download.value.save_as(picture)
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 5000
    with page.expect_download() as download:
        page.get_by_label("Save users as CSV").click()
    download.value.save_as(tmp_path / "users.csv")
    with (tmp_path / "users.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    crowds = [int(row["x"]) for row in rows]
    assert crowds == sorted(crowds)
    assert all(float(row["lower"]) <= float(row["upper"]) for row in rows)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save JSON").click()
    download.value.save_as(tmp_path / "all.json")
    saved = json.loads((tmp_path / "all.json").read_text())
    assert saved["account"]["epsilon"]["upper"] == shown(page)


def test_every_status_in_the_picture_is_in_its_legend(page: Page) -> None:
    page.wait_for_selector("body[data-ready=all]")
    dots = page.locator("[data-plot=bounds] svg")
    rows = [title.text_content() or "" for title in dots.locator("title").all()]
    statuses = [row.split(", ")[1] for row in rows]
    legend = [words.text_content() for words in dots.locator(".legend").all()]
    assert "ASYMPTOTIC" in legend
    assert set(legend) == set(statuses)
    places = {
        status: dots.locator("circle").nth(statuses.index(status)).get_attribute("stroke")
        for status in set(statuses)
    }
    assert len(set(places.values())) == len(places), "a colour each"
    for status in legend:
        expect(page.locator("footer")).to_contain_text(str(status))


def test_what_was_asked_is_shown_in_full(page: Page) -> None:
    fill(page, "delta", "1.2345649e-6")
    expect(page.locator("#meaning")).to_contain_text("at delta = 0.0000012345649,")
    fill(page, "delta", "1e-6")
    expect(page.locator("#meaning")).to_contain_text("at delta = 1e-6,")


def test_copies(page: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, place in (("command", "command"), ("Python", "python"), ("link", "permalink")):
        page.get_by_role("button", name=f"Copy {button}").click()
        expect(page.locator("#copied")).to_have_text("Copied.")
        text = page.evaluate("navigator.clipboard.readText()")
        assert text == page.locator(f"#{place}").text_content()


def _serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [entry["id"] for entry in found if entry["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(
    ("size", "scheme"), [((1400, 900), "light"), ((1400, 900), "dark"), ((390, 844), "light")]
)
def test_accessible(browser: Browser, server: str, size: tuple[int, int], scheme: str) -> None:
    viewport = {"width": size[0], "height": size[1]}
    page = browser.new_page(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    page.set_default_timeout(WAIT)
    page.goto(server)
    page.wait_for_selector("body[data-ready=all]")
    assert _serious(page) == []
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    page.locator("#eps0").fill("-1")
    expect(page.get_by_role("alert")).to_be_visible(timeout=WAIT)
    assert _serious(page) == []
    page.evaluate("document.getElementById('mechanism').previousElementSibling.remove()")
    assert _serious(page) == ["select-name"]
    page.close()


def test_dark_and_light_by_hand(page: Page) -> None:
    expect(page.locator("#theme")).to_have_text("Use dark colours")
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(page.locator("#theme")).to_have_text("Use light colours")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("?mechanism=nosuch&eps0=2&n=100&delta=1e-6", "mechanism 'nosuch', which is not one of"),
        ("?mechanism=toString&delta=1e-6", "mechanism 'toString', which is not one of"),
        ("?mechanism=laplace&eps0=2&k=7&n=100&delta=1e-6", "'k', which laplace does not take"),
        ("?epz0=2&n=100&delta=1e-6", "'epz0', which ldp does not take"),
        ("?eps0=2&n=100&delta=1e-6&epsilon=1", "2 questions at once"),
    ],
)
def test_a_wrong_link_is_not_answered_with_another_number(
    page: Page, server: str, link: str, said: str
) -> None:
    page.goto(server + "/" + link)
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.locator("#result")).to_be_hidden()
    expect(page.get_by_role("button", name="Copy command")).to_be_disabled()
    fill(page, "n", "1000")  # a question of one's own is answered again
    expect(page.get_by_role("alert")).to_be_hidden()
    assert shown(page) > 0.0


def test_nothing_old_can_be_saved_while_the_new_is_computed(page: Page) -> None:
    page.wait_for_selector("body[data-ready=all]")
    page.evaluate("() => { window.fetch = () => new Promise(() => {}); }")
    page.locator("#eps0").fill("3")
    for button in ("Copy command", "Copy Python", "Copy link", "Save JSON", "Save users as CSV"):
        expect(page.get_by_role("button", name=button)).to_be_disabled()
    assert page.locator(".canvas[data-stale]").count() == 4
    overlay = "getComputedStyle(document.querySelector('.canvas'), '::after').content"
    assert "computing" in page.evaluate(overlay)
    page.reload()
    page.wait_for_selector("body[data-ready=all]")
    assert page.locator(".canvas[data-stale]").count() == 0
    expect(page.get_by_role("button", name="Save users as CSV")).to_be_enabled()


def test_values_under_the_hand(page: Page) -> None:
    page.wait_for_selector("body[data-ready=all]")
    for name in ("users", "delta", "tradeoff"):
        plot = page.locator(f"[data-plot={name}] svg")
        plot.hover()
        expect(plot.locator(".hover")).to_contain_text("guaranteed")
        words = " ".join(plot.locator(".hover text").all_text_contents()).split()
        assert float(words[words.index("leaked") + 1]) <= float(
            words[words.index("guaranteed") + 1]
        )
        page.locator("h1").hover()
        expect(plot.locator(".hover")).to_have_count(0)


def test_the_gain_of_an_attack_is_seen(page: Page) -> None:
    """As the distance from the diagonal: it fills the picture, whatever its size."""
    page.wait_for_selector("body[data-ready=all]")
    line = page.locator("[data-plot=tradeoff] polyline").first.get_attribute("points") or ""
    heights = [float(point.split(",")[1]) for point in line.split()]
    assert max(heights) - min(heights) > 150.0


@pytest.mark.parametrize("mechanism", ["ldp", "gaussian", "krr"])
def test_the_fields_fit_beside_the_answer(browser: Browser, server: str, mechanism: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT)
    budget = "sigma=2" if mechanism == "gaussian" else "eps0=2"
    k = "&k=4" if mechanism == "krr" else ""
    page.goto(f"{server}/?mechanism={mechanism}&{budget}{k}&n=1000&delta=1e-6")
    answered(page)
    bottom = "document.querySelector('#form fieldset:last-of-type').getBoundingClientRect().bottom"
    assert page.evaluate(bottom) <= 900.0
    page.close()


def test_on_a_phone_the_answer_stays_beside_the_fields_only(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_default_timeout(WAIT)
    page.goto(server)
    page.wait_for_selector("body[data-ready=all]")
    box = "document.querySelector('{}').getBoundingClientRect()"
    page.evaluate("document.querySelector('#question').scrollIntoView({block: 'center'})")
    assert page.evaluate(box.format("#answer") + ".top") == 0.0
    page.evaluate("document.querySelector('[data-plot=delta]').scrollIntoView({block: 'start'})")
    bottom = page.evaluate(box.format("#answer") + ".bottom")
    assert bottom <= page.evaluate(box.format("[data-plot=users]") + ".top")
    page.close()


def test_the_keyboard_reaches_everything(page: Page) -> None:
    reached = set()
    page.keyboard.press("Tab")
    for _ in range(60):
        reached.add(
            page.evaluate("document.activeElement.id || document.activeElement.textContent")
        )
        page.keyboard.press("Tab")
    wanted = {"mechanism", "eps0", "eps0-slider", "n", "check_in", "colluders", "question", "delta"}
    assert wanted | {"theme", "find", "save-json", "Find it", "PNG", "CSV"} <= reached


def test_labels_have_the_colours_of_the_pictures() -> None:
    light, dark = (STATIC / "page.css").read_text().split(":root[data-theme")
    names = dict(zip(COLOURS, ("proven", "fixed", "limit", "doubt", "refuted"), strict=True))
    for text, colours in ((light, COLOURS), (dark, DARK_COLOURS)):
        for status, name in names.items():
            assert f"--{name}: {colours[status]};" in text


def test_the_page_is_light() -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) <= 500_000
