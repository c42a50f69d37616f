"""The colours of the labels, the same in every picture and on the page.

Any two differ for every kind of colour vision (``tests/display/test_palette.py``), and each
can be read as text on the ground of its theme.
"""

from __future__ import annotations

COLOURS = {
    "PROVEN": "#0a786a",
    "FIXED_PAIR": "#1d4fd7",
    "ASYMPTOTIC": "#6b2488",
    "HEURISTIC": "#ad6203",
    "REFUTED": "#931712",
}
"""On white."""
DARK_COLOURS = {
    "PROVEN": "#68efbe",
    "FIXED_PAIR": "#7fb1d6",
    "ASYMPTOTIC": "#bd74ff",
    "HEURISTIC": "#f9c333",
    "REFUTED": "#f64d57",
}
"""The same on a dark ground."""
TRUST = {
    "shuffler": COLOURS["PROVEN"],
    "nobody": COLOURS["HEURISTIC"],
    "curator": COLOURS["FIXED_PAIR"],
}
"""By whom users have to trust."""
QUIET = "#6b747d"
"""What is there for reference only."""
CYCLE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f5539", "#5c6770")
"""Of lines that are told apart by name only (Okabe, Ito 2008, with a brown and a grey)."""
GROUND, DARK_GROUND = "#ffffff", "#131416"
_REDRAWN = {
    **{light: DARK_COLOURS[status] for status, light in COLOURS.items()},
    GROUND: DARK_GROUND,
    "#000000": "#e4e7ea",
    QUIET: "#9aa5b0",
    "#d1240f": "#f64d57",
    "#f3f3f1": "#23272b",
    "#c9d3df": "#4b5866",
    "#7f5539": "#c08552",
    "#cccccc": "#4a5056",
}
"""What every colour of a picture becomes on a dark ground; others can be seen on both."""


def darkened(svg: str) -> str:
    """The same drawing on a dark ground; text is black where nothing is said."""
    for light, dark in _REDRAWN.items():
        svg = svg.replace(light, dark)
    return svg.replace("<svg ", f'<svg fill="{_REDRAWN["#000000"]}" ', 1)
