"""--memory bounds what a run holds, whatever the rows are like."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.collection.pipeline.tables import read

CODE = """
import sys
from shuffledp.interfaces.cli import main
try:
    main(sys.argv[1:])
finally:
    print(open("/proc/self/status").read(), file=sys.stderr)
"""


def _peak(line: str) -> float:
    """Largest memory of a run in a process of its own, in MiB."""
    words = [sys.executable, "-c", CODE, *line.split(), "--json"]
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", found.stderr)
    return int(peak) / 1024


TARGET = "--epsilon 1 --delta 1e-8 --memory 16"


def test_long_texts(tmp_path: Path) -> None:
    """250 MB of text, of which two letters count."""
    texts = pa.array([str(i) * 2500 for i in range(7)])
    words = pa.DictionaryArray.from_arrays(np.arange(100_000) % 7, texts)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"word": words}), path, store_schema=False)
    assert pq.read_schema(path).field("word").type == pa.string()
    line = f"run {tmp_path}/long.parquet --column word --task heavy-hitters --letters 2 {TARGET}"
    assert _peak(line) < 400


def test_many_columns(tmp_path: Path) -> None:
    generator, n = np.random.default_rng(1), 300_000
    columns = {f"x{i}": generator.random(n).astype(np.float32) for i in range(12)}
    pq.write_table(pa.table(columns), tmp_path / "wide.parquet")
    asked = " ".join(f"--column {name}" for name in columns)
    line = f"run {tmp_path}/wide.parquet {asked} --task vector --low 0 --high 1 {TARGET}"
    assert _peak(f"{line} --mechanism one-bit --reports {tmp_path}/r.parquet") < 230


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [1, 1000, 4096, 5000, 1 << 18])
def test_blocks_hold_all_rows_in_order(tmp_path: Path, kind: str, rows: int) -> None:
    table = pa.table({"x": np.arange(20_000 if rows > 1 else 50)})
    path = tmp_path / f"t.{kind}"
    pq.write_table(table, path, row_group_size=3000) if kind == "parquet" else path.write_text(
        "x\n" + "\n".join(map(str, table["x"].to_pylist())) + "\n"
    )
    for size in (1 << 30, 1):
        blocks = list(read(path, ["x"], rows=rows, size=size))
        assert max(block.num_rows for block in blocks) <= rows
        values = [int(x) for block in blocks for x in block.column(0).to_pylist()]
        assert values == table["x"].to_pylist()
