"""Running protocols whose analyst sees numbers: sums only, thresholds, dummies, split messages."""

from shuffledp.collection.counting.collectors import Collector, collector
from shuffledp.collection.counting.estimates import NoisyEstimate

__all__ = ["Collector", "NoisyEstimate", "collector"]
