"""What a worker computes: parameters in, JSON-ready answers out,
by the code of the command line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import (
    Shuffled,
    calibrate,
    calibrate_allocation,
    calibrate_sigma,
    pair_values,
)
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.named import (
    SHAPES,
    Deployment,
    deployment,
    question,
    settings,
    smallest,
)
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.errors import ConversionError, ParameterError
from shuffledp.interfaces.web.equivalents import command_line, snippet
from shuffledp.interfaces.web.fields import CROWD, MECHANISM

SLICE = 0.2
"""Seconds after which a curve returns the points it has; the rest is asked for again."""

Given = Mapping[str, Any]


def account(given: Given) -> dict[str, Any]:
    """As ``shuffledp account --json``, with the code and the command that give the same."""
    described, asked = _deployment(given), _asked(given)
    interval = described.ask(**asked)
    return {
        interval.quantity: interval.to_dict(),
        "quantity": interval.quantity,
        "status": interval.status.value,
        "direction": interval.guarantee.direction.value,
        "theorem": interval.theorem,
        **(pair_values(described, **asked) if isinstance(described, Shuffled) else {}),
        **settings(described),
        **asked,
        "description": str(described),
        "command": command_line("account", given, asked),
        "python": snippet(given, asked, described),
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
    described = _deployment(given)
    if "curve" not in given:
        raise ParameterError("curve", "given: users, delta or tradeoff", None)
    sweep = _CURVES[given["curve"]](described, given)
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
    if mechanism["mechanism"] == "allocation":
        return _least_sigma(mechanism, find, target)
    if mechanism["mechanism"] in SHAPES or mechanism.get("only_sums"):
        return _least_noise(mechanism | _named(given, ["n"]), find, target)
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


def _least_sigma(mechanism: dict[str, Any], find: str, target: dict[str, float]) -> dict[str, Any]:
    """Of random allocation."""
    if find != "sigma":
        raise ParameterError("find", "sigma for mechanism 'allocation'", find)
    asked = {name: value for name, value in mechanism.items() if name != "sigma"}
    if "steps" not in asked:
        raise ParameterError("steps", "given for 'allocation'", None)
    shape: dict[str, Any] = target | _named(asked, ("steps", "epochs", "k"))
    found = calibrate_allocation(**shape)
    return {
        "find": find,
        "value": found.sigma,
        "epsilon": found.achieved.to_dict(),
        "target": target,
        "command": command_line("calibrate", asked, target),
    }


def _least_noise(mechanism: dict[str, Any], find: str, target: dict[str, float]) -> dict[str, Any]:
    """Of a protocol whose analyst sees numbers only; what is asked for is not given."""
    summed = mechanism["mechanism"] not in SHAPES
    if find != ("eps0" if summed else "noise"):
        raise ParameterError("find", "eps0 where only sums are released, else noise", find)
    hidden = ("eps0",) if summed else ("messages", "modulus", "threshold", "spread")
    asked: dict[str, Any] = {k: v for k, v in mechanism.items() if k not in hidden}
    if "noise" in asked:
        asked["noise"] = asked["noise"].partition(":")[0]
        if mechanism["mechanism"] == "split-and-mix":
            del asked["noise"]
    found = smallest(**asked | target)
    return {
        "find": find,
        **found.to_dict(),
        "target": target,
        "command": command_line("calibrate", asked, target),
    }


def _deployment(given: Given) -> Deployment:
    return deployment(**{"mechanism": "ldp", "n": None} | _named(given, MECHANISM | CROWD))


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


def _over_users(described: Deployment, given: Given) -> _Sweep:
    """The question asked, for crowds from a thirtieth to thirty times as large; for random
    allocation, so many steps of an epoch."""
    asked = {name: [value] for name, value in _asked(given).items()}
    varied = "steps" if given.get("mechanism") == "allocation" else "n"
    here = float(getattr(described, "crowd", None) or given.get(varied) or 1)
    low = max(2.0, here / 30.0, float(given.get("batch", 1)), float(given.get("k", 1)))
    high = max(min(here * 30.0, 1e12), 10.0 * low)
    crowds = sorted({round(low * (high / low) ** (i / 12)) for i in range(13)})
    alone = {
        name: value
        for name, value in given.items()
        if name not in ("minimum_batch", "colluders", "modulus")
    }

    def band(some: list[int]) -> tuple[list[float], list[float]]:
        ends = [_one_crowd(_deployment(alone | {varied: n}), asked) for n in some]
        return [low for low, _ in ends], [high for _, high in ends]

    return _Sweep([n for n in crowds if n <= 10**12], band, first=1)


def _one_crowd(described: Deployment, asked: dict[str, list[float]]) -> tuple[float, float]:
    """Both ends; noise of too few users may hide nothing at any epsilon."""
    try:
        (low,), (high,) = described.band(**asked)
    except ConversionError:
        if isinstance(described, Shuffled):
            raise
        return math.inf, math.inf
    return low, high


def _over_epsilon(described: Deployment, given: Given) -> _Sweep:
    if "top" not in given:
        raise ParameterError("top", "given for the delta curve", None)
    top = checks.positive("top", given["top"])
    return _Sweep([top * i / 20 for i in range(21)], lambda some: described.band(epsilon=some))


def _over_alpha(described: Deployment, _given: Given) -> _Sweep:
    """All at once: most of the work is the same for every point."""
    at = [i / 24 for i in range(25)]
    return _Sweep(at, lambda some: described.band(alpha=some), first=len(at))


_CURVES: dict[str, Callable[[Deployment, Given], _Sweep]] = {
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
