"""Printed numbers: papers, peers, and the checked notes."""

import math

import mpmath
import pytest

from shuffledp import LDP
from shuffledp.accounting.bounds import get_bound
from tests.oracles import clones
from tests.oracles.balls import off

# epsilon at delta = 1e-6: n, eps0, stronger clone, standard clone, blanket Hoeffding on 2-RR
PEERS = [
    (10**3, 1.0, 0.148671, 0.182412, 0.1719),
    (10**3, 4.0, 1.85291, 3.98996, 3.539),
    (10**4, 1.0, 0.0432062, 0.0530053, 0.05067),
    (10**4, 4.0, 0.410812, 0.600909, 0.4727),
    (10**6, 1.0, 0.00351352, 0.00433452, 0.004331),
    (10**6, 4.0, 0.0342798, 0.0493071, 0.04034),
]


@pytest.mark.parametrize(("n", "eps0", "stronger", "standard", "blanket"), PEERS)
def test_epsilon_of_the_peers_table(
    n: int, eps0: float, stronger: float, standard: float, blanket: float
) -> None:
    # to the printed digits; beyond 1e5 users the enclosure is 5e-5 wide in delta
    near = 1e-5 if n > 10**5 else 5e-6
    assert get_bound("stronger-clones").curve(LDP(eps0), n).epsilon(1e-6) == pytest.approx(
        stronger, rel=near, abs=0.0
    )
    assert get_bound("feldman-2021").curve(LDP(eps0), n).epsilon(1e-6) == pytest.approx(
        standard, rel=near, abs=0.0
    )
    assert get_bound("blanket-hoeffding").curve(LDP(eps0), n).epsilon(1e-6) == pytest.approx(
        blanket, rel=3e-4, abs=0.0
    )


# paper 004, Tables 1 and 2: eps0 = 4.444, n = 1e4
EPSILONS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COROLLARY = (4.947e-5, 3.031e-6, 1.271e-7, 3.825e-9, 8.70e-11, 1.585e-12, 2.446e-14)
EXACT = (4.675e-5, 2.745e-6, 1.084e-7, 3.022e-9, 6.243e-11, 1.015e-12, 1.375e-14)


@pytest.mark.parametrize(("epsilon", "delta"), list(zip(EPSILONS, COROLLARY, strict=True)))
def test_corollary_4_3(epsilon: float, delta: float) -> None:
    found = get_bound("wang-2023").curve(LDP(4.444), 10_000).delta(epsilon)
    assert found == pytest.approx(delta, rel=6e-4, abs=0.0)


@pytest.mark.parametrize(("epsilon", "delta"), list(zip(EPSILONS, EXACT, strict=True)))
def test_exact_row(epsilon: float, delta: float) -> None:
    found = get_bound("stronger-clones").curve(LDP(4.444), 10_000).delta(epsilon)
    assert found == pytest.approx(delta, rel=5e-4, abs=0.0)  # four digits


# papers 000 and 002, order 4, n = 1e4: bound, eps0 = 1, eps0 = 2
RENYI = [
    ("girgis-2021-lower", 2.172e-4, 1.103e-3),
    ("stronger-clones", 3.176e-4, 1.947e-3),
    ("chen-2024-exact-stronger", 3.176e-4, 1.947e-3),
    ("chen-2024-exact", 4.644e-4, 3.430e-3),
    ("feldman-2021", 4.644e-4, 3.430e-3),
    ("chen-2024-gdp", 2.175e-3, 5.912e-3),
    ("girgis-2021-simple", 8.558e-3, 3.216e-1),
]


@pytest.mark.parametrize(("name", "at_one", "at_two"), RENYI)
def test_renyi_at_order_four(name: str, at_one: float, at_two: float) -> None:
    for eps0, value in ((1.0, at_one), (2.0, at_two)):
        found = get_bound(name).curve(LDP(eps0), 10_000).renyi(4.0)
        assert found == pytest.approx(value, rel=4e-4, abs=0.0)


def test_asymptotic_renyi_does_not_vanish() -> None:
    protocol = LDP(0.1), 10_000
    assert get_bound("chen-2024-gdp").curve(*protocol).renyi(4.0) == pytest.approx(
        8.8e-4, rel=6e-3, abs=0.0
    )
    assert get_bound("chen-2024-exact-stronger").curve(*protocol).renyi(4.0) == pytest.approx(
        2.1e-6, rel=0.03, abs=0.0
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("eps0", "n"), [(0.01, 50), (1.0, 40), (3.0, 60), (6.0, 100)])
def test_corollary_4_3_from_its_definition(eps0: float, n: int, share: float) -> None:
    """(1-2w) H_g'(P0||Q0), g' = (e-2w)/(1-2w): P0 and Q0 are the pair's extreme components."""
    epsilon = share * eps0
    w = 1.0 / (math.exp(eps0) + 1.0)
    total = 0.0
    weight, rest = (float(x.mid()) for x in clones.stronger(eps0))
    e = math.exp(epsilon)
    for c in range(n):
        mass = math.comb(n - 1, c) * weight**c * rest ** (n - 1 - c) / 2**c
        for first in range(c + 2):
            p0 = math.comb(c, first - 1) if first else 0
            q0 = math.comb(c, first)
            total += mass * max((1 - 2 * w) * p0 - (e - 2 * w) * q0, 0.0)
    assert get_bound("wang-2023").curve(LDP(eps0), n).delta(epsilon) == pytest.approx(
        total, rel=1e-9, abs=0.0
    )


