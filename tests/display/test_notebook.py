"""Results show themselves as tables, and draw themselves on axes."""

import re
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import shuffledp
from shuffledp import (
    LDP,
    Laplace,
    LaplaceFamily,
    Personalized,
    Shuffled,
    calibrate,
    calibrate_sigma,
    check,
    refute,
)
from shuffledp.collection.analysis import Estimate
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


def test_results_print_as_the_table_a_notebook_shows() -> None:
    protocol = Shuffled(Laplace(4.0), n=10_000)
    told = {
        str(check(protocol, epsilon=0.2, delta=1e-6)): ["REFUTED", "(0.2, 1e-06)", "all at 0"],
        str(refute(Laplace(4.0), 10_000, epsilon=0.2, delta=1e-6)): ["REFUTED", "searched: "],
        str(calibrate(LDP, n=1e5, epsilon=0.5, delta=1e-6)): ["largest eps0: 6.60364", "PROVEN"],
    }
    for text, words in told.items():
        assert all(word in text for word in words), text


def test_estimates_print_with_the_digits_their_error_leaves() -> None:
    found = Estimate("frequency", ("a", "b"), np.array([0.123456, 0.5]), np.array([1e-4, 4e-6]), 9)
    assert str(found).splitlines()[2].split()[:3] == ["a", "0.123", "0.010"]
    assert str(found).splitlines()[3].split()[:3] == ["b", "0.5000", "0.0020"]
