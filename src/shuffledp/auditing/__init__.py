"""Attacking what runs, to see whether it keeps what is claimed."""

from shuffledp.auditing.attack import Release, pipeline
from shuffledp.auditing.audit import Audit, audit

__all__ = ["Audit", "Release", "audit", "pipeline"]
