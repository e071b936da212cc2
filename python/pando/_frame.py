"""Answers as columns of a frame: of pandas, polars or pyarrow, none of which is needed for the others."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Sequence, TypeVar

import numpy as np

from ._c import Error, Place, wrong
from ._completion import BatchSummary
from ._requests import Line

Frame = TypeVar("Frame")
Run = Callable[[Iterator[Line], Callable[[dict[str, Any]], object]], BatchSummary]

# Fields of answers by the type of their column.
_FIELDS = {
    "text": "text",
    "finish_reason": "text",
    "reasoning": "text",
    "prompt_tokens": "integer",
    "completion_tokens": "integer",
    "logprobs": "f32s",
    "choice_logprobs": "f64s",
}


@dataclass(frozen=True)
class Column:
    values: list[Any]  # [rows], None for a null
    kind: str  # of _FIELDS
    in_lists: bool  # each is a list of such values


class Columns:
    """A frame of some library."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def names(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    def values(self, name: str) -> list[Any]:
        raise NotImplementedError

    def with_columns(self, columns: dict[str, Column]) -> Any:
        raise NotImplementedError


class _Pandas(Columns):
    def values(self, name: str) -> list[Any]:
        is_null = sys.modules["pandas"].isna
        values = [_as_list(value) for value in self.frame[name]]
        return [value if isinstance(value, list) or not is_null(value) else None for value in values]

    def with_columns(self, columns: dict[str, Column]) -> Any:
        frame = self.frame.copy()
        for name, column in columns.items():
            dtype = "object" if column.in_lists else {"text": "string", "integer": "Int64"}.get(column.kind, "object")
            array = sys.modules["pandas"].Series(column.values, index=frame.index, dtype=dtype)
            frame[name] = array.array  # by position: an index may have a label twice
        return frame


class _Polars(Columns):
    def values(self, name: str) -> list[Any]:
        values: list[Any] = self.frame[name].to_list()
        return values

    def with_columns(self, columns: dict[str, Column]) -> Any:
        polars: Any = sys.modules["polars"]
        types = {
            "text": polars.String,
            "integer": polars.Int64,
            "f32s": polars.List(polars.Float32),
            "f64s": polars.List(polars.Float64),
        }
        return self.frame.with_columns(
            polars.Series(name, c.values, dtype=polars.List(types[c.kind]) if c.in_lists else types[c.kind])
            for name, c in columns.items()
        )


class _Arrow(Columns):
    def names(self) -> list[str]:
        return list(self.frame.schema.names)

    def values(self, name: str) -> list[Any]:
        values: list[Any] = self.frame.column(name).to_pylist()
        return values

    def with_columns(self, columns: dict[str, Column]) -> Any:
        arrow: Any = sys.modules["pyarrow"]
        types = {
            "text": arrow.string(),
            "integer": arrow.int64(),
            "f32s": arrow.list_(arrow.float32()),
            "f64s": arrow.list_(arrow.float64()),
        }
        frame = self.frame
        for name, c in columns.items():
            of = arrow.list_(types[c.kind]) if c.in_lists else types[c.kind]
            frame = frame.append_column(name, arrow.array(c.values, type=of))
        return frame


_LIBRARIES = {
    "pandas": (("DataFrame",), _Pandas),
    "polars": (("DataFrame",), _Polars),
    "pyarrow": (("Table", "RecordBatch"), _Arrow),
}


def columns_of(frame: Any) -> Columns:
    # A frame of a library is there only where that library is loaded.
    for library, (names, kind) in _LIBRARIES.items():
        module = sys.modules.get(library)
        if module is not None and isinstance(frame, tuple(getattr(module, name) for name in names)):
            return kind(frame)
    raise wrong(
        "frame",
        f"the frame is a {type(frame).__module__}.{type(frame).__qualname__}, expected a pandas.DataFrame, "
        "polars.DataFrame, pyarrow.Table or pyarrow.RecordBatch (hint: pyarrow.table() makes one of what has "
        "__arrow_c_stream__)",
    )


def _as_list(value: Any) -> Any:
    if isinstance(value, tuple) or (type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1):
        return list(value)
    return value


