"""An invented survey, to try every command on."""

from __future__ import annotations

import numpy as np

from shuffledp import checks

TRANSPORT = {"car": 0.41, "bus": 0.22, "train": 0.16, "bike": 0.13, "walk": 0.08}
"""How people get to work, and which share of them."""
_MINUTES = {"car": 26.0, "bus": 38.0, "train": 52.0, "bike": 19.0, "walk": 13.0}
_APPS = ("maps", "mail", "chat", "news", "bank", "game", "note", "golf")
"""The first is the most frequent; half as many have the next, and so on."""
_BUDGETS = (0.5, 1.0, 2.0)
LONGEST = 120
"""Minutes on the way that are written down, at most."""


def sample_table(rows: int = 20_000, seed: int = 1) -> str:
    """A table in CSV, one invented person in each row: how they get to work, how many minutes that
    takes, the app they use most, and the privacy budget they chose.

    Parameters
    ----------
    rows
        How many people.
    seed
        The same seed, the same people.

    Examples
    --------
    >>> sample_table(rows=2).splitlines()[0]
    'transport,minutes,app,eps'
    """
    draws = np.random.default_rng(checks.whole("seed", seed, 0))
    rows = checks.count("rows", rows)
    ways, shares = list(TRANSPORT), list(TRANSPORT.values())
    way = draws.choice(len(ways), rows, p=shares)
    typical = np.array([_MINUTES[name] for name in ways])[way]
    minutes = np.clip(np.round(draws.gamma(4.0, typical / 4.0), 1), 1.0, LONGEST)
    app = np.minimum(draws.geometric(0.5, rows) - 1, len(_APPS) - 1)
    budget = draws.choice(len(_BUDGETS), rows, p=(0.3, 0.5, 0.2))
    lines = (
        f"{ways[a]},{b:g},{_APPS[c]},{_BUDGETS[d]:g}"
        for a, b, c, d in zip(way, minutes, app, budget, strict=True)
    )
    return "\n".join(["transport,minutes,app,eps", *lines, ""])


def sample_tasks() -> str:
    """Questions about that table, in TOML.

    Examples
    --------
    >>> sample_tasks().count("[[task]]")
    3
    """
    ways = ", ".join(f'"{name}"' for name in TRANSPORT)
    return f"""# Questions about the invented survey, all under one guarantee:
# shuffledp run survey.csv --tasks tasks.toml --epsilon 1 --delta 1e-6

[[task]]
task = "histogram"
column = "transport"
categories = [{ways}]

[[task]]
task = "mean"
column = "minutes"
low = 0
high = {LONGEST}
weight = 2  # its error counts twice

[[task]]
task = "quantiles"
column = "minutes"
low = 0
high = {LONGEST}
bins = 60
"""