def test_closed_forms_as_printed() -> None:
    eps0, n, delta = 0.4, 100_000, 1e-6
    e0 = math.exp(eps0)
    expected = {
        "erlingsson-2019": 12 * eps0 * math.sqrt(math.log(1 / delta) / n),
        "feldman-2021-closed": math.log(
            1 + (e0 - 1) / (e0 + 1) * (8 * math.sqrt(e0 * math.log(4 / delta) / n) + 8 * e0 / n)
        ),
        "feldman-2023-closed": math.log(
            1 + (e0 - 1) * (4 * math.sqrt(2 * math.log(4 / delta) / ((e0 + 1) * n)) + 4 / n)
        ),
    }
    for name, value in expected.items():
        curve = get_bound(name).curve(LDP(eps0), n)
        assert curve.epsilon(delta) == pytest.approx(value, rel=1e-11, abs=0.0)
        assert curve.delta(value * (1 + 1e-12)) == pytest.approx(delta, rel=1e-6, abs=0.0)


def test_blanket_bounds_as_printed() -> None:
    eps0, n, epsilon = 1.0, 1000, 0.4
    e0, e = math.exp(eps0), math.exp(epsilon)
    a, b, gamma = e - 1, (1 + e) * (e0 - 1 / e0), 1 / e0
    hoeffding = b * b / (4 * a * gamma * n) * (1 - gamma * (1 - math.exp(-2 * a * a / b / b))) ** n
    assert get_bound("balle-2019-hoeffding").curve(LDP(eps0), n).delta(epsilon) == pytest.approx(
        hoeffding, rel=1e-7, abs=0.0
    )

    def bennett(gamma: float, top: float, second: float) -> float:
        u = a * top / second
        phi = (1 + u) * math.log1p(u) - u
        return sum(
            math.comb(n, m)
            * gamma**m
            * (1 - gamma) ** (n - m)
            * top
            / math.log1p(u)
            * math.exp(-m * second / top**2 * phi)
            for m in range(1, n + 1)
        ) / (gamma * n)

    gamma = 2 / (e0 + 1)
    exact = bennett(gamma, gamma * (e0 - e), gamma**2 * ((e0 - e) ** 2 + (e * e0 - 1) ** 2) / 2)
    found = get_bound("blanket-bennett").curve(LDP(eps0), n).delta(epsilon)
    assert found == pytest.approx(exact, rel=1e-7, abs=0.0)
    # of an unknown randomizer a b / omega is at least 1 / E on average, and a little of that is used
    found = get_bound("balle-2019-bennett").curve(LDP(eps0), n).delta(epsilon)
    least, most = (bennett(1 / e0, e0 - e / e0, e0 * (e * e + 1) - x) for x in (2 * e / e0, 0.0))
    assert least <= found <= most


def test_divergences_as_quoted() -> None:
    """Rates only, but with their constants: what they are compared by."""
    eps0, n, order = 0.3, 100_000, 3.0
    e0 = math.exp(eps0)
    for name, value in (
        ("erlingsson-2019-rdp", 2 * order * e0**4 * (e0 - 1) ** 2 / n),
        ("feldman-2023-rdp-quoted", 64 * e0 * order / n),
        ("chen-2024-gdp", 2 * e0 * order / (n - 1)),
    ):
        found = get_bound(name).curve(LDP(eps0), n).renyi(order)
        assert found == pytest.approx(value, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("eps0", "n", "order"), [(1.0, 10_000, 4), (0.3, 500, 9), (3.0, 10**6, 2)])
def test_girgis_as_printed(eps0: float, n: int, order: int) -> None:
    e0 = math.exp(eps0)
    m = math.floor((n - 1) / (2 * e0)) + 1
    rest = math.exp(eps0 * order - (n - 1) / (8 * e0))
    full = 1 + math.comb(order, 2) * (e0 - 1) ** 2 / (m * e0) + rest
    for i in range(3, order + 1):
        full += (
            math.comb(order, i)
            * i
            * math.gamma(i / 2)
            * ((e0 * e0 - 1) ** 2 / (2 * e0 * e0 * m)) ** (i / 2)
        )
    simple = math.exp(order**2 * (e0 - 1) ** 2 / m) + rest
    lower = 1 + math.comb(order, 2) * (e0 - 1) ** 2 / (n * e0)
    for name, moment in (
        ("girgis-2021-full", full),
        ("girgis-2021-simple", simple),
        ("girgis-2021-lower", lower),
    ):
        found = get_bound(name).curve(LDP(eps0), n).renyi(float(order))
        assert found == pytest.approx(math.log(moment) / (order - 1), rel=1e-9, abs=0.0)


def test_one_exact_value_to_twelve_digits() -> None:
    exact = clones.delta(2.0, 100, 0.5, clones.stronger(2.0))
    assert off(get_bound("stronger-clones").curve(LDP(2.0), 100).delta(0.5), exact) < 1e-11


@pytest.mark.parametrize(
    ("eps0", "order"), [(0.1, 1.5), (0.1, 9.0), (1.0, 1.01), (2.0, 3.0), (30.0, 7.5)]
)
def test_the_divergence_of_one_report(eps0: float, order: float) -> None:
    """ln((E^L + E^(1 - L)) / (E + 1)) / (L - 1)."""
    with mpmath.workdps(60):
        big, power = mpmath.exp(eps0), mpmath.mpf(order)
        exact = mpmath.log((big**power + big ** (1 - power)) / (big + 1)) / (power - 1)
        found = get_bound("local").curve(LDP(eps0), 5).renyi(order)
        assert exact <= found <= exact * (1 + mpmath.mpf("1e-9"))
