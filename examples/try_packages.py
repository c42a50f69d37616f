"""Install every package of a folder into an empty environment of its own, and ask it something.

python examples/try_packages.py dist
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

QUESTIONS = (
    "account --eps0 2 --n 100000 --delta 1e-6",
    "sample-data survey.csv --rows 100",
    "schema account",
    "theorems swap-ldp",
    "manual man",
)
TYPED = "import pathlib, shuffledp; assert (pathlib.Path(shuffledp.__file__).parent / 'py.typed').exists()"


def main() -> None:
    packages = sorted(Path(sys.argv[1]).resolve().glob("shuffledp-*"))
    assert {package.suffix for package in packages} == {".whl", ".gz"}, packages
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            venv.create(Path(folder) / "env", with_pip=True)
            program = Path(folder) / "env" / "bin"
            install = [program / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*install, "install", package], check=True)
            subprocess.run([program / "python", "-c", TYPED], check=True, cwd=folder)
            for question in QUESTIONS:
                asked = [program / "shuffledp", *question.split()]
                subprocess.run(asked, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, installs and answers")


if __name__ == "__main__":
    main()
