"""Rows chained by digest: each digest covers its row and the digest before.

Whoever alters a row, or removes one that others follow, must recompute every digest after it, and
the last one then differs from the one on a receipt. So the chain protects against accidents and
hasty hands; against somebody who rewrites the whole store it protects those who kept a digest
elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def digest_of(previous: str, row: Sequence[str | int | None]) -> str:
    """SHA-256 of the digest before and the row as it is stored, as JSON."""
    text = json.dumps([previous, *row], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Verified:
    """What a look at a whole cohort found.

    Parameters
    ----------
    cohort
        Its name.
    spends
        How many there are.
    digest, digests
        The last of its chain, and all of them.
    problems
        What was altered, in words.
    unknown
        Why that cannot be told, if so.
    """

    cohort: str
    spends: int
    digest: str | None
    """The last of the chain: keep it elsewhere. None before there is a chain."""
    problems: tuple[str, ...] = ()
    unknown: str = ""
    """Why it cannot be told whether rows were altered, if so."""
    digests: frozenset[str] = frozenset()
    """All of the chain, the first included."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "cohort": self.cohort,
            "spends": self.spends,
            "digest": self.digest,
            "problems": list(self.problems),
            "unknown": self.unknown or None,
        }
