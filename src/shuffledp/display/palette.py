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
