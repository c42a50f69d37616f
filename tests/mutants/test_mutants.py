"""The faults themselves: each kind is planted, compiles, and a judge tells seen from unseen."""

import subprocess
import sys
import textwrap

import pytest

from tests.mutants.__main__ import _mutants
from tests.mutants.mutate import Mutant, mutants
from tests.mutants.run import PACKAGE, ROOT, Calls

SOURCE = textwrap.dedent('''
    """Not this."""
    LIMIT = 2.0 * STEP


    @bound(status=max(1, 2))
    def answer(x: "a - b", y: float) -> float:
        """Nor this: a + b."""
        check(x)
        if x < y and not flag:
            raise ValueError(f"{x - y}")
        y += roundings(4.0) * up(x, 1e-9)
        return max(x.lower, y / 2.0)
''').encode()


def test_every_kind_of_fault_is_planted() -> None:
    found = {(m.before, m.after) for m in mutants("f.py", SOURCE, False)}
    assert {
        ("x < y", "(x >= y)"),
        ("not flag", "(flag)"),
        ("check(x)", "pass"),
        ('raise ValueError(f"{x - y}")', "pass"),
        ("roundings(4.0)", "(0.0)"),
        ("up(x, 1e-9)", "(down(x, 1e-09))"),
        ("x.lower", "(x.upper)"),
        ("max(x.lower, y / 2.0)", "(min(x.lower, y / 2.0))"),
        ("y / 2.0", "(y * 2.0)"),
        ("x < y and not flag", "(x < y or not flag)"),
    } <= found
    assert ("x < y", "(x <= y)") not in found
    assert ("x < y", "(x <= y)") in {(m.before, m.after) for m in mutants("f.py", SOURCE, True)}
    assert not any("a - b" in before or "a + b" in before for before, _ in found)
    assert not any("status" in before for before, _ in found)


def test_faults_know_their_function() -> None:
    where = {m.before: m.function for m in mutants("f.py", SOURCE, False)}
    assert where["x < y"] == "answer"


def test_what_a_function_says_twice_is_two_faults() -> None:
    source = b"def f(x):\n    return x - 1.0 if x else x - 1.0\n"
    found = [m for m in mutants("f.py", source, False) if m.after == "(x + 1.0)"]
    assert len({m.id for m in found}) == len({m.applied(source) for m in found}) == 2


def test_every_fault_compiles_and_changes_the_file() -> None:
    for folder in ("swap", "ledger", "pipeline"):
        for mutant in _mutants(folder)[::40]:
            source = (PACKAGE / mutant.path).read_bytes()
            changed = mutant.applied(source)
            assert changed != source
            compile(changed, mutant.path, "exec")


def test_the_most_specific_tests_come_first() -> None:
    mutant = Mutant("f.py", 1, "f", "", "", 0, 0)
    everywhere = frozenset({("f.py", "f"), ("g.py", "g")})
    rows = [
        ("whole", 1.0, everywhere),
        ("other", 1.0, frozenset({("g.py", "g")})),
        ("long", 9.0, frozenset({("f.py", "f")})),
        ("own", 1.0, frozenset({("f.py", "f")})),
    ]
    assert Calls(rows).of(mutant, 5.0) == ["own", "whole"]


_JUDGED = """
from tests.mutants.mutate import mutants
from tests.mutants.run import PACKAGE, judge, package

source = (PACKAGE / "numerics/enclosure.py").read_bytes()
seen = next(m for m in mutants("numerics/enclosure.py", source, False) if "<=" in m.before)
tests = ["tests/numerics/test_search.py"]
with package() as where:
    print(judge(seen, where, tests, 20.0))
    print(judge(None, where, tests, 20.0))
    assert (where / "numerics/enclosure.py").read_bytes() == source
"""


@pytest.mark.slow
def test_a_judge_tells_seen_from_unseen() -> None:
    """In a process that has not imported the package yet."""
    run = subprocess.run(
        [sys.executable, "-c", _JUDGED], cwd=ROOT, check=True, capture_output=True, text=True
    )
    killed, survived = run.stdout.splitlines()
    assert killed.startswith("killed by tests/numerics/test_search.py::")
    assert survived == "survived"
