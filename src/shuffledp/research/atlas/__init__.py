"""The soundness atlas: every theorem of the registry against concrete data sets, on a grid."""

from shuffledp.research.atlas.cell import Cell, Claim, Verdict, compute
from shuffledp.research.atlas.files import save
from shuffledp.research.atlas.grid import Family, Point, grid
from shuffledp.research.atlas.run import survey

__all__ = ["Cell", "Claim", "Family", "Point", "Verdict", "compute", "grid", "save", "survey"]
