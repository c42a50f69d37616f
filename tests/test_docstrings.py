"""Every example in a docstring runs and prints what it says; what is public has a docstring."""

import ast
import doctest
import importlib
import inspect
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

import shuffledp

ROOT = Path(shuffledp.__file__).parent
PACKAGES = (
    "shuffledp",
    "shuffledp.accounting.bounds",
    "shuffledp.accounting.curves",
    "shuffledp.accounting.protocols",
    "shuffledp.accounting.randomizers",
    "shuffledp.ledger",
    "shuffledp.collection.devices",
    "shuffledp.collection.shuffling",
    "shuffledp.collection.analysis",
    "shuffledp.collection.planning",
    "shuffledp.collection.pipeline",
    "shuffledp.collection.auditing",
    "shuffledp.service",
    "shuffledp.training",
)
WITH_EXAMPLES = sorted(
    path for path in ROOT.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8")
)


def _module(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(_module(path), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0


def _documented(name: str) -> list[str]:
    """Public classes and functions of a package without a docstring of their own."""
    package = importlib.import_module(name)
    objects = [getattr(package, each) for each in package.__all__]
    ours = [each for each in objects if inspect.isclass(each) or inspect.isfunction(each)]
    return [each.__qualname__ for each in ours if not (each.__doc__ or "").strip()]


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_public_is_documented(name: str) -> None:
    assert _documented(name) == []


FRONT_DOORS = [
    name
    for name in shuffledp.__all__
    if (inspect.isclass(thing := getattr(shuffledp, name)) and not issubclass(thing, Exception))
    or inspect.isfunction(thing)
]


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_front_doors_name_their_parameters_and_show_an_example(name: str) -> None:
    thing = getattr(shuffledp, name)
    text = inspect.getdoc(thing) or ""
    assert ">>> " in text
    if inspect.isfunction(thing):
        assert "Returns\n-------" in text
    elif issubclass(thing, Enum):
        return
    given = inspect.signature(thing).parameters
    assert not given or "Parameters\n----------" in text
    for each in given:
        assert each in text.split("Parameters\n")[1], each


def test_every_public_function_has_a_line() -> None:
    """Functions and classes without an underscore say in a line what they are."""
    missing = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            public = not node.name.startswith("_")
            overload = any(getattr(each, "id", "") == "overload" for each in node.decorator_list)
            if public and not overload and ast.get_docstring(node) is None:
                missing.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert missing == []
