"""Imports point one way, the package stays light, and exports exactly what it says."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp

ROOT = Path(shuffledp.__file__).parent
ORDER = [
    {"errors", "checks", "labels", "files"},
    {"numerics"},
    {"randomizers"},
    {"curves"},
    {"bounds"},
    {"protocols"},
    {"ledger", "interop"},
    {"sampling"},
    {"shuffling"},
    {"analysis"},
    {"planning"},
    {"pipeline"},
    {"auditing", "reports"},
    {"training"},
    {"reproduce", "atlas"},
    {"cli", "web", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def _part(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def _imported(path: Path) -> set[str]:
    """Parts of shuffledp this file imports, inside functions too."""
    parts: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names = (
                [f"{module}.{alias.name}" for alias in node.names]
                if module == "shuffledp"
                else [module]
            )
        else:
            continue
        parts |= {name.split(".")[1] for name in names if name.startswith("shuffledp.")}
    return parts


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_left(path: Path) -> None:
    part = _part(path)
    assert part in RANK, f"{part} has no place in the order"
    for other in _imported(path) & set(RANK):
        assert other == part or RANK[other] <= RANK[part], f"{part} imports {other}"
    if part in ("errors",):
        assert not _imported(path)


def test_the_checker_sees_imports() -> None:
    """A negative control: the search finds what is known to be there."""
    assert {"checks", "bounds", "curves"} <= _imported(ROOT / "protocols" / "shuffled.py")


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
