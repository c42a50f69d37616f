"""An answer to a question of the page, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from shuffledp.errors import ConversionError, ParameterError, RegimeError, ShuffleDPError


class Refused(Exception):
    """A question without an answer, and why; ``status`` is that of HTTP."""

    def __init__(self, status: int, kind: str, message: str, parameter: str | None = None) -> None:
        super().__init__(status, kind, message, parameter)
        self.status, self.kind, self.message, self.parameter = status, kind, message, parameter

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"error": {"kind": self.kind, "parameter": self.parameter, "message": self.message}}


def answer(job: Callable[[Mapping[str, Any]], object], given: Mapping[str, Any]) -> object:
    """What the job answers, as JSON, or why it does not."""
    try:
        return json.dumps(job(given), allow_nan=False).encode()
    except ParameterError as error:
        return Refused(422, "parameter", str(error), error.parameter)
    except (RegimeError, ConversionError) as error:
        return Refused(422, "no answer here", str(error))
    except ShuffleDPError as error:
        return Refused(422, "refused", str(error))
    except MemoryError:
        return Refused(422, "too large", "This question needs too much memory.")
    except Exception as error:
        return Refused(500, "bug", f"{type(error).__name__}: {error}")
