"""The C functions are in _c.py as in pando.h. Runs where the header is at hand."""

import ctypes
import pathlib
import re

import pytest

from pando import _c

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/pando.h"
TEXT = re.sub(r"//.*", "", HEADER.read_text())
INTEGERS = {"size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64}
NUMBERS = {**INTEGERS, "uint8_t": ctypes.c_uint8, "float": ctypes.c_float, "double": ctypes.c_double}


def expected_type(name, declared):
    if not declared.endswith("*"):
        return INTEGERS[declared]
    to = declared.removeprefix("const ").removesuffix("*").strip()
    if to == "char":
        return ctypes.c_char_p if name == "finish_reason" else ctypes.POINTER(ctypes.c_char)
    return ctypes.POINTER(STRUCTS[to] if to in STRUCTS else NUMBERS[to])


STRUCTS = {
    "pando_tool_call": _c.ToolCallStruct,
    "pando_completion": _c.CompletionStruct,
    "pando_event": _c.EventStruct,
}


@pytest.mark.parametrize("name, struct", STRUCTS.items())
def test_structs(name, struct):
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", TEXT, re.S)[1]
    fields = re.findall(r"([\w ]+?[\w*]) *\b(\w+);", body)
    assert [(n, expected_type(n, d.strip())) for d, n in fields] == struct._fields_


def test_functions():
    declared = dict(re.findall(r"PANDO_API [\w ]+?\*?\s*\b(pando_\w+)\((.*?)\);", TEXT, re.S))
    n_arguments = {name: 0 if a == "void" else a.count(",") + 1 for name, a in declared.items()}
    assert n_arguments == {name: len(arguments) for name, (_, arguments) in _c.FUNCTIONS.items()}


def test_statuses():
    found = {name: int(value) for name, value in re.findall(r"PANDO_(\w+) = (-?\d+)", TEXT)}
    for name in ("OK", "TIMEOUT", "END", "CANCELLED"):
        assert getattr(_c, name) == found[name]
    for name, value in found.items():
        assert _c.library.pando_status_name(value).decode() == name.lower()
