"""OpenDP: a randomizer on one user's value as a user-defined measurement.

OpenDP cannot check a Python function: the features ``contrib`` and ``honest-but-curious`` must be
enabled by whoever builds the measurement. It has no shuffler and no measure for a whole curve
delta(epsilon) of its callers' making (``smoothed_max_divergence`` is closed to user-defined
measurements), so amplification cannot be said in its terms: account for it with ``Shuffled``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shuffledp.accounting.randomizers import Gaussian, Randomizer
from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.numerics.rounding import roundings, up

try:
    import opendp.prelude as dp
except ImportError as error:
    raise MissingExtraError("interop", "OpenDP") from error


def make_measurement(
    randomizer: Randomizer,
    sample: Callable[[Any], Any],
    input_domain: Any,
    TO: Any = "ExtrinsicObject",
) -> Any:
    """One report of one user, as an OpenDP measurement.

    Distances are discrete: 0 for equal values, 1 for others. Pure randomizers get their eps0 under
    max divergence, approximate ones (eps0, delta0) under its approximate form, Gaussian noise rho =
    (sensitivity / sigma)^2 / 2 under zero-concentrated divergence.

    Parameters
    ----------
    randomizer
        What is run.
    sample
        Runs exactly this randomizer, with secure randomness.
    input_domain
        OpenDP's domain of one value.
    TO
        OpenDP's type of a report.
    """
    if not isinstance(randomizer, Randomizer):
        raise ParameterError("randomizer", "a randomizer such as KRR(k=16, eps0=2.0)", randomizer)
    measure, loss, nothing = _guarantee(randomizer)
    return dp.m.make_user_measurement(
        input_domain,
        dp.discrete_distance(),
        measure,
        sample,
        lambda distance: loss if distance else nothing,
        TO,
    )


def _guarantee(randomizer: Randomizer) -> tuple[Any, Any, Any]:
    """Measure, the loss between two values, and no loss at all."""
    delta0 = float(getattr(randomizer, "delta0", 0.0))
    if delta0:
        return dp.approximate(dp.max_divergence()), (randomizer.eps0, delta0), (0.0, 0.0)
    if math.isfinite(randomizer.pure):
        return dp.max_divergence(), randomizer.pure, 0.0
    if isinstance(randomizer, Gaussian):
        rho = up(0.5 * (randomizer.sensitivity / randomizer.sigma) ** 2, roundings(8))
        return dp.zero_concentrated_divergence(), rho, 0.0
    raise ParameterError("randomizer", "pure, approximate, or Gaussian", str(randomizer))
