"""What a worker computes: parameters in, JSON-ready answers out,
by the code of the command line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import Shuffled, calibrate, calibrate_sigma, pair_values
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.named import protocol, question, settings
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.errors import ParameterError
from shuffledp.interfaces.web.equivalents import command_line, snippet
from shuffledp.interfaces.web.fields import CROWD, MECHANISM

SLICE = 0.2
"""Seconds after which a curve returns the points it has; the rest is asked for again."""

Given = Mapping[str, Any]


def account(given: Given) -> dict[str, Any]:
    """As ``shuffledp account --json``, with the code and the command that give the same."""
    deployment, asked = _deployment(given), _asked(given)
    interval = deployment.ask(**asked)
    return {
        interval.quantity: interval.to_dict(),
        "quantity": interval.quantity,
        "status": interval.status.value,
        "direction": interval.guarantee.direction.value,
        "theorem": interval.theorem,
        **pair_values(deployment, **asked),
        **settings(deployment),
        **asked,
        "description": str(deployment),
        "command": command_line("account", given, asked),
        "python": snippet(given, asked),
    }


def bounds(given: Given) -> dict[str, Any]:
    """As ``shuffledp compare --json``, and the theorems that give no answer."""
    asked = _asked(given)
    values, silent = _deployment(given).survey(**asked)
    return {
        "quantity": QUESTIONS[next(iter(asked))],
        "bounds": [value.to_dict() for value in values],
        "silent": silent,
    }


def curve(given: Given) -> dict[str, Any]:
    """The next points of a curve, coarse to fine, as many as a slice of time allows.

    For a picture: each end is sound, but up to a few percent wider than that of ``account``.
    """
    deployment = _deployment(given)
    if "curve" not in given:
        raise ParameterError("curve", "given: users, delta or tradeoff", None)
    sweep = _CURVES[given["curve"]](deployment, given)
    start = max(int(given.get("start", 0)), 0)
    order = [sweep.at[index] for index in _coarse_to_fine(len(sweep.at))[start:]]
    points: list[dict[str, Any]] = []
    began, spent = time.perf_counter(), 0.0
    while order and spent < SLICE:
        left = int((SLICE - spent) / spent * len(points)) if points else sweep.first
        now, order = order[: max(left, 1)], order[max(left, 1) :]
        ends = zip(now, *sweep.band(now), strict=True)
        points += [{"x": x, "lower": _shown(low), "upper": _shown(high)} for x, low, high in ends]
        spent = time.perf_counter() - began
    return {
        "curve": given["curve"],
        "points": points,
        "next": start + len(points) if order else None,
        "total": len(sweep.at),
    }


def calibration(given: Given) -> dict[str, Any]:
    """As ``shuffledp calibrate --json``."""
    for name in ("find", "epsilon", "delta"):
        if name not in given:
            raise ParameterError(name, "given", None)
    target = {"epsilon": given["epsilon"], "delta": given["delta"]}
    mechanism: dict[str, Any] = {"mechanism": "ldp"} | _named(given, MECHANISM)
    gaussian, find = mechanism["mechanism"] == "gaussian", given["find"]
    if gaussian != (find == "sigma"):
        wanted = "sigma" if gaussian else "eps0 or n"
        raise ParameterError("find", f"{wanted} for mechanism {mechanism['mechanism']!r}", find)
    if gaussian:
        found = calibrate_sigma(
            **target,
            n=given.get("n", 0),
            sensitivity=given.get("sensitivity", 2.0),
            rounds=given.get("rounds", 1),
            rate=given.get("check_in", 1.0),
            drawn=given.get("drawn"),
            scalar=given.get("scalar", False),
            ball=given.get("ball", False),
        )
        shown = {k: v for k, v in given.items() if k not in ("sigma", "find", *target)}
        return {
            "find": "sigma",
            "value": found.sigma,
            "epsilon": found.achieved.to_dict(),
            "target": target,
            "command": command_line("calibrate", shown, target),
        }
    budget = mechanism.pop("eps0", None)
    kept: dict[str, Any] = {"n": given.get("n")} if find == "eps0" else {"eps0": budget}
    result = calibrate(lambda eps0: build(eps0=eps0, **mechanism), **target, **kept)
    return {
        "find": find,
        "value": result.value,
        "delta": result.achieved.to_dict(),
        "target": target,
        "command": command_line("calibrate", mechanism | kept, target),
    }


def _deployment(given: Given) -> Shuffled:
    return protocol(**{"mechanism": "ldp", "n": None} | _named(given, MECHANISM | CROWD))


def _named(given: Given, fields: Iterable[str]) -> dict[str, Any]:
    return {name: given[name] for name in fields if name in given}


def _asked(given: Given) -> dict[str, float]:
    return question(**{name: given.get(name) for name in QUESTIONS})


def _shown(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class _Sweep:
    """Abscissas, both ends at some of them, and how many to try first."""

    at: list[Any]
    band: Callable[[list[Any]], tuple[list[float], list[float]]]
    first: int = 3


def _over_users(deployment: Shuffled, given: Given) -> _Sweep:
    """The question asked, for crowds from a thirtieth to thirty times as large."""
    asked = {name: [value] for name, value in _asked(given).items()}
    low = max(2.0, deployment.crowd / 30.0)
    high = max(min(deployment.crowd * 30.0, 1e12), 10.0 * low)
    crowds = sorted({round(low * (high / low) ** (i / 12)) for i in range(13)})
    alone = replace(deployment, minimum_batch=None, colluders=0)

    def band(some: list[int]) -> tuple[list[float], list[float]]:
        ends = [replace(alone, n=n).band(**asked) for n in some]
        return [low for (low,), _ in ends], [high for _, (high,) in ends]

    return _Sweep([n for n in crowds if n <= 10**12], band, first=1)


def _over_epsilon(deployment: Shuffled, given: Given) -> _Sweep:
    if "top" not in given:
        raise ParameterError("top", "given for the delta curve", None)
    top = checks.positive("top", given["top"])
    return _Sweep([top * i / 20 for i in range(21)], lambda some: deployment.band(epsilon=some))


def _over_alpha(deployment: Shuffled, _given: Given) -> _Sweep:
    """All at once: most of the work is the same for every point."""
    at = [i / 24 for i in range(25)]
    return _Sweep(at, lambda some: deployment.band(alpha=some), first=len(at))


_CURVES: dict[str, Callable[[Shuffled, Given], _Sweep]] = {
    "users": _over_users,
    "delta": _over_epsilon,
    "tradeoff": _over_alpha,
}


def _coarse_to_fine(count: int) -> list[int]:
    """Both ends, the middle, the quarters, and so on."""
    order = [0, count - 1] if count > 1 else list(range(count))
    step = 2 ** max(math.ceil(math.log2(max(count, 2))) - 1, 0)
    while step >= 1:
        order += [i for i in range(step, count, step) if i not in order]
        step //= 2
    return order


JOBS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "account": account,
    "bounds": bounds,
    "curve": curve,
    "calibrate": calibration,
}
