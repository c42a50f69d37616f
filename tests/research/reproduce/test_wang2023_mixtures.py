"""Figures 2 and 3 of Wang et al. 2023."""

from __future__ import annotations

import pytest

from shuffledp.research.reproduce import ITEMS


def test_figure_2():
    result = ITEMS["wang-2023-figure-2"].run()
    for _c, _alpha, certified, not_above, plain in result.rows:
        assert certified <= not_above + 1e-12
        assert certified >= plain - 1e-4
        assert not_above - certified < 1e-3
    # the gain grows with c, as the paper says
    gain = {c: max(r[2] - r[4] for r in result.rows if r[0] == c) for c in (0.5, 1.0, 2.0, 4.0)}
    assert sorted(gain, key=gain.get) == [0.5, 1.0, 2.0, 4.0]


def test_figure_3():
    result = ITEMS["wang-2023-figure-3"].run()
    delta = {row[0]: row[4] for row in result.rows if row[1] == "delta"}
    assert round(delta["Lemma 3.1"], 4) == 0.0020
    assert delta["Proposition 6.4"] == pytest.approx(3.19e-7, rel=2e-3, abs=0.0)
    assert delta["exact"] == pytest.approx(7.16e-13, rel=2e-3, abs=0.0)
    order = ("exact", "Proposition 6.4", "Lemma 6.3", "Lemma 3.1")
    assert [delta[name] for name in order] == sorted(delta[name] for name in order)
    assert delta["exact"] <= delta["Lemma 6.3, gamma = eta = w"] <= delta["Lemma 3.1"]


@pytest.mark.parametrize("name", ["wang-2023-figure-2", "wang-2023-figure-3"])
def test_files(name, tmp_path):
    pytest.importorskip("matplotlib")
    files = ITEMS[name].run().save(tmp_path, name, ITEMS[name].title)
    assert all((tmp_path / f.rsplit("/", 1)[-1]).stat().st_size > 500 for f in files)
