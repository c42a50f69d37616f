"""Results show themselves as tables, and draw themselves on axes."""

import re
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import shuffledp
from shuffledp import LDP, LaplaceFamily, Personalized, Shuffled, calibrate, calibrate_sigma, check
from shuffledp.collection.planning import Histogram, Target, plan

PROTOCOL = Shuffled(LDP(2.0), n=1000)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    users = Personalized(LaplaceFamily(), {0.5: 40, 2.0: 20}, budgets_visible=False)
    return {
        "interval": PROTOCOL.epsilon(1e-6),
        "trade-off": PROTOCOL.tradeoff(0.1),
        "value": PROTOCOL.bounds(delta=1e-6)[0],
        "calibration": calibrate(LDP, n=1000, epsilon=0.5, delta=1e-6),
        "users": calibrate(LDP, eps0=1.0, epsilon=0.5, delta=1e-6),
        "sigma": calibrate_sigma(n=20, epsilon=2.0, delta=1e-2),
        "verdict": check(PROTOCOL, epsilon=0.01, delta=1e-6),
        "guarantees": users.guarantees(delta=1e-5),
        "plan": plan(Histogram(3), Target(1.0, 1e-6, 1000)),
        "estimate": shuffledp.run(
            ["<b>"] * 500 + ["b"] * 500,
            task="histogram",
            categories=["<b>", "b"],
            epsilon=1.0,
            delta=1e-6,
        ),
    }


def test_tables_are_whole_and_escaped(results: dict[str, Any]) -> None:
    for name, result in results.items():
        shown = result._repr_html_()
        for tag in ("table", "tr", "td", "th", "div", "strong"):
            assert len(re.findall(rf"<{tag}[ >]", shown)) == shown.count(f"</{tag}>"), (name, tag)
    assert "&lt;b&gt;" in results["estimate"]._repr_html_()
    assert "REFUTED" in results["verdict"]._repr_html_()


def test_ends_are_rounded_outward(results: dict[str, Any]) -> None:
    for name in ("interval", "trade-off"):
        result = results[name]
        cells = re.findall(r"<td>([\d.e-]+)</td>", result._repr_html_())
        guaranteed, leaked = map(float, cells)
        assert min(guaranteed, leaked) <= result.lower <= result.upper <= max(guaranteed, leaked)


def test_pictures_are_drawn_on_axes(results: dict[str, Any]) -> None:
    for result in (PROTOCOL, results["guarantees"], results["plan"], results["estimate"]):
        axes = Figure().subplots()
        assert result.plot(axes) is axes
        assert axes.has_data()
    from matplotlib import pyplot

    with mpl.rc_context({"backend": "agg"}):
        axes = results["plan"].plot()
        assert axes.figure in [pyplot.figure(number) for number in pyplot.get_fignums()]
        pyplot.close("all")
