"""Thousands of random deployments, each answer against brute force; hours of them on request."""

import os
import random
from collections.abc import Mapping
from typing import Any

import pytest

import shuffledp
from shuffledp import SampleThreshold, randomizers
from shuffledp.accounting.protocols.crowds import Crowded
from shuffledp.accounting.randomizers.catalogue import OFFERED
from shuffledp.accounting.randomizers.noise import Noise
from tests.adversary import faces, shapes
from tests.adversary.deployments import MECHANISMS, Case
from tests.adversary.hunt import Judge, hunt
from tests.adversary.relations import Relation
from tests.adversary.remembered import REMEMBERED
from tests.interfaces.web.conftest import running

QUICK, CASES = range(5), 400
"""Seeds, and how many cases of each."""


@pytest.mark.parametrize("seed", QUICK)
def test_every_answer_holds_the_truth(seed: int) -> None:
    faults, tally = hunt(seed, cases=CASES, patience=0.0, per_case=120.0)
    assert not faults, "\n".join(map(str, faults))
    assert tally["judged"] == CASES


@pytest.mark.parametrize(
    ("judgement", "case"), REMEMBERED, ids=lambda part: getattr(part, "__name__", str(part)[:60])
)
def test_what_once_failed(judgement: Judge, case: Case | Relation) -> None:
    fault = judgement(case)
    assert fault is None, str(fault)


def test_every_randomizer_is_drawn() -> None:
    wrappers = {"CheckIn", "Repeated", "Subsampled"}
    assert set(MECHANISMS) | wrappers == set(randomizers.__all__) - {"Randomizer", "VictimPair"}
    assert set(MECHANISMS) <= set(shuffledp.__all__)


def test_every_shape_and_noise_is_drawn() -> None:
    public = {name: getattr(shuffledp, name) for name in shuffledp.__all__}
    kinds = {name for name, kind in public.items() if _is(kind, Crowded | SampleThreshold)}
    assert kinds == set(shapes.COUNTED)
    assert {name for name, kind in public.items() if _is(kind, Noise)} == set(shapes.NOISES)
    drawn = {shapes.shape(random.Random(seed)).name for seed in range(200)}
    assert drawn == set(shapes.COUNTED)


def _is(kind: object, base: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


@pytest.mark.slow
def test_a_long_hunt() -> None:
    seconds = float(os.environ.get("ADVERSARY_SECONDS", "300"))
    seed = int(os.environ.get("ADVERSARY_SEED", "1000"))
    faults, _ = hunt(seed, seconds=seconds, patience=0.5, per_case=60.0, report=print)
    assert not faults, "\n".join(map(str, faults))


def test_faces_know_every_mechanism() -> None:
    assert set(faces.MECHANISMS) == set(OFFERED) - {"channel"}


FACES, PAGES = 50, 20
"""Questions asked in Python and of the command line, and how many of them of the page, too."""


def test_text_json_and_page_are_the_answer() -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("starlette")
    rng = random.Random(0)
    with running("--deadline", "120") as address:

        def page(given: Mapping[str, str]) -> tuple[int, object]:
            answer = httpx.get(f"{address}/api/account", params=given, timeout=120)
            return answer.status_code, answer.json()

        for place in range(FACES):
            fault = faces.judge_faces(faces.options(rng), page if place < PAGES else None)
            assert fault is None, str(fault)
