"""Answers of the library against the truth: an interval that holds it, or an error on purpose."""

from __future__ import annotations

import functools
import itertools
import math
import random
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

import shuffledp
from shuffledp import Interval, ShuffleDPError, Status, Value
from shuffledp.errors import InternalError
from shuffledp.labels import Direction
from tests.adversary import shapes
from tests.adversary.deployments import Case, Design, Spec
from tests.oracles import counted as counted_truth
from tests.oracles import mechanisms, truth
from tests.oracles.mechanisms import Rows
from tests.oracles.truth import World

QUANTITIES = {"delta": "epsilon", "epsilon": "delta", "order": "renyi", "alpha": "tradeoff"}
NAMES = {**{name: getattr(shuffledp, name) for name in shuffledp.__all__}, "math": math}
ORDINARY_BITS, EXTREME_BITS = 400, 3000


@dataclass(frozen=True)
class Fault:
    """What is wrong with an answer."""

    kind: str
    case: object
    words: str

    place: str = ""
    """Where it came from, as far as it is known."""

    @property
    def signature(self) -> str:
        """Faults alike in this are likely one fault."""
        return f"{self.kind} {self.place}"

    def __str__(self) -> str:
        return f"{self.kind}: {self.case}\n    {self.words} {self.place}"


@dataclass(frozen=True)
class Scene:
    """Whom an interval is about: all worlds of one victim."""

    worlds: list[World]
    whole: bool
    """No attack is left out, so that what is said to leak must be among these worlds."""


class TooLarge(Exception):
    """More worlds than we care to visit."""


def build(spec: Spec) -> Any:
    """The object of the library."""
    return eval(str(spec), dict(NAMES))


# --- the truth of a deployment -------------------------------------------------------------------


def rows_of(spec: Spec) -> list[Rows]:
    """The laws of a report; several for "any randomizer"."""
    if spec.name == "LDP":
        pure = mechanisms.any_ldp(spec["eps0"])
        failing = spec.get("delta0", 0.0)
        return pure + (mechanisms.any_ldp(spec["eps0"], failing) if failing else [])
    if spec.name in ("rappor", "optimised_unary"):
        built = build(spec)
        return [mechanisms.unary(built.k, built.keep, built.flip, built.lose)]
    given = dict(spec.given)
    if "randomizer" not in given:
        return [mechanisms.ROWS[spec.name](**given)]
    inner = given.pop("randomizer")
    return [mechanisms.ROWS[spec.name](randomizer=rows, **given) for rows in rows_of(inner)]


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Spec):
        yield value.name
        for _, inside in value.given:
            yield from _names(inside)
    elif isinstance(value, tuple):
        for inside in value:
            yield from _names(inside)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Spec):
        for _, inside in value.given:
            yield from _numbers(inside)
    elif isinstance(value, tuple):
        for inside in value:
            yield from _numbers(inside)
    elif isinstance(value, float):
        yield value


def bits(deployment: Spec) -> int:
    """Enough to tell what cancels."""
    extreme = any(x > 30.0 or 0.0 < x < 1e-20 or 0.0 < 1.0 - x < 1e-9 for x in _numbers(deployment))
    return EXTREME_BITS if extreme else ORDINARY_BITS


def _afford(rows: Rows, others: int, limit: int) -> None:
    inputs, outputs = len(rows), len(rows[0])
    data_sets = math.comb(others + inputs - 1, others)
    histograms = math.comb(others + outputs, others + 1)
    if data_sets * inputs * inputs * histograms > limit:
        raise TooLarge


def _one_round(spec: Spec, limit: int) -> list[World]:
    """A Shuffled without repetitions."""
    randomizer, drawn = spec["randomizer"], None
    if randomizer.name == "Subsampled":
        randomizer, drawn = randomizer["randomizer"], randomizer["m"]
    crowd = (spec.get("minimum_batch") or spec["n"]) - spec.get("colluders", 0)
    if crowd < 1 or (drawn is not None and drawn > crowd):
        return []
    worlds: list[World] = []
    for rows in rows_of(randomizer):
        _afford(rows, crowd - 1, limit)
        some = truth.shuffled(rows, crowd) if drawn is None else truth.drawn(rows, crowd, drawn)
        worlds += some
    return worlds


def _repeated(worlds: list[World], rounds: int, limit: int) -> list[World]:
    if rounds == 1:
        return worlds
    if sum(math.comb(len(world) + rounds - 1, rounds) for world in worlds) > limit:
        raise TooLarge
    return [truth.repeated(world, rounds) for world in worlds]


