"""Attacking what runs, to see whether it keeps what is claimed."""

from shuffledp.auditing.attack import Release, pipeline
from shuffledp.auditing.audit import Audit, all_trials, audit

__all__ = ["Audit", "Release", "all_trials", "audit", "pipeline"]
