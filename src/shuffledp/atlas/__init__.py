"""The soundness atlas: every theorem of the registry against concrete data sets, on a grid."""

from shuffledp.atlas.cell import Cell, Claim, Verdict, compute
from shuffledp.atlas.files import save
from shuffledp.atlas.grid import Family, Point, grid
from shuffledp.atlas.run import survey

__all__ = ["Cell", "Claim", "Family", "Point", "Verdict", "compute", "grid", "save", "survey"]
