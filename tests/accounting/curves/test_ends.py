"""Where delta vanishes and where a search ends are different things."""

import math

import pytest

from shuffledp import (
    LDP,
    Channel,
    ChannelFamily,
    CheckIn,
    ConversionError,
    Gaussian,
    InternalError,
    Personalized,
    Repeated,
    Rounds,
    Shuffled,
    Stated,
)
from shuffledp.accounting.bounds.gaussian_proven import RevealedRounds
from shuffledp.accounting.bounds.tightest import Tightest
from shuffledp.accounting.curves import (
    NEVER,
    GDPCurve,
    ProfileCurve,
    PureEnd,
    SearchLimit,
    TradeoffFunction,
)
from shuffledp.accounting.curves.convert import tradeoff_from_profile
from shuffledp.numerics.enclosure import Enclosure


def _half(epsilon: float, _width: float) -> Enclosure:
    value = 0.5 * math.exp(-0.01 * min(epsilon, 1e4))
    return Enclosure(value, value)


def test_a_search_that_ends_is_not_a_curve_that_ends() -> None:
    curve = ProfileCurve(_half, NEVER, limit=SearchLimit(60.0))
    assert curve.delta(60.0) == _half(60.0, 0.0).upper
    with pytest.raises(ConversionError, match="No epsilon up to 60 reaches"):
        curve.epsilon(1e-6)
    pure = ProfileCurve(_half, PureEnd(60.0))
    assert pure.delta(60.0) == 0.0
    assert pure.epsilon(1e-6) <= 60.0


def test_slopes_not_tried_count_in_full() -> None:
    def gaussian(epsilon: float, _width: float) -> Enclosure:
        value = GDPCurve(3.0).delta(epsilon)
        return Enclosure(value * (1.0 - 1e-9), value)

    for alpha in (0.0, 1e-12, 1e-3, 0.3):
        truth = GDPCurve(3.0).tradeoff(alpha)
        found = tradeoff_from_profile(gaussian, gaussian, alpha, SearchLimit(2.0))
        assert found.lower <= truth * (1.0 + 1e-9)
        assert truth * (1.0 - 1e-9) <= found.upper
    # a mass that one law alone has is left at every slope
    assert tradeoff_from_profile(gaussian, gaussian, 0.0, SearchLimit(2.0), 0.1).upper == 0.9


def test_what_one_value_alone_can_report() -> None:
    channel = Channel([[0.7, 0.3, 0.0], [0.3, 0.6, 0.1]])
    assert Shuffled(channel, 3).tradeoff(0.0).upper == pytest.approx(0.9)


def test_very_loud_gaussian_rounds_are_still_undecided_at_alpha_0() -> None:
    """Every outcome is possible under both data sets: no attack without false alarms finds any."""
    assert Shuffled(Repeated(Gaussian(0.2, 1.0), 60), 1).tradeoff(0.0).upper == 1.0


@pytest.mark.parametrize("p", [1e-300, 1e-4, 0.3])
@pytest.mark.parametrize("order", [1.0 + 1e-6, 2.0, 37.0, 38.0, 500.0])
def test_renyi_of_revealed_rounds(p: float, order: float) -> None:
    """ln(1 - p + p e^x) / (order - 1), in 60 digits."""
    from decimal import Decimal, getcontext

    getcontext().prec = 400
    exponent = Decimal(order) * (Decimal(order) - 1) / 2
    truth = (1 - Decimal(p) + Decimal(p) * exponent.exp()).ln() / (Decimal(order) - 1)
    found = RevealedRounds(1.0, 3, p).renyi(order)
    assert 0.0 <= float(3 * truth) <= found <= float(3 * truth) * (1.0 + 1e-9) + 1e-300


@pytest.mark.parametrize("epsilon", [599.0, 601.0, 800.0, 1e6])
def test_stated_rounds_of_any_budget(epsilon: float) -> None:
    rounds = Rounds([(Stated(epsilon, 1e-9), 2), Stated(1.0)])
    assert rounds.delta(epsilon).upper == pytest.approx(1.0)
    found = rounds.epsilon(1e-6).upper
    assert 2.0 * epsilon < found <= 2.0 * epsilon * (1.0 + 1e-4) + 1.1
    assert rounds.delta(2.0 * epsilon + 1.01).upper == pytest.approx(2e-9, rel=1e-6, abs=0.0)


def test_approximate_reports_of_any_budget() -> None:
    for eps0 in (300.0, 690.0, 800.0, 1e300):
        reports = Shuffled(LDP(eps0, 1e-6), 5)
        assert 0.0 <= reports.tradeoff(0.1).lower <= reports.tradeoff(0.1).upper < 1e-3
        assert reports.epsilon(1e-5).upper <= eps0
    # beside the pure pair, 1 - 1/e, stand delta0 (1 + e) / E times 2 (n - 1) + 1
    pure = -math.expm1(-1.0)
    found = Shuffled(LDP(800.0, 1e-6), 5).delta(799.0).upper
    assert pure + 9.0 * 1e-6 * math.exp(-1.0) <= found <= (pure + 1e-5) * (1.0 + 1e-9)


@pytest.mark.parametrize("rate", [1e-270, 3.990755015341093e-291, 5e-324])
def test_hardly_any_reports_hardly_leak(rate: float) -> None:
    rounds = Shuffled(Repeated(CheckIn(LDP(2.965), rate), 2), 2)
    assert rounds.delta(0.489).lower <= 2.0 * rate
    assert rounds.epsilon(7e-6).lower == 0.0


def test_deltas_whose_inverse_overflows() -> None:
    assert len(Shuffled(LDP(0.4), 1).bounds(delta=5e-324)) > 5


def test_lowered_by_more_than_there_is() -> None:
    f = TradeoffFunction.from_pair([0.7, 0.3], [0.3, 0.7])
    for slack in (0.3, 0.5, 1.0, 1.5, 1e300):
        assert f.lowered(slack)(0.0) == 0.0
    assert f.lowered(0.1)(0.2) == pytest.approx(0.2)


def test_a_finite_family_ends_where_its_own_law_does() -> None:
    def matrix(eps: float) -> list[list[float]]:
        big = math.exp(eps * (1.0 + 9e-10))
        return [[big / (1.0 + big), 1.0 / (1.0 + big)], [1.0 / (1.0 + big), big / (1.0 + big)]]

    found = Personalized(ChannelFamily(matrix), [30.0], budgets_visible=False)
    assert found.guarantees(delta=1e-9).worst.interval.upper > 30.0
    assert found.guarantees(epsilon=30.0).worst.interval.upper >= 2.69e-8


def test_empty_answers_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InternalError, match="empty enclosure"):
        Enclosure(0.2, 0.4).narrowed(Enclosure(0.5, 0.6))
    with pytest.raises(InternalError, match="empty enclosure"):
        Enclosure(math.nan, 1.0)
    ends = iter([[0.3, 0.4], [0.2, 0.5]])
    monkeypatch.setattr(Tightest, "sketched", lambda *_: next(ends))
    with pytest.raises(InternalError, match=r"empty band: 0.5 above 0.4 at delta=1e-06.*n=7"):
        Shuffled(LDP(1.0), 7).band(delta=[1e-5, 1e-6])
