"""What a worker computes: parameters in, JSON-ready answers out, by the code of the command line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shuffledp import checks
from shuffledp.cli.options import protocol, question, randomizer, settings
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval
from shuffledp.protocols import Shuffled, calibrate, calibrate_sigma, pair_values
from shuffledp.protocols.shuffled import QUESTIONS
from shuffledp.web.fields import CROWD, MECHANISM
from shuffledp.web.same import command_line, snippet

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
    """As ``shuffledp compare --json``, and the theorems that say nothing here."""
    asked = _asked(given)
    values, silent = _deployment(given).survey(**asked)
    return {
        "quantity": QUESTIONS[next(iter(asked))],
        "bounds": [value.to_dict() for value in values],
        "silent": silent,
    }


def curve(given: Given) -> dict[str, Any]:
    """The next points of a curve, coarse to fine, as many as a slice of time allows."""
    deployment = _deployment(given)
    if "curve" not in given:
        raise ParameterError("curve", "given: users, delta or tradeoff", None)
    abscissas, ask = _CURVES[given["curve"]](deployment, given)
    start = max(int(given.get("start", 0)), 0)
    order = _coarse_to_fine(len(abscissas))[start:]
    began, points = time.perf_counter(), []
    for index in order:
        interval = ask(abscissas[index])
        points.append({"x": abscissas[index], "lower": interval.lower, "upper": interval.upper})
        if time.perf_counter() - began > SLICE:
            break
    done = start + len(points)
    return {
        "curve": given["curve"],
        "points": points,
        "next": done if done < len(abscissas) else None,
        "total": len(abscissas),
    }


def calibration(given: Given) -> dict[str, Any]:
    """As ``shuffledp calibrate --json``."""
    for name in ("find", "epsilon", "delta"):
        if name not in given:
            raise ParameterError(name, "given", None)
    target = {"epsilon": given["epsilon"], "delta": given["delta"]}
    mechanism: dict[str, Any] = {name: given.get(name) for name in MECHANISM}
    mechanism["mechanism"] = given.get("mechanism", "ldp")
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
        )
        shown = {k: v for k, v in given.items() if k not in ("sigma", "find", "scalar", *target)}
        return {
            "find": "sigma",
            "value": found.sigma,
            "epsilon": found.achieved.to_dict(),
            "target": target,
            "command": command_line("calibrate", shown, target),
        }
    budget = mechanism.pop("eps0")
    kept: dict[str, Any] = {"n": given.get("n")} if find == "eps0" else {"eps0": budget}
    result = calibrate(lambda eps0: randomizer(eps0=eps0, **mechanism), **target, **kept)
    shown = {k: v for k, v in mechanism.items() if v is not None} | kept
    return {
        "find": find,
        "value": result.value,
        "delta": result.achieved.to_dict(),
        "target": target,
        "command": command_line("calibrate", shown, target),
    }


def _deployment(given: Given) -> Shuffled:
    named = {name: given.get(name) for name in (*MECHANISM, *CROWD)}
    named["mechanism"] = given.get("mechanism", "ldp")
    return protocol(**named)


def _asked(given: Given) -> dict[str, float]:
    return question(**{name: given.get(name) for name in QUESTIONS})


Ask = Callable[[Any], Interval]


def _over_users(deployment: Shuffled, given: Given) -> tuple[list[Any], Ask]:
    """The question asked, for crowds from a thirtieth to thirty times as large."""
    asked = _asked(given)
    low = max(2.0, deployment.crowd / 30.0)
    high = max(min(deployment.crowd * 30.0, 1e12), 10.0 * low)
    crowds = sorted({round(low * (high / low) ** (i / 16)) for i in range(17)})
    alone = replace(deployment, minimum_batch=None, colluders=0)
    return [n for n in crowds if n <= 10**12], lambda n: replace(alone, n=n).ask(**asked)


def _over_epsilon(deployment: Shuffled, given: Given) -> tuple[list[Any], Ask]:
    if "top" not in given:
        raise ParameterError("top", "given for the delta curve", None)
    top = checks.positive("top", given["top"])
    return [top * i / 20 for i in range(21)], lambda epsilon: deployment.delta(epsilon)


def _over_alpha(deployment: Shuffled, _given: Given) -> tuple[list[Any], Ask]:
    return [i / 12 for i in range(13)], lambda alpha: deployment.tradeoff(alpha)


_CURVES: dict[str, Callable[[Shuffled, Given], tuple[list[Any], Ask]]] = {
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
