"""Parquet and Arrow files, read and written by batches of rows through pyarrow."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any, Iterator, Optional, Sequence

ROWS = 256  # that are read at a time
GROUP_ROWS, GROUP_BYTES = 65_536, 64 << 20  # of a row group that is written

# By the ending of a name: Parquet, or the IPC format of Arrow as a file or as a stream.
FORMATS = {".parquet": "parquet", ".arrow": "file", ".ipc": "file", ".feather": "file", ".arrows": "stream"}


class TableError(Exception):
    """A file that is wrong or missing; the message says what was found and what was expected."""


def pyarrow(module: str = "") -> Any:
    try:
        return importlib.import_module("pyarrow" + module)
    except ImportError as error:
        raise TableError("pyarrow is not installed, expected it for Parquet and Arrow files "
                         "(hint: pip install pyarrow)") from error


def format_of(path: str) -> str:
    ending = os.path.splitext(path)[1]
    if ending not in FORMATS:
        raise TableError(f"'{path}' ends in '{ending}', expected one of {', '.join(FORMATS)}")
    return FORMATS[ending]


class Reader:
    """A file of rows. Reads at most ROWS rows at a time, as often as asked."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                magic = file.read(6)
            self.kind = "parquet" if magic[:4] == b"PAR1" else "file" if magic == b"ARROW1" else "stream"
            if magic[:4] == b"FEA1":
                raise TableError(f"'{path}' is a Feather file of version 1, expected version 2, which is Arrow's IPC format")
            with self._opened() as reader:
                self.schema = reader.schema_arrow if self.kind == "parquet" else reader.schema
        except OSError as error:
            raise TableError(f"cannot read '{path}': {error.strerror or error}") from error
        except pyarrow().ArrowException as error:
            raise TableError(f"'{path}' is not a Parquet or Arrow file: {error}") from error
        twice = {name for name in self.schema.names if self.schema.names.count(name) > 1}
        if twice:
            raise TableError(f"'{path}' has the column '{sorted(twice)[0]}' twice, expected each name once")

    def _opened(self) -> Any:
        if self.kind == "parquet":
            return pyarrow(".parquet").ParquetFile(self.path)
        ipc = pyarrow(".ipc")
        source = pyarrow().memory_map(self.path)
        return ipc.open_file(source) if self.kind == "file" else ipc.open_stream(source)

    def batches(self, columns: Optional[Sequence[str]] = None) -> Iterator[Any]:
        """All rows of all columns, or of these."""
        try:
            with self._opened() as reader:
                if self.kind == "parquet":
                    is_plain = columns is not None and not any("." in name for name in columns)
                    found = reader.iter_batches(ROWS, columns=list(columns or []) if is_plain else None)
                elif self.kind == "file":
                    found = (reader.get_batch(i) for i in range(reader.num_record_batches))
                else:
                    found = iter(reader)
                for batch in found:
                    if columns is not None:
                        batch = batch.select(list(columns))
                    for begin in range(0, batch.num_rows, ROWS):
                        yield batch.slice(begin, ROWS)
        except (OSError, pyarrow().ArrowException) as error:
            raise TableError(f"cannot read '{self.path}' on: {error}") from error


def synced(path: str) -> None:
    """A file, or the names in a folder, on the disk: they stay if the machine loses power."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class Writer:
    """Writes a file beside its name, which it takes once it is whole."""

    def __init__(self, path: str, schema: Any) -> None:
        self.path, self.schema, self.kind = path, schema, format_of(path)
        self._unfinished = path + ".new"
        self._batches: list[Any] = []
        try:
            self._writer = self._opened(self._unfinished)
        except (OSError, pyarrow().ArrowException) as error:
            raise TableError(f"cannot write '{path}': {error}") from error

    def _opened(self, sink: Any) -> Any:
        if self.kind == "parquet":
            return pyarrow(".parquet").ParquetWriter(sink, self.schema)
        ipc = pyarrow(".ipc")
        return (ipc.new_file if self.kind == "file" else ipc.new_stream)(sink, self.schema)

    def write(self, batch: Any) -> None:
        self._batches.append(batch)
        rows = sum(one.num_rows for one in self._batches)
        if rows >= GROUP_ROWS or sum(one.nbytes for one in self._batches) >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._batches:
            return
        table = pyarrow().Table.from_batches(self._batches, self.schema)
        self._batches = []
        try:
            self._writer.write_table(table, max(1, table.num_rows))
        except (OSError, pyarrow().ArrowException) as error:
            raise TableError(f"cannot write '{self.path}': {error}") from error

    def keep(self) -> None:
        self._flush()
        try:
            self._writer.close()
            synced(self._unfinished)
            os.replace(self._unfinished, self.path)
        except (OSError, pyarrow().ArrowException) as error:
            raise TableError(f"cannot write '{self.path}': {error}") from error
        with contextlib.suppress(OSError):  # some file systems cannot
            synced(os.path.dirname(self.path) or ".")

    def discard(self) -> None:
        with contextlib.suppress(OSError, pyarrow().ArrowException):  # it may have failed before
            self._writer.close()
        os.unlink(self._unfinished)


def dictionaries(reader: Reader) -> dict[str, Any]:
    """All values of each column of categories: a file of Arrow holds one dictionary for each."""
    pa = pyarrow()
    names = [field.name for field in reader.schema if pa.types.is_dictionary(field.type)]
    found: dict[str, Any] = {}
    if not names:
        return found
    for batch in reader.batches(names):
        for name in names:
            column = batch.column(name)
            none = pa.DictionaryArray.from_arrays(column.indices.slice(0, 0), column.dictionary)
            chunks = [none] if name not in found else [found[name], none]
            unified = pa.chunked_array(chunks).unify_dictionaries().chunk(0)
            found[name] = unified
    return {name: array.dictionary for name, array in found.items()}


def with_dictionary(column: Any, values: Any) -> Any:
    """A column of categories with other, or more, values in its dictionary."""
    compute = pyarrow(".compute")
    indices = compute.index_in(column.cast(column.type.value_type), value_set=values)
    return pyarrow().DictionaryArray.from_arrays(indices.cast(column.type.index_type), values, ordered=column.type.ordered)
