"""Whatever the OpenAPI document allows, and what it forbids: no 5xx, and answers as documented."""

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from shuffledp.accounting.randomizers.catalogue import OFFERED
from shuffledp.interfaces.web.fields import NAMES
from shuffledp.interfaces.web.openapi import PATHS, document

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(document())


def _fuzz(server: str, path: str, mode: GenerationMode, examples: int) -> None:
    cases = SCHEMA[path]["GET"].as_strategy(generation_mode=mode)

    @given(case=cases)
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=server, checks=CHECKS)

    ask()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", [path for path, _, _ in PATHS.values()])
def test_no_surprise(strict_server: str, path: str, mode: GenerationMode) -> None:
    _fuzz(strict_server, path, mode, 25)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path, _, _ in PATHS.values()])
def test_no_surprise_at_length(strict_server: str, path: str) -> None:
    _fuzz(strict_server, path, GenerationMode.POSITIVE, 500)


def _log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(0.0, 1.0).map(lambda share: low * (high / low) ** share)


VALUES: dict[str, st.SearchStrategy[object]] = {
    "eps0": _log_uniform(1e-3, 400.0),
    "delta0": _log_uniform(1e-30, 0.5),
    "sigma": _log_uniform(0.01, 1e4),
    "sensitivity": _log_uniform(0.1, 10.0),
    "scalar": st.sampled_from(["true", "false"]),
    "ball": st.sampled_from(["true", "false"]),
    "sequential": st.sampled_from(["true", "false"]),
    "k": st.integers(2, 4096),
    "g": st.integers(2, 4096),
    "d": st.integers(1, 10),
    "levels": st.integers(1, 200),
    "width": _log_uniform(1e-3, 1.0),
}
CROWD = {
    "check_in": _log_uniform(1e-3, 1.0),
    "rounds": st.integers(1, 10**6),
    "colluders": st.integers(0, 10),
}
QUESTIONS: dict[str, st.SearchStrategy[object]] = {
    "delta": _log_uniform(1e-30, 0.99),
    "epsilon": _log_uniform(1e-6, 50.0),
    "alpha": st.floats(0.0, 1.0),
    "order": _log_uniform(1.01, 1e4),
}


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, str]:
    """A mechanism with all it needs and some of what it takes, a crowd and one question."""
    name = draw(st.sampled_from(NAMES))
    optional = draw(st.sets(st.sampled_from([*OFFERED[name].takes, *CROWD])))
    question = draw(st.sampled_from(sorted(QUESTIONS)))
    given = {"mechanism": name, "n": str(round(draw(_log_uniform(1.0, 1e12))))}
    for key in (*OFFERED[name].needs, *sorted(optional), question):
        given[key] = str(draw((VALUES | CROWD | QUESTIONS)[key]))
    return given


def _sensible(server: str, examples: int) -> None:
    @given(asked=deployments())
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(asked: dict[str, str]) -> None:
        reply = httpx.get(f"{server}/api/account", params=asked, timeout=60)
        assert reply.status_code in (200, 422), (asked, reply.text)

    ask()


def test_sensible_questions_are_answered_or_refused(strict_server: str) -> None:
    _sensible(strict_server, 30)


@pytest.mark.slow
def test_many_sensible_questions(strict_server: str) -> None:
    _sensible(strict_server, 1000)
