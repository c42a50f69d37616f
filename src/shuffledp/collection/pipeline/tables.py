"""Columns of CSV and Parquet files, and of tables in memory, block by block."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.errors import MissingExtraError, ParameterError, ShuffleDPError
from shuffledp.files import whole_file

ROWS = 1 << 18
BYTES = 32 << 20
"""Of a table at a time."""
_STEP = 1 << 12
_BUFFER = 1 << 20
_HEADER = "shuffledp"
_KINDS = (".csv", ".parquet")


def kind(parameter: str, path: str | Path) -> str:
    """.csv or .parquet."""
    suffix = Path(path).suffix.lower() if isinstance(path, str | Path) else ""
    if suffix not in _KINDS:
        raise ParameterError(parameter, "a .csv or .parquet file", str(path))
    return suffix


def arrow() -> Any:
    """The pyarrow module."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("run", "Reading and writing tables") from error
    return pyarrow


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    pa = arrow()
    try:
        yield
    except ShuffleDPError:
        raise
    except FileNotFoundError:
        raise ParameterError("data", "a readable table: there is no such file", str(path)) from None
    except (OSError, pa.ArrowException, ValueError, csv.Error) as error:
        raise ParameterError("data", "a readable table", f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Without the row that pyarrow quotes: errors are kept in logs."""
    if isinstance(error, UnicodeDecodeError):
        return "text in UTF-8 is needed"
    lines = str(error).splitlines() or [type(error).__name__]
    if "straddl" in lines[0]:
        return "a row is longer than a block of the file; is a quote not closed?"
    return re.sub(r"(got \d+): .*", r"\1", lines[0])


Source = str | Path | Any
"""A CSV or Parquet file, or an Arrow table as ``as_table`` makes it."""


def as_table(data: Any, columns: Sequence[str] = ()) -> Source:
    """A path as it is; anything else as an Arrow table.

    Data frames and tables of pandas, polars, Arrow and all that speak its C interface, a mapping of
    columns, or, where there is one column, its values.
    """
    if isinstance(data, str | Path):
        return data
    pa = arrow()
    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, pa.RecordBatchReader):
            return data.read_all()
        if isinstance(data, Mapping):
            return pa.table({str(name): _array(values) for name, values in data.items()})
        if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas: NaN are missing values
            return pa.Table.from_pandas(data, preserve_index=False)
        if hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
        if isinstance(data, Iterable) and not isinstance(data, bytes) and len(columns) == 1:
            return pa.table({columns[0]: _array(data)})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ParameterError(
            "data", "a table", f"{type(data).__name__}: {_reason(error)}"
        ) from None
    raise ParameterError(
        "data", "a file, a table, a mapping of columns, or the values of one", type(data).__name__
    )


def _array(values: Any) -> Any:
    known = hasattr(values, "__arrow_array__") or isinstance(values, np.ndarray)
    return arrow().array(values if known else list(values), from_pandas=True)


def known_rows(data: Source) -> int | None:
    """How many rows there are, where that is known without reading them."""
    if not isinstance(data, str | Path):
        return int(data.num_rows)
    return parquet_rows(data) if kind("data", data) == ".parquet" else None


def read(
    path: Source, columns: Sequence[str], *, rows: int = ROWS, size: int = BYTES
) -> Iterator[Any]:
    """Record batches of these columns, in order: at most this many rows,
    and about so many bytes."""
    waiting: list[Any] = []
    for batch in _batches(path, columns, min(rows, _STEP)):
        for start in range(0, batch.num_rows, rows):
            waiting.append(batch.slice(start, rows))
            held = sum(each.num_rows for each in waiting)
            if held + _STEP > rows or sum(each.get_total_buffer_size() for each in waiting) > size:
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    return arrow().Table.from_batches(batches).combine_chunks().to_batches()[0]


def _batches(path: Source, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """As the file is laid out."""
    pa = arrow()
    if isinstance(path, pa.Table):
        check_columns(columns, path.column_names)
        yield from path.select(list(columns)).to_batches(max_chunksize=rows)
        return
    suffix = kind("data", path)
    with _readable(path):
        if suffix == ".parquet":
            file = pa.parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
            check_columns(columns, file.schema_arrow.names)
            yield from file.iter_batches(batch_size=rows, columns=list(columns))
            return
        about = int(_comment(path) is not None)
        names = _csv_names(path, about)
        if not names:
            raise ParameterError("data", "a table; this file has no line with names", str(path))
        # names are not listed: where there is no header, they are what a user holds
        check_columns(columns, names, f"the {len(names)} names in the first line of the table")
        reader = pa.csv.open_csv(
            path,
            read_options=pa.csv.ReadOptions(skip_rows=about),
            # in a table of one column, the line of a user without a value is empty; quoted line
            # breaks are found wherever they are, and then refused
            parse_options=pa.csv.ParseOptions(ignore_empty_lines=False, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(columns),
                # all text: a later row must not contradict a type guessed from the first ones
                column_types={name: pa.string() for name in columns},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=["", "NA", "NaN", "nan", "null", "NULL"],
            ),
        )
        found = 0
        for batch in reader:
            found += batch.num_rows
            yield batch
        lines = _lines(path) - about - 1
        if found != lines:
            raise ParameterError(
                "data",
                "a table with a row in each line (a quote that is not closed takes the lines after"
                " it)",
                f"{path}: {found:,} rows in {lines:,} lines",
            )


def _lines(path: str | Path) -> int:
    """How many lines a file has; they end as those of Windows, of Unix,
    or of an old Macintosh do."""
    found, last = 0, b""
    with Path(path).open("rb") as file:
        while block := file.read(_BUFFER):
            both = last + block
            found += block.count(b"\n") + block.count(b"\r") - both.count(b"\r\n")
            last = block[-1:]
    return found + (last not in (b"", b"\n", b"\r"))


def parquet_rows(path: str | Path) -> int:
    """How many rows a Parquet file says it has."""
    with _readable(path):
        return int(arrow().parquet.ParquetFile(path).metadata.num_rows)


def column_names(path: str | Path) -> list[str]:
    """The names of all columns."""
    with _readable(path):
        if kind("data", path) == ".parquet":
            return list(arrow().parquet.ParquetFile(path).schema_arrow.names)
        return _csv_names(path, int(_comment(path) is not None))


def check_columns(wanted: Sequence[str], names: Sequence[str], said: str = "") -> None:
    """That each is there, and once."""
    for name in wanted:
        if name not in names:
            raise ParameterError("column", f"one of {said or _listed(names)}", name)
        if list(names).count(name) > 1:
            raise ParameterError("column", "the name of one column only", name)


def _listed(names: Sequence[str]) -> str:
    """In one line, the first few if there are many."""
    shown = [name if name.isprintable() and len(name) < 60 else f"{name[:60]!r}" for name in names]
    return ", ".join([*shown[:30], *["..."] * (len(shown) > 30)])


def _csv_names(path: str | Path, skip: int) -> list[str]:
    """The names in the first line."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        for _ in range(skip):
            file.readline()
        return next(csv.reader(file), [])


def _comment(path: str | Path) -> str | None:
    """What a CSV file of ours says about itself in its first line."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        first = file.readline(1 << 24)
    mark = f"# {_HEADER} "
    return first[len(mark) :].strip() if first.startswith(mark) else None


def header(path: str | Path) -> str:
    """What a file of reports says about itself."""
    with _readable(path):
        if kind("reports", path) == ".csv":
            found = _comment(path)
        else:
            metadata = arrow().parquet.ParquetFile(path).metadata.metadata or {}
            found = metadata.get(_HEADER.encode(), b"").decode() or None
    if found is None:
        raise ParameterError("reports", "a file written by 'shuffledp encode'", str(path))
    return found


class Writer:
    """Writes batches of one schema to either kind of file, and what the file says about itself."""

    def __init__(self, file: Any, suffix: str, names: Sequence[str], about: str | None) -> None:
        self._file, self._csv = file, suffix == ".csv"
        self._names, self._about = list(names), about
        self._writer: Any = None

    def write(self, arrays: Sequence[Any]) -> None:
        """One block of rows."""
        pa = arrow()
        for start in range(0, len(arrays[0]), ROWS):
            parts = [pa.array(_block(each, start)) for each in arrays]
            batch = pa.RecordBatch.from_arrays(parts, names=self._names)
            if self._writer is None:
                self._open(batch.schema)
            self._writer.write_batch(batch)

    def _open(self, schema: Any) -> None:
        pa = arrow()
        if self._csv:
            self._file.write(self._comment())
            self._writer = pa.csv.CSVWriter(self._file, schema)
            return
        self._writer = pa.parquet.ParquetWriter(self._file, schema, compression="zstd")

    def _comment(self) -> bytes:
        return b"" if self._about is None else f"# {_HEADER} {self._about}\n".encode()

    def close(self, about: str | None = None) -> None:
        """Ends the file; ``about`` takes the place of what was given first, and has its length."""
        if self._writer is None:
            return
        self._about = about or self._about
        if not self._csv and self._about is not None:
            self._writer.add_key_value_metadata({_HEADER: self._about})
        self._writer.close()
        self._writer = None
        if self._csv and about is not None:
            self._file.flush()
            self._file.seek(0)
            self._file.write(self._comment())


def _block(values: Any, start: int) -> Any:
    part = values[start : start + ROWS]
    return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part


@contextmanager
def written(
    path: str | Path, names: Sequence[str], about: str | None = None, *, private: bool = False
) -> Iterator[Writer]:
    """A table to write, whole or not at all."""
    suffix = kind("out", path)
    with whole_file("out", path, private=private) as file:
        writer = Writer(file, suffix, names, about)
        try:
            yield writer
        finally:
            writer.close()
