"""Columns of CSV and Parquet files, block by block."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.errors import MissingExtraError, ParameterError
from shuffledp.files import whole_file

_ROWS = 1 << 18
_HEADER = "shuffledp"
_KINDS = (".csv", ".parquet")


def kind(parameter: str, path: str | Path) -> str:
    """.csv or .parquet."""
    suffix = Path(path).suffix.lower()
    if suffix not in _KINDS:
        raise ParameterError(parameter, "a .csv or .parquet file", str(path))
    return suffix


def check_folder(parameter: str, path: str | Path) -> None:
    """That a file can be made there, asked before anything is spent on it."""
    folder = Path(path).absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ParameterError(parameter, "in a folder that can be written", str(path))


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
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError("data", "a readable table", f"{path}: {reason}") from error


def read(path: str | Path, columns: Sequence[str]) -> Iterator[Any]:
    """Record batches of these columns, in order."""
    pa = arrow()
    suffix = kind("data", path)
    with _readable(path):
        if suffix == ".parquet":
            file = pa.parquet.ParquetFile(path)
            _present(columns, file.schema_arrow.names)
            yield from file.iter_batches(batch_size=_ROWS, columns=list(columns))
            return
        about = int(_comment(path) is not None)
        names = _csv_names(path, about)
        if not names:
            raise ParameterError("data", "a table; this file has no line with names", str(path))
        _present(columns, names)
        reader = pa.csv.open_csv(
            path,
            read_options=pa.csv.ReadOptions(skip_rows=about),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(columns),
                # all text: a later row must not contradict a type guessed from the first ones
                column_types={name: pa.string() for name in columns},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=["", "NA", "NaN", "nan", "null", "NULL"],
            ),
        )
        yield from reader


def _present(wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise ParameterError("column", "one of " + ", ".join(names), name)
        if list(names).count(name) > 1:
            raise ParameterError("column", "the name of one column only", name)


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
            metadata = arrow().parquet.read_schema(path).metadata or {}
            found = metadata.get(_HEADER.encode(), b"").decode() or None
    if found is None:
        raise ParameterError("reports", "a file written by 'shuffledp encode'", str(path))
    return found


class Writer:
    """Writes batches of one schema to either kind of file."""

    def __init__(self, file: Any, suffix: str, names: Sequence[str], about: str | None) -> None:
        self._file, self._csv = file, suffix == ".csv"
        self._names, self._about = list(names), about
        self._writer: Any = None

    def write(self, arrays: Sequence[Any]) -> None:
        """One block of rows."""
        pa = arrow()
        batch = pa.RecordBatch.from_arrays([pa.array(a) for a in arrays], names=self._names)
        if self._writer is None:
            self._open(batch.schema)
        self._writer.write_batch(batch)

    def _open(self, schema: Any) -> None:
        pa = arrow()
        if self._csv:
            if self._about is not None:
                self._file.write(f"# {_HEADER} {self._about}\n".encode())
            self._writer = pa.csv.CSVWriter(self._file, schema)
            return
        if self._about is not None:
            schema = schema.with_metadata({_HEADER: self._about})
        self._writer = pa.parquet.ParquetWriter(self._file, schema, compression="zstd")

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@contextmanager
def written(path: str | Path, names: Sequence[str], about: str | None = None) -> Iterator[Writer]:
    """A table to write, whole or not at all."""
    suffix = kind("out", path)
    with whole_file("out", path) as file:
        writer = Writer(file, suffix, names, about)
        try:
            yield writer
        finally:
            writer.close()
