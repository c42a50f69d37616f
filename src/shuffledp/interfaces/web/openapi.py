"""The OpenAPI document, from the same tables that read the requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import shuffledp
from shuffledp.interfaces.web.fields import CROWD, CURVE, MECHANISM, QUESTION, TARGET, Field

PATHS: dict[str, tuple[str, str, dict[str, Field]]] = {
    # job: path, summary, parameters
    "account": (
        "/api/account",
        "The guarantee: a proven end and what a data set leaks.",
        MECHANISM | CROWD | QUESTION,
    ),
    "bounds": (
        "/api/bounds",
        "Every bound for one question, labelled.",
        MECHANISM | CROWD | QUESTION,
    ),
    "curve": (
        "/api/curve",
        "The next points of a curve, coarse to fine; ask again with start = next.",
        MECHANISM | CROWD | QUESTION | CURVE,
    ),
    "calibrate": (
        "/api/calibrate",
        "The largest eps0, the fewest users or the smallest sigma for a target.",
        MECHANISM | CROWD | TARGET,
    ),
}
_REQUIRED = {
    "curve": {"curve"},
    "calibrate": {"find", "epsilon", "delta"},
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string"},
                "parameter": {"type": ["string", "null"]},
                "message": {"type": "string"},
            },
        }
    },
}
_NUMBER = {"type": ["number", "null"]}
_VALUE = {
    "type": "object",
    "required": ["theorem", "status", "direction", "value"],
    "properties": {
        "theorem": {"type": "string"},
        "status": {"enum": [status.value for status in shuffledp.Status]},
        "direction": {"enum": [direction.value for direction in shuffledp.Direction]},
        "value": _NUMBER,
        "note": {"type": "string"},
    },
}
_INTERVAL = {
    "type": "object",
    "required": ["lower", "upper", "lower_end", "upper_end"],
    "properties": {
        "lower": _NUMBER,
        "upper": _NUMBER,
        "lower_end": {"$ref": "#/components/schemas/Value"},
        "upper_end": {"$ref": "#/components/schemas/Value"},
    },
}
_ANSWERS: dict[str, dict[str, Any]] = {
    "account": {
        "required": ["quantity", "status", "direction", "theorem", "command", "python"],
        "properties": {
            "quantity": {"enum": ["epsilon", "delta", "renyi", "tradeoff"]},
            "command": {"type": "string"},
            "python": {"type": "string"},
        },
    },
    "bounds": {
        "required": ["quantity", "bounds", "silent"],
        "properties": {
            "bounds": {"type": "array", "items": {"$ref": "#/components/schemas/Value"}},
            "silent": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    "curve": {
        "required": ["curve", "points", "next", "total"],
        "properties": {
            "points": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["x", "lower", "upper"],
                    "properties": {"x": {"type": "number"}, "lower": _NUMBER, "upper": _NUMBER},
                },
            },
            "next": {"type": ["integer", "null"]},
        },
    },
    "calibrate": {
        "required": ["find", "value", "target", "command"],
        "properties": {"value": {"type": "number"}, "command": {"type": "string"}},
    },
}


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "shuffledp",
            "version": shuffledp.__version__,
            "description": "Labelled privacy accounting in the shuffle model. Every answer carries"
            " status, direction and theorem; errors are in words. Give exactly one of delta,"
            " epsilon, order and alpha.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            path: {"get": _operation(job, summary, fields)}
            for job, (path, summary, fields) in PATHS.items()
        },
        "components": {
            "schemas": {"Error": _ERROR, "Value": _VALUE, "Interval": _INTERVAL},
        },
    }


def _operation(job: str, summary: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    answer = {"type": "object", **_ANSWERS[job]}
    if job == "account":
        interval = {"$ref": "#/components/schemas/Interval"}
        # delta and epsilon name the quantity asked for or the value given
        either = {"anyOf": [interval, {"type": "number"}]}
        answer["properties"] |= {"epsilon": either, "delta": either}
        answer["properties"] |= {"renyi": interval, "tradeoff": interval}
    responses = {"200": {"description": "The answer.", "content": _json(answer)}}
    for status, meaning in (
        ("422", "A parameter is wrong, no theorem answers, or it would take too long; in words."),
        ("429", "Too many questions are waiting."),
        ("414", "The query string is too long."),
    ):
        reference = {"$ref": "#/components/schemas/Error"}
        responses[status] = {"description": meaning, "content": _json(reference)}
    return {
        "operationId": job,
        "summary": summary,
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in _REQUIRED[job],
                "description": field.description,
                "schema": field.schema(),
            }
            for name, field in fields.items()
        ],
        "responses": responses,
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
