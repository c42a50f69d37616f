"""What is deployed is what is here: files, extras, commands and settings by their names."""

import re
import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from dataclasses import fields
from pathlib import Path

import pytest

from shuffledp.interfaces.cli import main
from shuffledp.service.server.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
IMAGE = (ROOT / "deploy" / "Dockerfile").read_text()
UNIT = ROOT / "deploy" / "shuffledp-shuffler.service"


def test_the_image_is_built_of_what_is_here() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", IMAGE, re.MULTILINE)
    assert len(copied) == 3
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"'\.\[(.*)\]'", IMAGE)
    assert (
        set(extras.split(",")) == {"service", "postgres"} <= set(project["optional-dependencies"])
    )
    commands = main.commands["shuffler"].commands  # type: ignore[attr-defined]
    assert {"serve", "init"} <= set(commands)
    (listen,) = re.findall(rf"{PREFIX}LISTEN=(\S+)", IMAGE)
    assert Settings(listen=listen).address[1] == Settings().address[1] == 8572
    assert re.search(r"^USER shuffler$", IMAGE, re.MULTILINE)


def test_the_unit_runs_the_service_as_nobody_else() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    _, *words = service["ExecStart"].split()
    assert words[:3] == ["shuffler", "serve", "--config"]
    assert service["User"] == "shuffledp"
    assert (service["LimitCORE"], service["MemorySwapMax"]) == ("0", "0")
    assert service["KillSignal"] == "SIGTERM"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", text, re.MULTILINE)
    for name, line, found in (("good", "", 0), ("bad", "ProtectEverything=yes\n", 1)):
        unit = tmp_path / f"{name}.service"
        unit.write_text(text.replace(program, sys.executable).replace("UMask=", f"{line}UMask="))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True
        )
        assert len(done.stderr.splitlines()) == found, done.stderr


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_every_setting_is_in_the_guide(name: str) -> None:
    guide = (ROOT / "docs" / "howto" / "service.md").read_text()
    table = [line.partition("|")[2].partition("|")[0] for line in guide.splitlines()]
    assert sum(f"`{name}`" in line for line in table if line) == 1