def _shuffled(spec: Spec, limit: int) -> list[World]:
    randomizer = spec["randomizer"]
    if randomizer.name == "Repeated":
        once = spec.but(randomizer=randomizer["randomizer"])
        return _repeated(_one_round(once, limit), randomizer["rounds"], limit)
    return _one_round(spec, limit)


def _rounds(spec: Spec, limit: int) -> Scene:
    """Every choice of a pair of data sets in each release; some choices if they are too many."""
    parts, whole = [], True
    for entry, times in spec["entries"]:
        if entry.name == "Stated":
            worlds = [truth.stated(entry["epsilon"], entry["delta"])]
        elif entry.name in shapes.COUNTED:
            worlds, all_of_them = _victim_first(entry)
            whole = whole and all_of_them
        else:
            worlds = _shuffled(entry, limit)
        parts.append(_repeated(worlds, times, limit))
    counted = any(entry.name in shapes.COUNTED for entry, _ in spec["entries"])
    turned = [[list(map(counted_truth.swapped, part)) for part in parts]] if counted else []
    ways = itertools.chain.from_iterable(itertools.product(*each) for each in [parts, *turned])
    choices = list(itertools.islice(ways, 10_000))
    cells = max((math.prod(len(world) for world in choice) for choice in choices), default=1)
    if len(choices) * cells > limit:
        keep = limit // cells
        if keep < 1:
            raise TooLarge
        choices, whole = random.Random(0).sample(choices, min(keep, len(choices))), False
    return Scene([functools.reduce(truth.together, choice) for choice in choices], whole)


def _victim_first(spec: Spec) -> tuple[list[World], bool]:
    try:
        return shapes.with_the_victim(spec, build)
    except shapes.TooManyOutcomes:
        raise TooLarge from None


def _member(family: Spec, eps: float, deltas: float | None, spread: float) -> Rows:
    if family.name == "KRRFamily":
        return mechanisms.krr(family["k"], eps)
    if family.name == "LaplaceFamily":
        return mechanisms.laplace(eps)
    if family.name == "GaussianFamily":
        assert deltas is not None
        sigma = math.sqrt(2.0 * math.log(1.25 / deltas)) / eps
        return mechanisms.gaussian(sigma, 1.0, spread=spread)
    design = family["matrix"]
    assert isinstance(design, Design)
    return mechanisms.channel(eval(str(design), {"math": math})(eps))


