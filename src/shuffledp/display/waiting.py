"""What is being computed, on a terminal, for whoever has waited a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shuffledp.accounting.bounds.theorem import listening

_PATIENCE = 1.0
"""Seconds after which a person wants to know."""


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows on stderr what is asked and of which theorem; nothing when that is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    from shuffledp.display.text import console

    status = console(stderr=True).status(f"{what} …")
    timer = Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        with listening(lambda theorem: status.update(f"{what}: {theorem} …")):
            yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
