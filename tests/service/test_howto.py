"""What the guide says to paste runs as pasted."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _blocks(page: str) -> str:
    text = (ROOT / page).read_text()
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize(
    "page", [pytest.param("docs/howto/service.md", marks=pytest.mark.slow), "README.md"]
)
def test_the_guide_runs_as_pasted(page: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = _blocks(page).replace("8572", port)
    assert "shuffler serve" in script
    program = tmp_path / "bin" / "shuffledp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shuffledp "$@"\n')
    program.chmod(0o755)
    command = "set -e\ntrap 'kill %1 2> /dev/null || true; wait' EXIT\n"
    done = subprocess.run(
        ["bash", "-c", command + script],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "SHUFFLEDP_SHUFFLER_LISTEN": f"127.0.0.1:{port}",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PROVEN" in done.stdout
    assert "3 reports" in done.stdout
    assert "1 task, 1 batch: sound" in done.stdout
    assert not re.search(r"Traceback|ERROR", done.stderr)
    private = [tmp_path / "analyst.key", *(tmp_path / "shuffler" / "keys").glob("*.pem")]
    private += [
        tmp_path / "shuffler" / name for name in ("shuffler.toml", "admin.token", "shuffler.db")
    ]
    private += (tmp_path / "shuffler" / "outbox").iterdir()
    assert len(private) == 6
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
