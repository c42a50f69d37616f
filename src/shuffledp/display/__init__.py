"""Answers for people: tables on a terminal, pictures."""
