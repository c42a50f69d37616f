"""An adversary: random deployments, extreme ones too, against brute force over all data sets.

``deployments`` draws them, ``truth`` computes what they leak, ``judge`` compares, ``hunt`` goes on
for as long as it is told to: ``python -m tests.adversary --seconds 3600 --seed 7``.
"""
