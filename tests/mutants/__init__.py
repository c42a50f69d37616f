"""Faults put into the library one at a time: does a test see each? ``python -m tests.mutants --help``"""
