"""What a rule promises, against adversaries that look before they spend."""

import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from shuffledp import (
    KRR,
    LDP,
    BudgetExceededError,
    Gaussian,
    LedgerError,
    ParameterError,
    Shuffled,
)
from shuffledp.ledger import Entry, Guarantee, Ledger, Renyi, Rule, Sum, planned, renyi
from shuffledp.ledger.divergences import divergence, largest_divergence
from shuffledp.ledger.rules import RuleMaker, Undeclared, restore
from tests.ledger.adversary import Adversary, one_user, pair

DAILY = Shuffled(KRR(16, eps0=1.0), n=10_000)
ONE = one_user(0.1)
LAST = Guarantee("0.12839", "0.01")
EPSILON, DELTA = Decimal("0.2284"), Decimal("0.01")


def test_looking_first_never_breaks_the_total(tmp_path: Path) -> None:
    """One report of one user, then by what it said two more, or a stated guarantee. Where a book
    admits both ways, the one who looks leaks 0.0147 where 0.01 was promised."""
    book = Ledger.open(tmp_path / "book.db")
    ways = {"more": [ONE, ONE], "stated": [LAST]}
    admitted: list[list[object]] = [[]]
    for name, way in ways.items():
        book.create(name, str(EPSILON), str(DELTA))
        try:
            for what in [ONE, *way]:
                book.spend(name, what)
            admitted.append(list(way))
        except BudgetExceededError:
            pass
    t = math.exp(float(EPSILON))
    leak = sum(p * max(_leaked(way, t * q / p) for way in admitted) for p, q in pair(ONE))
    assert leak <= float(DELTA) * (1 + 1e-12)


def _leaked(way: list[object], t: float) -> float:
    if not way:
        return max(1.0 - t, 0.0)
    return sum(p * _leaked(way[1:], t * q / p) for p, q in pair(way[0]) if p)  # type: ignore[arg-type]


def test_the_adversary_finds_what_is_there() -> None:
    """A negative control: composing whatever was spent, as if it had been planned, is not enough."""
    leak = Adversary(Undeclared(EPSILON, DELTA), [ONE, LAST], depth=3).leak()
    assert leak == pytest.approx(0.01474, abs=2e-5)
    assert leak > 1.4 * float(DELTA)


KINDS: list[Shuffled | Guarantee] = [
    ONE,
    one_user(0.35),
    LAST,
    Guarantee("0.05", "0.003"),
    Guarantee("0.2"),
]