def _texts(columns: Columns, name: str, may_be_lists: bool) -> tuple[list[Any], bool]:
    """The cells of a column, texts or None; and whether they are lists of these."""
    names = columns.names()
    if name not in names:
        raise wrong(name, f"the frame has no column '{name}', expected one (it has {', '.join(names)})")
    values = columns.values(name)
    in_lists = may_be_lists and any(isinstance(value, list) for value in values)
    for row, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, list) != in_lists or not all(
            one is None or isinstance(one, str) for one in (value if isinstance(value, list) else [value])
        ):
            expected = "a list of strings" if in_lists else "a string"
            place = f"{name}[{row}]"
            raise wrong(place, f"{place} is of type {type(value).__name__}, expected {expected} or a null")
    return values, in_lists


class FrameError(Error):
    """The first error of a frame; `frame` has the answers of the other rows."""

    __module__ = "pando"

    def __init__(self, code: str, message: str, place: Place, frame: Any) -> None:
        super().__init__(code, message, place)
        self.frame = frame

    def __reduce__(self) -> tuple[type[Error], tuple[Any, ...]]:
        return FrameError, (self.code, str(self), self.place, self.frame)


class _Rows:
    """Lines of a batch, one for each row that asks something, and the answers in their rows."""

    def __init__(self, contexts: list[Optional[str]], questions: list[Any], in_lists: bool) -> None:
        self.contexts, self.questions, self.in_lists = contexts, questions, in_lists
        self.rows: list[int] = []  # [lines]
        none = [None if q is None else [None] * len(q) for q in questions] if in_lists else [None] * len(questions)
        self.answers: list[Any] = none  # [rows], or [rows][questions], of lines of the output
        self.errors: list[Optional[str]] = [None] * len(questions)

    def lines(self) -> Iterator[Line]:
        for row, (context, question) in enumerate(zip(self.contexts, self.questions)):
            asked = [(i, text) for i, text in enumerate(question if self.in_lists else [question]) if text is not None] \
                if question is not None else []  # fmt: skip
            if context is None or not asked:
                continue
            self.rows.append(row)
            if self.in_lists:
                yield {"id": row, "context": context, "questions": [{"id": i, "text": text} for i, text in asked]}
            else:
                yield {"id": row, "context": context, "question": question}

    def take(self, result: dict[str, Any]) -> None:
        row = int(result["id"])
        if self.in_lists:
            self.answers[row][int(result["question_id"])] = result
        else:
            self.answers[row] = result

    def column(self, field: str) -> Column:
        def of(result: Optional[dict[str, Any]]) -> Any:
            value = None if result is None else result.get(field)
            if value is not None and _FIELDS[field] == "f32s":
                return np.array(value, dtype=np.float32).tolist()  # JSON has fewer digits
            return value

        values = [
            None if answer is None else [of(one) for one in answer] if self.in_lists else of(answer)
            for answer in self.answers
        ]
        return Column(values, _FIELDS[field], self.in_lists)


def answer_frame(
    run: Run, frame: Frame, *, context: str, question: str, output: str, extra: Sequence[str], errors: str
) -> Frame:
    """As Engine.answer_frame says; run: run_batch of an engine, with its options."""
    if errors not in ("raise", "null"):
        raise wrong("errors", f"errors is {errors!r}, expected 'raise' or 'null'")
    columns = columns_of(frame)
    for field in extra:
        if field not in _FIELDS or field == "text":
            raise wrong("extra", f"the field '{field}' is unknown, expected {', '.join(list(_FIELDS)[1:])}")
    added = {output: "text", **{f"{output}_{field}": field for field in extra}}
    for name in [*added, *([f"{output}_error"] if errors == "null" else [])]:
        if name in columns.names():
            raise wrong("output", f"the frame has a column '{name}' already (hint: output='...' gives another name)")
    questions, in_lists = _texts(columns, question, may_be_lists=True)
    contexts, _ = _texts(columns, context, may_be_lists=False)
    rows = _Rows(contexts, questions, in_lists)
    summary = run(rows.lines(), rows.take)
    for failure in summary.failures:
        row = rows.rows[failure.line - 1]
        rows.errors[row] = rows.errors[row] or str(failure.error)
    made = {name: rows.column(field) for name, field in added.items()}
    if errors == "null":
        made[f"{output}_error"] = Column(rows.errors, "text", in_lists=False)
    result: Frame = columns.with_columns(made)
    if errors == "raise" and summary.failures:
        row, error = rows.rows[summary.failures[0].line - 1], summary.failures[0].error
        place = Place(file=error.place.file, field=f"{question}[{row}]", option=error.place.option)
        raise FrameError(error.code, f"row {row}: {error}", place, result)
    return result
