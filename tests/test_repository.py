"""Facts that files outside the package repeat are the same everywhere."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import shuffledp

ROOT = Path(__file__).parent.parent


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", _read("CHANGELOG.md"), re.M)
    assert newest is not None
    assert newest[1] == shuffledp.__version__ == version("shuffledp")


def test_every_python_that_is_promised_is_tested() -> None:
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    prefix = "Programming Language :: Python :: "
    promised = [c.removeprefix(prefix) for c in project["classifiers"] if c.startswith(prefix)]
    matrix = re.search(r"python: \[(.*)\]", _read(".github/workflows/tests.yml"))
    assert matrix is not None
    assert re.findall(r'"([\d.]+)"', matrix[1]) == promised
    assert project["requires-python"] == f">={promised[0]}"


def test_commits_are_linted_as_the_tests_are() -> None:
    hooks = re.findall(r"entry: \.venv/bin/(.*)", _read(".pre-commit-config.yaml"))
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", _read("Makefile"), re.M)
    assert recipe is not None
    folders = r" src tests .*"
    lint = [re.sub(folders, "", line) for line in re.findall(r"\$\(BIN\)/(.*)", recipe[1])]
    assert [hook.replace(" --force-exclude", "") for hook in hooks] == lint


def _folders(root: str, pattern: str) -> set[Path]:
    """Folders that hold such files."""
    files = (path for path in (ROOT / root).rglob(pattern) if path.name != "__init__.py")
    return {path.parent.relative_to(ROOT / root) for path in files}


def test_the_architecture_of_the_tests_is_that_of_the_package() -> None:
    """A folder of tests for every folder of modules, and nowhere else but what serves all of them."""
    apart = {Path("adversary"), Path("mutants")}
    assert _folders("tests", "test_*.py") - apart == _folders("src/shuffledp", "*.py")