def _makers(chance: random.Random, kinds: list[Shuffled | Guarantee]) -> list[RuleMaker]:
    counts = [(what, chance.randint(1, 2)) for what in kinds]
    return [
        Sum,
        renyi(),
        renyi(order=chance.choice([1.5, 4.0, 12.0, 60.0]), stated_delta="0.009"),
        renyi(expected=kinds[0]),
        planned(*counts),
        planned((kinds[0], None), *kinds[1:]),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_no_policy_leaks_more_than_the_total(seed: int) -> None:
    chance = random.Random(seed)
    kinds = chance.sample(KINDS, 3)
    epsilon = Decimal(chance.randint(150, 900)).scaleb(-3)
    delta = Decimal(chance.choice(["0.01", "0.0131", "0.03"]))
    tried = False
    for make in _makers(chance, kinds):
        try:
            rule = make(epsilon, delta)
        except (BudgetExceededError, ParameterError):  # no such plan, no such order
            continue
        adversary = Adversary(rule, kinds)
        leak = adversary.leak()
        assert leak <= float(delta) * (1 + 1e-9), (rule, kinds)
        tried |= any(path is not None for path in adversary.admitted.values())
    assert tried


def test_sums_and_plans_are_not_wasteful() -> None:
    """Attained exactly: the adversaries have power, the rules charge no more than they must."""
    kinds = [LAST, Guarantee("0.1")]
    assert Adversary(Sum(EPSILON, DELTA), kinds, depth=2).leak() == pytest.approx(
        float(DELTA), rel=0.2, abs=0.0
    )
    rule = planned((ONE, 3))(EPSILON, DELTA)
    alone = Adversary(rule, [ONE], depth=3).leak()
    assert 0.5 * float(DELTA) < alone <= float(DELTA)


def test_the_divergence_of_a_stated_guarantee() -> None:
    for epsilon, order in [("0.1", 27.5), ("3", 1.0625), ("1e-40", 2.0), ("2", 4000.0)]:
        with mpmath.workdps(200):
            e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
            exact = mpmath.log(
                (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
            ) / (a - 1)
            found = mpmath.mpf(divergence(Guarantee(epsilon), order).numerator)
            found /= divergence(Guarantee(epsilon), order).denominator
            assert exact <= found <= exact * (1 + mpmath.mpf("1e-25"))
    assert divergence(Guarantee("1e8"), 2.0) == 10**8
    assert divergence(Guarantee(0), 2.0) == 0


def test_the_largest_divergence_converts_back() -> None:
    for epsilon, delta, order in [
        ("1", "1e-6", 22.0),
        ("0.2", "1e-30", 900.0),
        ("60", "1e-9", 1.5),
    ]:
        limit = largest_divergence(Decimal(epsilon), Fraction(delta), order)
        with mpmath.workdps(60):
            a, b = mpmath.mpf(order), mpmath.mpf(str(limit))
            power = (a - 1) * (b - mpmath.mpf(epsilon)) + (a - 1) * mpmath.log(a - 1)
            found = mpmath.exp(power - a * mpmath.log(a))
            target = mpmath.mpf(delta)
            assert target * (1 - mpmath.mpf("1e-7")) <= found <= target


def test_renyi_pays_for_many_small_spends(ledger: Ledger) -> None:
    """Spent one by one, however chosen: sums hold far fewer, a plan not many more."""
    small = Shuffled(LDP(0.5), n=100_000)
    ledger.create("sum", "1", "1e-6")
    ledger.create("renyi", "1", "1e-6", renyi(expected=small))
    ledger.create("planned", "1", "1e-6", planned((small, None)))
    fit = {name: ledger.remaining(name, small) for name in ("renyi", "planned")}
    each = ledger.spend("sum", small).lost["epsilon"]
    assert fit["renyi"] > 10 / each
    assert 0.8 * fit["planned"] < fit["renyi"] < fit["planned"]
    ledger.spend("renyi", small, fit["renyi"])
    assert ledger.remaining("renyi", small) == 0
    ledger.spend("planned", small, fit["planned"])
    with pytest.raises(BudgetExceededError, match=r"more rounds of .* than its rule"):
        ledger.spend("planned", small)


def test_renyi_keeps_a_part_of_delta_for_stated_ones(ledger: Ledger) -> None:
    ledger.create("users", "2", "1e-6", renyi(stated_delta="3e-7"))
    ledger.spend("users", Guarantee("0.01", "1e-7"), 3)
    with pytest.raises(BudgetExceededError, match="more stated delta than"):
        ledger.spend("users", Guarantee("0.01", "1e-30"))
    assert ledger.spend("users", Guarantee("0.01")).number == 2
    ledger.spend("users", Shuffled(Gaussian(90.0), 1000))
    with pytest.raises(LedgerError, match="cannot be computed"):
        ledger.spend("users", Shuffled(LDP(1.0, 1e-9), 1000))
    left = ledger.balance("users").left
    assert left["stated delta"] == 0
    assert left["divergence"] > 0


def test_a_plan_holds_its_kinds_and_no_others(ledger: Ledger) -> None:
    made = ledger.create("users", "2", "1e-6", planned((DAILY, 3), Guarantee("0.1", "1e-9")))
    assert made.lost == {"kind 1": 0, "kind 2": 0}
    receipt = ledger.spend("users", Guarantee("0.1", "1e-9"))
    assert receipt.lost == {"kind 1": 0, "kind 2": 1}
    assert ledger.remaining("users", DAILY) == 3
    ledger.spend("users", DAILY, 2)
    for what, rounds in ((Guarantee("0.1", "1e-9"), 1), (DAILY, 2)):
        with pytest.raises(BudgetExceededError, match="than its rule allows"):
            ledger.spend("users", what, rounds)
    other = Shuffled(KRR(16, eps0=0.5), n=10_000)
    assert ledger.remaining("users", other) == 0
    with pytest.raises(BudgetExceededError, match=r"not in the plan .*16-ary .*; stated \(0.1"):
        ledger.spend("users", other)
    assert [each.number for each in ledger.history("users")] == [1, 2]


def test_a_plan_must_fit(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError, match=r"The plan loses epsilon = 0\.3"):
        ledger.create("users", "0.29", "0", planned((Guarantee("0.1"), 3)))
    with pytest.raises(BudgetExceededError, match="Not one of stated"):
        ledger.create("users", "0.29", "0", planned((Guarantee("0.3"), None)))
    assert ledger.create("users", "0.3", "0", planned((Guarantee("0.1"), None))).rule.limits == {
        "kind 1": 3
    }
    for wrong in ([], [(DAILY, None), (Guarantee("1"), None)], [(DAILY, 0)], ["x"]):
        with pytest.raises(ParameterError):
            ledger.create("others", "1", "0", planned(*wrong))  # type: ignore[arg-type]
    assert ledger.cohorts() == ["users"]


def test_rules_that_make_no_sense(ledger: Ledger) -> None:
    for make, message in (
        (renyi(order=1.0), "'order'"),
        (renyi(order=1.01), "leaves a divergence > 0"),
        (renyi(stated_delta="1e-6"), "'stated_delta' parameter must be less than delta"),
        ("sum", "'rule'"),
        (lambda epsilon, delta: None, "'rule'"),
    ):
        with pytest.raises(ParameterError, match=message):
            ledger.create("users", "1", "1e-6", make)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="> 0 for the rule renyi"):
        ledger.create("users", "1", "0", renyi())
    with pytest.raises(ParameterError, match="'epsilon' parameter must be more"):
        ledger.create("users", "0", "1e-6", renyi(expected=DAILY))


@pytest.mark.parametrize(
    "make", [Sum, renyi(order=9.0), planned((DAILY, 2), Guarantee("0.1"))], ids=["s", "r", "p"]
)
def test_a_rule_is_on_every_receipt_and_stays(ledger: Ledger, store: str, make: RuleMaker) -> None:
    rule = ledger.create("users", "3", "1e-6", make).rule
    first = ledger.spend("users", DAILY)
    second = Ledger.open(store).spend("users", Guarantee("0.1"))
    assert first.rule == second.rule == rule == Ledger.open(store).balance("users").rule
    assert second.to_dict()["rule"] == rule.to_dict()
    assert second.to_dict()["promise"] == rule.promise
    assert ledger.history("users") == [first, second]
    assert restore(json.loads(json.dumps(rule.to_dict())), rule.epsilon, rule.delta) == rule


def test_sum_charges_a_protocol_at_a_small_delta_or_the_rest(ledger: Ledger) -> None:
    alone = Decimal(DAILY.epsilon(1e-6).upper)
    ledger.create("users", f"{alone:.20f}"[:-1] + "9", "1e-6")
    assert ledger.spend("users", DAILY).lost["delta"] == Decimal("1e-6")  # fits only so
    ledger.create("rich", "9", "1e-6")
    deltas = [ledger.spend("rich", DAILY).lost["delta"] for _ in range(3)]
    assert deltas == [Decimal("1e-8"), Decimal("1.99e-8"), Decimal("2.9701e-8")]
    assert ledger.spend("rich", one_user(0.2)).lost["delta"] == deltas[-1]  # pure: no delta


def test_rules_count_rounds_spent_at_once_like_rounds_one_by_one() -> None:
    for rule in (renyi()(Decimal(3), Decimal("1e-6")), planned((DAILY, 5))(Decimal(3), DELTA)):
        start = dict.fromkeys(rule.limits, Decimal(0))
        at_once = rule.charged(start, Entry(DAILY, 5), list)
        one_by_one = start
        for _ in range(5):
            one_by_one = rule.charged(one_by_one, Entry(DAILY, 1), list)
        assert at_once == one_by_one


def test_all_rules_have_their_words() -> None:
    rules: list[Rule] = [make(Decimal(3), DELTA) for make in (Sum, renyi(), planned(DAILY))]
    assert isinstance(rules[1], Renyi)
    words = [str(rule) for rule in [*rules, Undeclared(Decimal(3), DELTA)]]
    assert len(set(words)) == 4
    assert "by looking at earlier results" in words[0]
    assert "only if all spends were fixed in advance" in words[3]
