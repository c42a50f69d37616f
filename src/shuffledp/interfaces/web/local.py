"""The HTTP interface without HTTP: for a page that computes in the browser."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from shuffledp.errors import ParameterError
from shuffledp.interfaces.web.answers import JOBS
from shuffledp.interfaces.web.fields import OFFERS, read
from shuffledp.interfaces.web.openapi import PATHS
from shuffledp.interfaces.web.outcome import Refused, answer


def reply(path: str, query: str) -> tuple[int, str]:
    """Status and body, as the server's."""
    if path == "/api/mechanisms":
        return 200, json.dumps(OFFERS)
    found = _answered(path, query)
    if isinstance(found, Refused):
        return found.status, json.dumps(found.to_dict())
    assert isinstance(found, bytes)
    return 200, found.decode()


def _answered(path: str, query: str) -> object:
    for job, (known, _, fields) in PATHS.items():
        if known == path:
            try:
                given = read(fields, parse_qsl(query, keep_blank_values=True))
            except ParameterError as error:
                return Refused(422, "parameter", str(error), error.parameter)
            return answer(JOBS[job], given)
    return Refused(404, "http", "Not Found")
