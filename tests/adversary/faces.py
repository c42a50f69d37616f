"""One question, asked four ways: Python, the command line as text and as JSON, the page."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from click.testing import CliRunner

from shuffledp import ShuffleDPError
from shuffledp.accounting.protocols.named import protocol
from shuffledp.errors import InternalError
from shuffledp.interfaces.cli import main
from shuffledp.labels import Interval, outward
from tests.adversary.deployments import call, eps0, question, rate
from tests.adversary.judge import Fault, crash

Given = dict[str, Any]
Page = Callable[[Mapping[str, str]], tuple[int, Any]]
"""Parameters of a request -> status and JSON."""

MECHANISMS: dict[str, Callable[[random.Random], Given]] = {
    "ldp": lambda rng: rng.choice([{}, {}, {"delta0": 1e-9}]),
    "rr": lambda rng: {},
    "krr": lambda rng: {"k": rng.choice([2, 3, 16])},
    "laplace": lambda rng: {},
    "truncated-laplace": lambda rng: {},
    "discrete-laplace": lambda rng: {"levels": rng.choice([1, 3, 10])},
    "gaussian": lambda rng: {"sigma": rng.uniform(0.5, 5.0), "sensitivity": 1.0},
    "rappor": lambda rng: {"k": rng.choice([2, 3, 16])},
    "oue": lambda rng: {"k": rng.choice([2, 3, 16])},
    "olh": lambda rng: rng.choice([{}, {"g": 3}]),
    "hadamard": lambda rng: {},
    "subset": lambda rng: {"k": rng.choice([3, 10])},
    "one-bit": lambda rng: {},
    "piecewise": lambda rng: {},
    "plateau": lambda rng: rng.choice([{}, {"width": 0.2}]),
    "rounding": lambda rng: rng.choice([{}, {"k": 5}]),
}
"""Every name of the catalogue but the file; the tests compare."""


def options(rng: random.Random) -> Given:
    """Options of ``shuffledp account``: quick ones, each is computed four times."""
    mechanism = rng.choice(list(MECHANISMS))
    given: Given = {"mechanism": mechanism, **MECHANISMS[mechanism](rng)}
    if mechanism != "gaussian":
        given["eps0"] = eps0(rng, 6.0)
    if rng.random() < 0.3:
        given["check_in"] = rate(rng)
    elif rng.random() < 0.15:
        given["rounds"] = rng.choice([1, 2, 10])
    given["n"] = rng.choice([1, 2, 3, 100, 1000])
    if rng.random() < 0.2:
        given["colluders"] = rng.randint(0, given["n"])
    quick = mechanism == "ldp" and "check_in" not in given
    budget = call("LDP", eps0=given.get("eps0", 1.0))
    name, value = question(rng, budget, 1.0 if quick else 0.0)
    given[name] = value
    return given


def _words(given: Given) -> list[str]:
    words = ["account"]
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", value if isinstance(value, str) else repr(value)]
    return words


_QUESTIONS = ("delta", "epsilon", "order", "alpha")
_BLANK = (
    "eps0", "delta0", "k", "g", "d", "levels", "width", "sigma", "sensitivity", "scalar", "channel",
    "check_in", "drawn", "rounds", "n", "colluders", "minimum_batch",
)  # fmt: skip


def judge_faces(given: Given, page: Page | None = None) -> Fault | None:
    """The same digits everywhere, or the same words of refusal."""
    shown = "shuffledp " + " ".join(_words(given))
    asked = {name: given[name] for name in _QUESTIONS if name in given}
    try:
        interval = protocol(
            mechanism=given["mechanism"], **{name: given.get(name) for name in _BLANK}
        ).ask(**asked)
        refused = ""
    except InternalError as error:
        return crash(shown, error)
    except ShuffleDPError as error:
        interval, refused = None, str(error)
    except Exception as error:
        return crash(shown, error)
    for judgement in (_text, _json):
        words = judgement(given, interval, refused)
        if words:
            return Fault("face", shown, words)
    if page is not None and (words := _page(page, given, interval, refused)):
        return Fault("page", shown, words)
    return None


def _run(words: list[str]) -> tuple[int, str, str]:
    run = CliRunner().invoke(main, words)
    if run.exception is not None and not isinstance(run.exception, SystemExit):
        return -1, run.stdout, f"{type(run.exception).__name__}: {run.exception}"
    return run.exit_code, run.stdout, run.stderr


def _refusal(code: int, out: str, err: str) -> str:
    if code != 2 or out or "Traceback" in err or not err.strip():
        return f"refused with exit code {code}, stdout {out!r}, stderr {err!r}"
    return ""


def _text(given: Given, interval: Interval | None, refused: str) -> str:
    code, out, err = _run(_words(given))
    if interval is None:
        return _refusal(code, out, err)
    if code != 0:
        return f"text: exit code {code}, {err!r}; Python answers {interval}"
    for end, up in ((interval.lower, False), (interval.upper, True)):
        if outward(end, up=up) not in out:
            return f"text lacks {outward(end, up=up)}: {out}"
    if interval.status.value not in out or interval.theorem not in out:
        return f"text lacks {interval.status.value} by {interval.theorem}"
    return ""


def _differs(data: Mapping[str, Any], interval: Interval) -> str:
    if data.get(interval.quantity) != interval.to_dict():
        return f"{data.get(interval.quantity)} for {interval.to_dict()}"
    if (data["status"], data["theorem"]) != (interval.status.value, interval.theorem):
        return f"{data['status']} by {data['theorem']} for {interval}"
    return ""


def _json(given: Given, interval: Interval | None, refused: str) -> str:
    code, out, err = _run([*_words(given), "--json"])
    if interval is None:
        return _refusal(code, out, err)
    if code != 0:
        return f"JSON: exit code {code}, {err!r}; Python answers {interval}"
    data = json.loads(out, parse_constant=_never)
    return _differs(data, interval)


def _never(constant: str) -> float:
    raise ValueError(f"{constant} in JSON")


def _page(page: Page, given: Given, interval: Interval | None, refused: str) -> str:
    text = {name: value if isinstance(value, str) else repr(value) for name, value in given.items()}
    status, data = page(text)
    if interval is None:
        if not 400 <= status < 500:
            return f"status {status} where Python says {refused!r}"
        return ""
    if status == 503 or status == 504:
        return ""  # out of time: said so
    if status != 200:
        return f"status {status}: {data}; Python answers {interval}"
    finite = all(math.isfinite(end) for end in (interval.lower, interval.upper))
    return _differs(data, interval) if finite else ""
