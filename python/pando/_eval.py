"""`python -m pando eval`: scores the answers of a Parquet or Arrow file, whose rows go to `pando eval` as JSON lines."""

from __future__ import annotations

import json
from typing import Any, Iterator, Sequence

from ._program import asks_for_help, plain, run_program
from ._tables import Reader, TableError, pyarrow

USAGE = "usage: python -m pando eval FILE [options of `pando eval`]"


def holds_bytes(of: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(of):
        return holds_bytes(of.value_type)
    is_bytes = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(test(of) for test in is_bytes) or any(holds_bytes(of.field(i).type) for i in range(of.num_fields))


def row_lines(reader: Reader) -> Iterator[bytes]:
    """A line for each row, without columns that hold bytes."""
    columns = [field.name for field in reader.schema if not holds_bytes(field.type)]
    for batch in reader.batches(columns):
        for row in batch.to_pylist():
            yield (json.dumps(plain(row), ensure_ascii=False, default=text_of_other) + "\n").encode()


def text_of_other(value: Any) -> str:
    return str(value)


def evaluate(arguments: Sequence[str]) -> int:
    if asks_for_help(arguments):
        print(USAGE)
        return 0
    if not arguments or arguments[0].startswith("-"):
        raise TableError(f"eval: expected FILE first\n{USAGE}")
    return run_program(["eval", "-", "--format", "jsonl", *arguments[1:]], row_lines(Reader(arguments[0])))
