"""Planning a deployment: which randomizer, with which budget, for which error."""

from shuffledp.collection.planning.plan import Choice, Plan, plan
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import HeavyHitters, Histogram, Mean, Task, Vector, task

__all__ = [
    "Choice",
    "HeavyHitters",
    "Histogram",
    "Mean",
    "Plan",
    "Target",
    "Task",
    "Vector",
    "plan",
    "task",
]
