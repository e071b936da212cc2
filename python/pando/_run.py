"""`python -m pando run`: the batch runner over Parquet and Arrow files.

Rows go as one JSON array to the program `pando run`, whose output OUTPUT.jsonl with its journal makes the run one that
--resume continues. A feeder that is killed leaves an array without its end, which is no finished input.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import sys
from typing import Any, Iterator, Optional, Sequence

from . import _answer_columns, _tables
from ._options import SamplingOptions
from ._program import asks_for_help, plain, run_program
from ._tables import Reader, TableError, Writer, pyarrow

USAGE = """usage: python -m pando run INPUT OUTPUT [--resume | --overwrite] [--columns NAME=COLUMN,...] [options of `pando run`]

INPUT and OUTPUT end in .parquet, .arrow, .ipc, .feather (Arrow's IPC file) or .arrows (its stream). OUTPUT has the rows and
columns of INPUT and the columns of the answers; a row with several answers comes once for each."""
TEXTS = ("context", "question", "prompt", "instruction", "template", "answer")
OTHERS = ("questions", "answers", "choices", "schema", "tokens", "messages", "tools", "tool_choice", "parallel_tool_calls",
          "thinking", "thinking_budget", "documents", "chat_template_kwargs")
ASKING = ("question", "questions", "prompt", "tokens", "messages")
OURS = ("--input", "--output", "--ordered", "--format")


def text_of(value: Any) -> str:
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Columns:
    """The fields of a line, and the columns that they come from."""

    def __init__(self, schema: Any, renamed: dict[str, str], group_by: Optional[str]) -> None:
        self.options = [name for name in SamplingOptions.__annotations__]
        taken = set(renamed.values())
        known = [*TEXTS, *OTHERS, *self.options]
        self.of = {name: renamed.get(name, name) for name in known
                   if name in renamed or (name in schema.names and name not in taken)}
        missing = [column for column in [*renamed.values(), group_by] if column and column not in schema.names]
        if missing:
            raise TableError(f"there is no column '{missing[0]}', expected one of {', '.join(schema.names)}")
        if not any(name in self.of for name in ASKING):
            raise TableError(f"no column asks: there are {', '.join(schema.names)}, expected question, prompt or messages "
                             "(hint: --columns question=NAME)")
        self.group_by = group_by
        self.read = sorted({*self.of.values(), *([group_by] if group_by else [])})

    def line(self, number: int, row: dict[str, Any]) -> Optional[dict[str, Any]]:
        """The line of a row; nothing where it asks nothing."""
        line: dict[str, Any] = {"id": number}
        for name, column in self.of.items():
            value = row[column]
            if value is not None:
                line[name] = text_of(value) if name in TEXTS else plain(value)
        if not any(name in line for name in ASKING):
            return None
        if "answer" in line:
            line["answers"] = [line.pop("answer")]
        if self.group_by and row[self.group_by] is not None:
            line["metadata"] = {self.group_by: plain(row[self.group_by])}
        return line


def array_text(reader: Reader, columns: Columns) -> Iterator[bytes]:
    """The lines of all rows as the text of one array."""
    number, before = 0, "["
    for batch in reader.batches(columns.read):
        for row in batch.to_pylist():
            try:
                line = columns.line(number, row)
                text = "" if line is None else json.dumps(line, ensure_ascii=False, allow_nan=False)
            except (ValueError, TypeError) as error:
                raise TableError(f"row {number} of '{reader.path}': {error}") from error
            number += 1
            if line is not None:
                yield f"{before}{text}".encode()
                before = ",\n"
    yield b"[]" if before == "[" else b"]\n"


def by_rows(answers: Iterator[dict[str, Any]], path: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    row = -1
    found: list[dict[str, Any]] = []
    for answer in answers:
        if answer["id"] < row:
            raise TableError(f"'{path}': row {answer['id']} follows row {row}, expected the order of the input")
        if answer["id"] > row and found:
            yield row, found
            found = []
        row = answer["id"]
        found.append(answer)
    if found:
        yield row, found


def free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = "answer." + name
    return name


def write_output(reader: Reader, lines: str, output: str) -> None:
    """The rows of the input with their answers."""
    pa = pyarrow()
    kinds = _answer_columns.kinds_of(lines)
    names = {name: free_name(name, reader.schema.names) for name in kinds}
    fields = [pa.field(names[name], _answer_columns.type_of(kind)) for name, kind in kinds.items()]
    schema = pa.schema([*reader.schema, *fields], metadata=reader.schema.metadata)
    unified = _tables.dictionaries(reader) if _tables.format_of(output) == "file" else {}
    writer = Writer(output, schema)
    try:
        answered = by_rows(_answer_columns.lines(lines), lines)
        upcoming = next(answered, None)
        number = 0
        for batch in reader.batches():
            taken, answers = [], []
            for row in range(batch.num_rows):
                of_row: list[dict[str, Any]] = [{}]
                if upcoming is not None and upcoming[0] == number:
                    of_row, upcoming = upcoming[1], next(answered, None)
                taken += [row] * len(of_row)
                answers += of_row
                number += 1
            columns = [batch.column(i) for i in range(batch.num_columns)]
            for i, field in enumerate(reader.schema):
                if field.name in unified:
                    columns[i] = _tables.with_dictionary(columns[i], unified[field.name])
            if len(taken) != batch.num_rows:
                columns = [column.take(pa.array(taken)) for column in columns]
            columns += [_answer_columns.column(name, kind, answers) for name, kind in kinds.items()]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
        if upcoming is not None:
            raise TableError(f"'{lines}' has an answer for row {upcoming[0]}, expected at most {number} rows")
        writer.keep()
    except BaseException:
        writer.discard()
        raise


def fingerprint(path: str, columns: Columns) -> str:
    digest = hashlib.blake2b(json.dumps([columns.of, columns.group_by]).encode(), digest_size=16)
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def check_input(path: str, found: str, resumes: bool) -> None:
    """Refuses to go on with another input: the program sees a pipe. Notes that of this run."""
    if not resumes or not os.path.exists(path):
        pathlib.Path(path).write_text(found + "\n")
    elif pathlib.Path(path).read_text() != found + "\n":
        raise TableError("the input or --columns differ from those of the earlier run, expected the same (hint: --overwrite)")


def parse(arguments: Sequence[str]) -> tuple[str, str, argparse.Namespace, list[str]]:
    if len(arguments) < 2 or any(one.startswith("-") for one in arguments[:2]):
        raise TableError("run: expected INPUT and OUTPUT first\n" + USAGE)
    parser = argparse.ArgumentParser(usage=USAGE, allow_abbrev=False, add_help=False)
    for name in ("--resume", "--overwrite", "--quiet"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--columns", action="append", default=[])
    parser.add_argument("--group-by")
    own, rest = parser.parse_known_args(list(arguments[2:]))
    for name in rest:
        if name.split("=")[0] in OURS:
            raise TableError(f"{name} is given, expected INPUT and OUTPUT alone")
    return arguments[0], arguments[1], own, rest


def renamed_columns(given: Sequence[str]) -> dict[str, str]:
    renamed = {}
    for pair in ",".join(given).split(",") if given else []:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise TableError(f"--columns: '{pair}', expected NAME=COLUMN such as question=Q")
        renamed[name] = column
    return renamed


def run(arguments: Sequence[str]) -> int:
    if asks_for_help(arguments):
        print(USAGE)
        return 0
    source, output, own, rest = parse(arguments)
    lines = output + ".jsonl"
    _tables.format_of(output)
    for path in (output, lines):
        if not (own.resume or own.overwrite) and os.path.exists(path) and os.path.getsize(path) > 0:
            raise TableError(f"'{path}' exists, expected a new name (hint: --resume or --overwrite)")
    if os.path.exists(output) and os.path.samefile(source, output):
        raise TableError(f"'{output}' is the input, expected a different file to write to")
    reader = Reader(source)
    Writer(output, reader.schema).discard()  # a type that the format lacks is told before the run
    columns = Columns(reader.schema, renamed_columns(own.columns), own.group_by)
    used = [column for name, column in columns.of.items() if name in columns.options]
    if used and not own.quiet:
        print(f"pando: used as options of each row: {', '.join(used)}", file=sys.stderr)
    check_input(lines + ".input", fingerprint(source, columns), own.resume)
    flags = [name for name in ("--resume", "--overwrite", "--quiet") if getattr(own, name[2:])]
    if own.group_by:
        flags += ["--group-by", own.group_by]
    code = run_program(["run", "--input", "-", "--ordered", "--output", lines, *flags, *rest], array_text(reader, columns))
    if code not in (0, 3) or not os.path.exists(lines):
        return code
    write_output(reader, lines, output)
    return code
