"""Slow, obvious, arbitrary-precision code that the fast code is compared with.

Nothing here imports ``shuffledp``. Numbers are Arb balls (python-flint) of ``BITS`` bits, so each
carries its own error bound, or exact fractions.
"""
