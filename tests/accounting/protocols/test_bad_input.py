"""Each bad input names the parameter, the condition and the value; nothing else escapes."""

import math

import pytest

from shuffledp import LDP, ParameterError, Shuffled, ShuffleDPError, UnknownTheoremError

NAN, INF = math.nan, math.inf
WORDS = ["1", None, True, False, [1.0], 1j]


def _check(call, parameter: str, condition: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    error = caught.value
    assert error.parameter == parameter
    assert condition in error.condition
    message = str(error)
    assert repr(parameter) in message
    assert error.condition in message
    assert repr(value)[:20] in message or len(repr(value)) > 100  # a huge number may be shortened
    assert "Got" in message
    assert isinstance(error, ValueError)
    assert isinstance(error, ShuffleDPError)
    assert error.exit_code == 2


@pytest.mark.parametrize("value", [0, 0.0, -1, -1e-300, NAN, INF, -INF, 10**400, *WORDS])
def test_eps0(value) -> None:
    _check(lambda: LDP(value), "eps0", "> 0", value)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.0, 2.0, NAN, INF, *WORDS])
def test_delta0(value) -> None:
    _check(lambda: LDP(1.0, delta0=value), "delta0", "between 0 and 1", value)


@pytest.mark.parametrize("value", [0, 2.5, -1, 1e13, 10**12 + 1, 10**400, NAN, INF, *WORDS])
def test_n(value) -> None:
    _check(lambda: Shuffled(LDP(1.0), value), "n", "integer from 1 to 1e12", value)


@pytest.mark.parametrize("value", [0, 0.0, 1, 1.0, -1e-9, 1.5, NAN, INF, *WORDS])
def test_delta(value) -> None:
    _check(lambda: Shuffled(LDP(1.0), 10).epsilon(delta=value), "delta", "between 0 and 1", value)


@pytest.mark.parametrize("value", [-1e-9, -1, NAN, INF, 10**400, *WORDS])
def test_epsilon(value) -> None:
    _check(lambda: Shuffled(LDP(1.0), 10).delta(epsilon=value), "epsilon", ">= 0", value)


@pytest.mark.parametrize("value", [1, 1.0, 0, -2, NAN, INF, *WORDS])
def test_order(value) -> None:
    _check(lambda: Shuffled(LDP(1.0), 10).renyi(order=value), "order", "> 1", value)


@pytest.mark.parametrize("value", [-1e-9, 1.0000001, 2, NAN, INF, *WORDS])
def test_alpha(value) -> None:
    _check(lambda: Shuffled(LDP(1.0), 10).tradeoff(alpha=value), "alpha", "[0, 1]", value)


@pytest.mark.parametrize("method", ["ask", "bounds", "survey"])
@pytest.mark.parametrize("question", [{}, {"delta": 1e-6, "epsilon": 0.1}, {"gamma": 1.0}])
def test_questions(method: str, question) -> None:
    with pytest.raises(ParameterError, match="exactly one of") as caught:
        getattr(Shuffled(LDP(1.0), 10), method)(**question)
    assert str(sorted(question)) in str(caught.value)


@pytest.mark.parametrize("value", [1.0, "LDP", LDP, None])
def test_randomizer(value) -> None:
    with pytest.raises(ParameterError, match="randomizer"):
        Shuffled(value, 10)


def test_unknown_theorem() -> None:
    protocol = Shuffled(LDP(1.0), 10)
    for call in (
        lambda: protocol.bound("strongest-clones", delta=1e-6),
        lambda: protocol.curve("strongest-clones"),
    ):
        with pytest.raises(UnknownTheoremError, match="'theorem' parameter") as caught:
            call()
        assert "strongest-clones" in str(caught.value)


def test_numpy_numbers_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    protocol = Shuffled(LDP(np.float64(1.0)), np.int64(10))
    assert protocol == Shuffled(LDP(1.0), 10)
    assert type(protocol.n) is int
    assert type(protocol.randomizer.eps0) is float
