"""Oracles with fifty digits."""

import mpmath
import pytest


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield
