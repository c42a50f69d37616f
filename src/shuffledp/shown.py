"""Results that show themselves in a notebook, and draw themselves.

How is a matter of ``display``, which knows all results; it is looked up by name when it is needed,
since nothing below it may import it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_DISPLAY = "shuffledp.display.notebook"


class Shown:
    """A result that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        """For notebooks."""
        return str(import_module(_DISPLAY).html(self))


class Printed(Shown):
    """A result that ``print`` shows as the same table."""

    def __str__(self) -> str:
        return str(import_module(_DISPLAY).plain(self))


class Drawn:
    """A result that draws itself."""

    def plot(self, axes: Any = None) -> Any:
        """Draw it on matplotlib axes, new ones unless given, and return them.

        Needs the extra 'plot'.

        Parameters
        ----------
        axes
            Where to draw.
        """
        return import_module(_DISPLAY).plot(self, axes)
