"""The frequency engine: what it leaves out is as small as it says, and products are off by what it says."""

import math

import mpmath
import numpy as np
import pytest

from shuffledp.numerics.frequencies import Measure, Product


def _measure(chance: np.random.Generator, size: int, spread: float) -> Measure:
    values = np.sort(chance.normal(0.0, spread, size))
    weights = chance.exponential(size=size)
    weights /= weights.sum() * 1.1
    return Measure(values, weights, -math.fsum([*weights.tolist(), -1.0]), 0.0)


def _sums() -> list[Product]:
    """One law many times, and different laws together."""
    chance = np.random.default_rng(5)
    found = []
    for copies in (2, 30, 10_000):
        one = _measure(chance, 40, 0.1)
        other = _measure(chance, 3, 1.0)
        found.append(Product([(one, copies)], 1.3))
        found.append(Product([(one, copies), (other, 5)], 1.3, 0.4))
    return found


def _with_rare_values(copies: int) -> Product:
    """Ordinary values, and rare ones hundreds of times larger, which make up the fourth moment."""
    values = np.concatenate([np.linspace(-1.0, 1.0, 201), [150.0, 300.0]])
    weights = np.concatenate([np.full(201, (1.0 - 3e-6) / 201), [2e-6, 1e-6]])
    lost = -math.fsum([*weights.tolist(), -1.0])
    return Product([(Measure(values, weights, lost, 0.0), copies)], 1e-4)


@pytest.mark.parametrize("copies", [3_000, 1_000_000])
def test_rare_large_values_hide_no_band(copies: int) -> None:
    """|phi| <= e^-45 in all of it; the fourth moment of the whole law shows a sliver or nothing."""
    product = _with_rare_values(copies)
    step = 1.0 / product.sd
    first, last = product.negligible(step, round(2.0 / step))
    low, high = product._common_band()
    assert last - first > 0.5 * 2.0 / step > 5.0 * max(high - low, 0.0) / step
    for start in np.linspace(first, last, 200).astype(int).tolist():
        phi = product.at(np.array([start * step]), step, start)
        assert phi.log_modulus[0] <= -45.0


@pytest.mark.parametrize("product", _sums())
def test_what_is_skipped_is_negligible(product: Product) -> None:
    """|phi| <= e^-45 everywhere in the band, and not much before it."""
    step = 0.02 / product.sd
    first, last = product.negligible(step, 10**6)
    if product.copies > 1000:
        assert last > first
    for start in range(first, last + 1, max((last - first) // 50, 1)):
        phi = product.at(np.array([start * step]), step, start)
        assert phi.log_modulus[0] <= -45.0
    if first <= last:
        early = round(0.8 * first)
        assert product.at(np.array([early * step]), step, early).log_modulus[0] > -45.0


def _vanishing() -> Product:
    """One fair coin under the tilt: phi = cos(omega) is nearly 0 at the third frequency."""
    weights = np.exp(-1.3 * np.array([-1.0, 1.0]))
    weights /= 2.0 * weights.max()
    lost = -math.fsum([*weights.tolist(), -1.0])
    return Product([(Measure(np.array([-1.0, 1.0]), weights, lost, 0.0), 1)], 1.3)


@pytest.mark.parametrize(
    ("product", "step"),
    [*((product, 0.5 / product.sd) for product in _sums()), (_vanishing(), math.pi / 6.0)],
)
def test_the_error_of_phi(product: Product, step: float) -> None:
    """Against 200 bits; errors are stated, and most are not 0."""
    off = 0
    omega = step * np.arange(1.0, 9.0)
    phi = product.at(omega, step, 1)
    with mpmath.workprec(200):
        for k in range(omega.size):
            s = mpmath.mpc(product.theta, mpmath.mpf(float(step)) * (k + 1))
            truth = mpmath.exp(-1j * s.imag * product.shift)
            for factor in product.factors:
                pairs = list(zip(factor.measure.w.tolist(), factor.measure.v.tolist(), strict=True))
                at = mpmath.fsum(w * mpmath.exp(s * v) for w, v in pairs)
                here = mpmath.fsum(w * mpmath.exp(s.real * v) for w, v in pairs)
                truth *= (at / here) ** factor.copies
            found = mpmath.exp(mpmath.mpc(float(phi.log_modulus[k]), float(phi.argument[k])))
            rounding = 64 * 2.0**-53 * (1.0 + float(phi.size[k])) * abs(found)
            assert abs(found - truth) <= float(phi.bound[k]) + rounding
            off += found != truth
    assert off > 0


def test_exponents_beyond_the_doubles() -> None:
    """e^(theta v) may overflow, or underflow for all values: the logarithm is as good."""
    for values in ([-900.0, 2.0, 950.0], [-1200.0, -900.0]):
        weights = np.full(len(values), 1.0 / len(values))
        value, error = Measure(np.array(values), weights, 0.0, 0.0).log_mgf(1.5)
        with mpmath.workprec(200):
            truth = mpmath.log(
                mpmath.fsum(
                    w * mpmath.exp(mpmath.mpf(1.5) * v)
                    for w, v in zip(weights.tolist(), values, strict=True)
                )
            )
        assert abs(value - truth) <= error
        assert error < 1e-10
