"""What a device runs, as small frozen descriptions. Nothing is sampled here."""

from shuffledp.randomizers.ldp import LDP

__all__ = ["LDP"]
