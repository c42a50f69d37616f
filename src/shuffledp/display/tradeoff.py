"""Pictures of trade-off functions. Needs the extra 'plot'."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shuffledp.accounting.curves.tradeoff import TradeoffFunction
from shuffledp.display.plot import dress, new_figure, save_figure
from shuffledp.errors import ParameterError


def save_tradeoffs(functions: Mapping[str, TradeoffFunction], path: str | Path) -> None:
    """All functions in one picture, perfect privacy for reference,
    with a close-up of small alpha."""
    if not functions:
        raise ParameterError("functions", "at least one", functions)
    figure, (whole, corner) = new_figure(2, width=5.2, height=4.6)
    for axes in (whole, corner):
        axes.plot([0.0, 1.0], [1.0, 0.0], "k:", lw=1.0, label="perfect privacy")
        for name, function in functions.items():
            function.plot(axes, label=name)
        axes.set(xlabel="type I error", ylabel="type II error")
    corner.set(xlim=(0.0, 0.1), ylim=(0.0, 1.0))
    dress(whole, "trade-off functions")
    dress(corner, "small type I errors")
    save_figure(figure, path)