def _personalized(spec: Spec, limit: int) -> dict[float, Scene]:
    budgets, deltas = spec["budgets"], spec.get("deltas")
    members = {
        eps: _member(spec["family"], eps, deltas, spread=1.0) for eps in sorted(set(budgets))
    }
    whole = spec["family"].name in ("KRRFamily", "ChannelFamily")
    found = {}
    for eps in members:
        others = list(budgets)
        others.remove(eps)
        if spec["budgets_visible"]:
            others = [each for each in others if each == eps]
        gone = min(spec.get("colluders", 0), len(others))
        _afford(members[eps], len(others) - gone, limit // 10)
        worlds = truth.personal(members[eps], [members[each] for each in others], gone)
        found[eps] = Scene(list(worlds), whole)
    return found


@functools.lru_cache(maxsize=4)
def scenes(deployment: Spec, limit: int) -> dict[float, Scene]:
    """What may be seen, by the budget of the victim (0 where all users are alike)."""
    if deployment.name == "Personalized":
        return _personalized(deployment, limit)
    if deployment.name == "Rounds":
        scene = _rounds(deployment, limit)
    elif deployment.name in shapes.COUNTED:
        if shapes.crowd_of(deployment) < 1:
            return {0.0: Scene([], True)}
        worlds, whole = _victim_first(deployment)
        scene = Scene([*worlds, *map(counted_truth.swapped, worlds)], whole)
        return {0.0: scene}
    else:
        scene = Scene(_shuffled(deployment, limit), True)
    binned = not mechanisms.BINNED.isdisjoint(_names(deployment))
    return {0.0: Scene(scene.worlds, scene.whole and not binned)}


# --- judgement ------------------------------------------------------------------------------------


def judge(case: Case, limit: int = 20_000) -> Fault | None:
    """Ask the library, compute the truth, compare."""
    try:
        answers = ask(case)
    except InternalError as error:
        return crash(case, error)
    except ShuffleDPError:
        return None
    except Exception as error:
        return crash(case, error)
    for budget, interval in answers.items():
        fault = _compare(case, budget, interval, limit)
        if fault is not None:
            return fault
    return None


def crash(case: object, error: Exception) -> Fault:
    """Anything that is not an error on purpose; an InternalError only says that it is ours."""
    source = error.__cause__ or error
    last = traceback.extract_tb(source.__traceback__)[-1]
    place = f"{last.filename.rpartition('shuffledp/')[2]}:{last.lineno}"
    return Fault("crash", case, f"{type(error).__name__}: {error}", place)


def ask(case: Case) -> dict[float, Interval]:
    """The library's intervals, by the budget of the victim."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deployment = build(case.deployment)
        if case.deployment.name == "Personalized":
            answer = deployment.guarantees(**{case.given: case.value})
            return {each.eps0: each.interval for each in answer.classes}
        return {0.0: deployment.ask(**{case.given: case.value})}


def _compare(case: Case, budget: float, interval: Interval, limit: int) -> Fault | None:
    before = ctx.prec
    ctx.prec = bits(case.deployment)
    try:
        scene = scenes(case.deployment, limit).get(budget)
        if scene is None:
            return Fault("class", case, f"no user has the budget {budget!r}")
        if not scene.worlds:
            return None
        return compare(case, interval, scene)
    finally:
        ctx.prec = before


def compare(case: Case, interval: Interval, scene: Scene) -> Fault | None:
    """The guaranteed end against every world, the leaked end against the worst one."""
    lower, upper = interval.lower, interval.upper
    if math.isnan(lower) or math.isnan(upper) or lower < 0.0 or not lower <= upper:
        return Fault("nonsense", case, f"{lower!r} to {upper!r}")
    if case.given == "alpha":
        value = _least_tradeoff(scene.worlds, case.value)
        unsound, overstated = arb(lower) > value, arb(upper) < value
        shown = value
    elif case.given == "delta":
        at_upper, at_lower = (
            truth.largest(truth.delta(world, end) for world in scene.worlds)
            if math.isfinite(end)
            else arb(0)
            for end in (upper, lower)
        )
        unsound = at_upper > arb(case.value)
        overstated = lower > 0.0 and at_lower < arb(case.value)
        shown = at_upper if unsound else at_lower
    else:
        if case.given == "epsilon":
            found = truth.largest(truth.delta(world, case.value) for world in scene.worlds)
        else:
            found = truth.largest(truth.renyi(world, case.value) for world in scene.worlds)
        if found is None:
            unsound, overstated, shown = math.isfinite(upper), False, arb("inf")
        else:
            unsound, overstated, shown = arb(upper) < found, arb(lower) > found, found
    if not (unsound or (overstated and scene.whole)):
        return None
    kind = "UNSOUND" if unsound else "overstated leak"
    at = "delta there " if case.given == "delta" else ""
    words = f"[{lower!r}, {upper!r}] by {interval.theorem}, truth {at}{shown.str(20)}"
    return Fault(kind, case, words)


def _least_tradeoff(worlds: list[World], alpha: float) -> arb:
    values = [truth.tradeoff(world, alpha) for world in worlds]
    return functools.reduce(lambda a, b: b if b < a else a, values)


def judge_budget(case: Case) -> Fault | None:
    """The local budget a randomizer claims is at least that of its reports."""
    spec = case.deployment["randomizer"]
    while spec.name in ("Repeated", "Subsampled"):
        spec = spec["randomizer"]
    if not mechanisms.BINNED.isdisjoint(_names(spec)) or spec.get("delta0", 0.0):
        return None
    try:
        claimed = float(build(spec).pure)
    except InternalError as error:
        return crash(case, error)
    except ShuffleDPError:
        return None
    except Exception as error:
        return crash(case, error)
    before, ctx.prec = ctx.prec, bits(spec)
    try:
        found = truth.largest(truth.budget(rows) for rows in rows_of(spec))
        if math.isinf(claimed) or (found is not None and not arb(claimed) < found):
            return None
        return Fault("UNSOUND budget", case, f"eps0 {claimed!r}, truth {found and found.str(20)}")
    finally:
        ctx.prec = before


def judge_theorems(case: Case, limit: int = 20_000) -> Fault | None:
    """Every theorem that is proven, or that speaks of a data set, alone."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values: list[Value] = build(case.deployment).bounds(**{case.given: case.value})
    except InternalError as error:
        return crash(case, error)
    except ShuffleDPError:
        return None
    except Exception as error:
        return crash(case, error)
    for value in values:
        proven = value.status is Status.PROVEN and value.direction is Direction.UPPER
        leaked = value.direction in (Direction.LOWER, Direction.EXACT)
        if not (proven or leaked):
            continue
        trivial, endless = value.source.value(0.0), value.source.value(math.inf)
        low_is_proven = case.given == "alpha"
        as_upper = proven != low_is_proven
        interval = Interval(
            QUANTITIES[case.given],
            *((trivial, value) if as_upper else (value, endless)),
        )
        fault = _compare(case, 0.0, interval, limit)
        if fault is not None:
            return Fault(f"{fault.kind} ({value.theorem})", case, fault.words)
    return None
