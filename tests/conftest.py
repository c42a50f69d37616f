"""One Hypothesis profile for every run: the same examples each time, no clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "shuffledp",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shuffledp")
