"""One deployment, three ways to ask: page, ``--json`` and text give the same numbers and labels."""

import json
import re
import shlex
from decimal import Decimal

import httpx
import pytest
from click.testing import CliRunner

from shuffledp.accounting.randomizers.catalogue import OFFERED
from shuffledp.interfaces.cli import main
from shuffledp.interfaces.web.fields import NAMES

PARAMETERS = {"eps0": "1.5", "k": "6", "levels": "5", "sigma": "3"}
QUESTIONS = {
    "delta": ("1e-5", "epsilon"),
    "epsilon": ("0.11", "delta"),
    "alpha": ("0.1", "tradeoff"),
    "order": ("3", "renyi"),
}
_ROW = re.compile(r"^ (guaranteed|leaked) +(\S+) +(\S+) +(\S+)", re.M)


def _agrees(shown: str, exact: float, *, up: bool) -> bool:
    """Rounded to the digits shown, towards the sound side."""
    place = Decimal(10) ** Decimal(shown).as_tuple().exponent  # type: ignore[operator]
    beyond = Decimal(shown) - Decimal(exact)
    return 0 <= (beyond if up else -beyond) < place


CASES = [
    pytest.param(
        name,
        question,
        marks=[pytest.mark.slow] if question == "order" and name not in ("ldp", "krr") else [],
    )
    for question in QUESTIONS
    for name in NAMES
]


@pytest.mark.parametrize(("name", "question"), CASES)
def test_page_json_and_text_agree(server: str, name: str, question: str) -> None:
    at, quantity = QUESTIONS[question]
    needs = {key: PARAMETERS[key] for key in OFFERED[name].needs}
    given = {"mechanism": name, **needs, "n": "300", "colluders": "7", question: at}
    page = httpx.get(f"{server}/api/account", params=given, timeout=120)
    words = [word for key, value in given.items() for word in (f"--{key}", value)]
    as_json = CliRunner().invoke(main, ["account", *words, "--json"])
    if page.status_code == 422:  # no theorem answers: neither does the command line
        assert as_json.exit_code == 2
        assert page.json()["error"]["message"] in " ".join(as_json.stderr.split())
        return
    assert page.status_code == 200, page.text
    answer, printed = page.json(), json.loads(as_json.stdout)
    own = {"seconds", "schema"}  # of the command
    assert {key: answer[key] for key in printed.keys() - own} == {
        key: value for key, value in printed.items() if key not in own
    }
    assert shlex.split(answer["command"])[:2] == ["shuffledp", "account"]
    text = CliRunner().invoke(main, ["account", *words]).stdout
    rows = {row[0]: row[1:] for row in _ROW.findall(text)}
    interval = answer[quantity]
    ends = [interval["upper_end"], interval["lower_end"]]
    proven, leaked = ends[::-1] if quantity == "tradeoff" else ends
    outward = quantity != "tradeoff"
    assert _agrees(rows["guaranteed"][0], proven["value"], up=outward)
    assert _agrees(rows["leaked"][0], leaked["value"], up=not outward)
    assert rows["guaranteed"][1:] == (proven["status"], proven["theorem"])
    assert rows["leaked"][1:] == (leaked["status"], leaked["theorem"])
