"""Columns of answers, from the lines that `pando run` writes."""

from __future__ import annotations

import json
from typing import Any, Iterator

from ._tables import TableError, pyarrow

# These are there even if no row has an answer.
BASE = {"text": "string", "finish_reason": "string", "prompt_tokens": "int", "completion_tokens": "int"}
LEFT_OUT = ("id", "metadata")  # the row has them


def lines(path: str) -> Iterator[dict[str, Any]]:
    """The answers of an output, in its order."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            answer = json.loads(line) if line.endswith("\n") else None
            if not isinstance(answer, dict) or not isinstance(answer.get("id"), int):
                raise TableError(f"'{path}', line {number}: expected an answer whose id is the number of a row")
            yield answer


def kind_of(value: Any) -> str:
    """null, bool, int, float, string, "list " and one of these, or json for all else."""
    if isinstance(value, list):
        inner = "null"
        for one in value:
            inner = merged(inner, kind_of(one))
        return "json" if inner.startswith(("list", "json")) else "list " + inner
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return "json"
    names: dict[type, str] = {type(None): "null", bool: "bool", int: "int", float: "float", str: "string"}
    return names.get(type(value), "json")


def merged(a: str, b: str) -> str:
    """The kind of a column with values of both."""
    if a == b or b == "null":
        return a
    if a == "null":
        return b
    if {a, b} == {"int", "float"}:
        return "float"
    if a.startswith("list ") and b.startswith("list "):
        inner = merged(a[5:], b[5:])
        return "json" if inner == "json" else "list " + inner
    return "json"


def kinds_of(path: str) -> dict[str, str]:
    """The kind of each column of an output."""
    kinds = dict(BASE)
    for answer in lines(path):
        for name, value in answer.items():
            if name not in LEFT_OUT:
                kinds[name] = merged(kinds.get(name, "null"), kind_of(value))
    return kinds


def type_of(kind: str) -> Any:
    pa = pyarrow()
    if kind.startswith("list "):
        return pa.list_(type_of(kind[5:]))
    return {"null": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}.get(kind, pa.string())


def column(name: str, kind: str, answers: list[dict[str, Any]]) -> Any:
    values = [answer.get(name) for answer in answers]
    if kind == "json":
        values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pyarrow().array(values, type_of(kind))
