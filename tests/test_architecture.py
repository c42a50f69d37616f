"""Imports point one way, the package stays light, and exports exactly what it says."""

import ast
import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import shuffledp

ROOT = Path(shuffledp.__file__).parent
FLOORS = {
    "": ["moved", "shown", "errors", "checks", "labels", "files", "postgres"],
    "numerics": [],
    "accounting": ["randomizers", "curves", "bounds", "protocols"],
    "ledger": [],
    "collection": [
        "devices",
        "shuffling",
        "analysis",
        "counting",
        "planning",
        "pipeline",
        "auditing",
    ],
    "quick": [],
    "service": [
        *("sealing", "binary_http", "oblivious", "keys", "wire", "task", "device", "client"),
        *("batch", "analyst", "store", "shuffler", "server"),
    ],
    "training": [],
    "display": [],
    "research": ["reproduce", "atlas"],
    "interop": [],
    "interfaces": ["web", "cli"],
    "__main__": [],
}
"""Every room, lowest first: one imports from itself and from those above it in this list."""
ORDER = [
    ".".join(filter(None, (floor, room)))
    for floor, rooms in FLOORS.items()
    for room in rooms or [""]
]
RANK = {name: rank for rank, name in enumerate(ORDER)}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def _room(module: str) -> str | None:
    """The room that a module of shuffledp is in."""
    parts = module.split(".")[1:]
    return next((name for k in (2, 1) if (name := ".".join(parts[:k])) in RANK), None)


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> set[str]:
    """Rooms of shuffledp this file imports from, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name for name in names if name.startswith("shuffledp.")}
    return {room for room in map(_room, ours) if room is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = _room(_module(path))
    if room is None:
        floor = path.relative_to(ROOT).parts[0]
        assert FLOORS.get(floor), f"{floor} has no place in the order"
        assert path.name == "__init__.py", f"{path} is in no room"
        assert all(other.startswith(f"{floor}.") for other in _imported(path))
        return
    for other in _imported(path):
        assert RANK[other] <= RANK[room], f"{room} imports {other}"


def _needs(path: Path, known: set[str]) -> set[str]:
    """Modules of shuffledp this file imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return found & known - {_module(path)}


def test_no_two_modules_need_each_other() -> None:
    """Within a room, too, and inside functions: the modules can be put in one order."""
    paths = {_module(path): path for path in FILES}
    needs = {name: _needs(path, set(paths)) for name, path in paths.items()}
    assert "shuffledp.labels" in needs["shuffledp.accounting.bounds.theorem"]
    TopologicalSorter(needs).prepare()  # raises CycleError, with the cycle


def test_the_checker_sees_imports() -> None:
    """A negative control: the search finds what is known to be there."""
    found = _imported(ROOT / "accounting" / "protocols" / "shuffled.py")
    assert {"checks", "accounting.bounds", "accounting.curves"} <= found


def _fresh(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return run.stdout


def test_the_core_stays_light() -> None:
    loaded = json.loads(
        _fresh("import sys, json, shuffledp; print(json.dumps(sorted(sys.modules)))")
    )
    heavy = {"torch", "cryptography", "scipy", "matplotlib", "click", "rich", "pandas", "mpmath"}
    heavy |= {"flint", "starlette", "pyarrow", "dp_accounting", "opendp"}
    assert "numpy" in loaded
    assert not heavy & {name.split(".")[0] for name in loaded}


def test_first_addresses_are_the_same_modules() -> None:
    _fresh(
        "import shuffledp.sampling, shuffledp.bounds.clones as old\n"
        "import shuffledp.accounting.bounds.clones as new\n"
        "from shuffledp.planning import plan\n"
        "import shuffledp.collection.planning, shuffledp.bounds\n"
        "assert old is new and plan is shuffledp.collection.planning.plan\n"
        "assert shuffledp.sampling.__name__ == 'shuffledp.collection.devices'\n"
        "assert new.__spec__.name == new.__name__ == 'shuffledp.accounting.bounds.clones'\n"
    )


def test_all_is_exact() -> None:
    public = json.loads(
        _fresh(
            "import json, shuffledp, types;"
            "print(json.dumps([n for n in dir(shuffledp) if not n.startswith('_')"
            " and not isinstance(getattr(shuffledp, n), types.ModuleType)]))"
        )
    )
    assert sorted(shuffledp.__all__) == sorted(public)
    assert len(set(shuffledp.__all__)) == len(shuffledp.__all__)
    assert {"LDP", "Shuffled", "calibrate", "Interval", "Status"} <= set(shuffledp.__all__)


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.rglob("test_*.py")), ids=lambda path: path.name
)
def test_relative_tolerances_are_meant(path: Path) -> None:
    """pytest.approx adds an absolute 1e-12 unless told otherwise: 1e-38 would pass for 1e-35."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "approx":
            named = {keyword.arg for keyword in node.keywords}
            assert "rel" not in named or "abs" in named, f"line {node.lineno}: say abs= too"


def test_one_question_takes_a_short_way() -> None:
    """Functions, files and depth from a question to its answer, in a fresh process."""
    program = """if True:
        import os, sys, shuffledp
        home, seen, depth, deepest = os.path.dirname(shuffledp.__file__), set(), 0, 0
        protocol = shuffledp.Shuffled(shuffledp.KRR(16, eps0=2.0), 100_000)

        def watch(frame, event, _):
            global depth, deepest
            code = frame.f_code
            if code.co_filename.startswith(home) and event in ("call", "return"):
                depth += 1 if event == "call" else -1
                deepest = max(deepest, depth)
                seen.add((code.co_filename, code.co_firstlineno, code.co_name))

        sys.setprofile(watch)
        protocol.epsilon(delta=1e-6)
        sys.setprofile(None)
        print(len(seen), len({name for name, *_ in seen}), deepest)
    """
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    functions, files, deepest = map(int, found.stdout.split())
    assert functions <= 190
    assert files <= 31
    assert deepest <= 27
