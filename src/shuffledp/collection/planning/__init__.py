"""Planning a deployment: which randomizer, with which budget, for which error."""

from shuffledp.collection.planning.plan import Choice, Plan, plan
from shuffledp.collection.planning.shapes import Attack, Shape, attacks, shapes
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import HeavyHitters, Histogram, Mean, Task, Vector, task

__all__ = [
    "Attack",
    "Choice",
    "HeavyHitters",
    "Histogram",
    "Mean",
    "Plan",
    "Shape",
    "Target",
    "Task",
    "Vector",
    "attacks",
    "plan",
    "shapes",
    "task",
]
