"""Every notebook runs from top to bottom, and is stored without outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def test_all_are_listed() -> None:
    assert NOTEBOOKS
    listed = (NOTEBOOKS[0].parent.parent / "notebook.md").read_text(encoding="utf-8")
    assert all(f"notebooks/{path.stem}" in listed for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    scope: dict[str, object] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            source = "".join(cell["source"])
            exec(compile(source, f"{path.name}: {cell['id']}", "exec"), scope)
