"""A pytest plugin: which functions of the package each test passes through.

python -m pytest -p tests.mutants.calls --calls FILE ...
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

_INSIDE = "/src/shuffledp/"
_seen: dict[int, CodeType] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--calls", type=Path, help="where to write them, a line per test")


def _trace(frame: FrameType, event: str, arg: Any) -> None:
    _seen[id(frame.f_code)] = frame.f_code


def _processor() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _seen.clear()
    start = _processor()
    sys.settrace(_trace)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        inside = [code for code in _seen.values() if _INSIDE in code.co_filename]
        names = sorted({(c.co_filename.split(_INSIDE)[1], c.co_qualname) for c in inside})
        row = json.dumps([item.nodeid, round(_processor() - start, 3), names])
        with item.config.getoption("calls").open("a", encoding="utf-8") as file:
            file.write(f"{row}\n")
