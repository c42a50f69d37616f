"""Planning a deployment: which randomizer, with which budget, for which error."""

from shuffledp.collection.planning.attacks import Attack, attacks
from shuffledp.collection.planning.limits import Limit, limits
from shuffledp.collection.planning.plan import Choice, Plan, local_warning, plan
from shuffledp.collection.planning.shape import Shape
from shuffledp.collection.planning.shapes import ALL_SHAPES, SHAPES, SHAPES_OF_MEANS, makers, shapes
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import (
    HeavyHitters,
    Histogram,
    Mean,
    MeanQuantiles,
    Quantiles,
    Sometimes,
    Task,
    Vector,
    task,
)
from shuffledp.collection.planning.together import Together, Wanted, together

__all__ = [
    "ALL_SHAPES",
    "SHAPES",
    "SHAPES_OF_MEANS",
    "Attack",
    "Choice",
    "HeavyHitters",
    "Histogram",
    "Limit",
    "Mean",
    "MeanQuantiles",
    "Plan",
    "Quantiles",
    "Shape",
    "Sometimes",
    "Target",
    "Task",
    "Together",
    "Vector",
    "Wanted",
    "attacks",
    "limits",
    "local_warning",
    "makers",
    "plan",
    "shapes",
    "task",
    "together",
]
