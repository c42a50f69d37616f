"""Counts that tell how much comes, and not who came when."""

import re

from shuffledp.service.server.metrics import Metrics

NAME = "shuffledp_reports_stored"


def _shown(metrics: Metrics) -> int:
    metrics._until = 0.0
    (found,) = re.findall(rf"^{NAME}_total (\d+)$", metrics.text(storing=True), re.MULTILINE)
    return int(found)


def test_thousands_are_never_too_many_and_never_two_too_few() -> None:
    metrics, before = Metrics(), 0
    for count in range(1, 4001):
        metrics.add(NAME)
        shown = _shown(metrics)
        assert count - 2000 < shown <= count
        assert shown in (before, before + 1000)
        before = shown


def test_nobody_can_bring_a_count_to_the_brink() -> None:
    """Who sends 999 of their own, and watches: the next person shows in one of a thousand."""
    seen = 0
    for _ in range(1000):
        metrics = Metrics()
        metrics.add(NAME, 1999)
        before = _shown(metrics)
        metrics.add(NAME)
        seen += _shown(metrics) != before
    assert seen < 20  # one is expected; without brinks of their own, all


def test_the_brink_of_a_thousand_stays_where_it_is() -> None:
    metrics = Metrics()
    metrics.add(NAME, 1500)
    assert len({_shown(metrics) for _ in range(100)}) == 1
    assert len({_shown_after(1500) for _ in range(100)}) == 2


def _shown_after(count: int) -> int:
    metrics = Metrics()
    metrics.add(NAME, count)
    return _shown(metrics)
