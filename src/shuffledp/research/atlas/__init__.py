"""The soundness atlas: every theorem of the registry against concrete data sets, on a grid."""

from shuffledp.research.atlas.cell import Cell, ClaimedValue, Judgement, compute
from shuffledp.research.atlas.files import save
from shuffledp.research.atlas.grid import ParameterSweep, Point, grid
from shuffledp.research.atlas.run import survey

__all__ = [
    "Cell",
    "ClaimedValue",
    "Judgement",
    "ParameterSweep",
    "Point",
    "compute",
    "grid",
    "save",
    "survey",
]
