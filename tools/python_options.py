#!/usr/bin/env python3
"""Writes python/pando/_options.py, the typed options of the Python package, of the library's table of options.

    python3 tools/python_options.py build/libpando-c.so python/pando/_options.py
    python3 tools/python_options.py build/libpando-c.so python/pando/_options.py --check
"""
import argparse
import ctypes
import json
import pathlib
import sys

TYPES = {"integer": "int", "number": "float", "boolean": "bool", "text_list": "Union[str, Sequence[str]]",
         "token_list": "Sequence[int]", "token_numbers": "Mapping[int, float]"}
HEAD = '''"""Written by tools/python_options.py of the library's table of options; a test compares them."""

from __future__ import annotations

from typing import Mapping, Sequence, TypedDict, Union


class SamplingOptions(TypedDict, total=False):
    """How answers are drawn and what is reported of them; docs/answers.md says it in full."""
'''


def described(option):
    notes = [option["expected"]] if "expected" in option else []
    if option["default"] not in (None, [], {}):
        notes.append(f"default {str(option['default']).removesuffix('.0')}")
    help = option["help"] + (f" ({', '.join(notes)})" if notes else "")
    return f'    {option["name"]}: {TYPES[option["type"]]}\n    """{help}."""'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libpando-c.so")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    args = parser.parse_args()
    library = ctypes.CDLL(args.library)
    library.pando_request_options.restype = ctypes.c_char_p
    options = json.loads(library.pando_request_options())
    text = "\n".join([HEAD, *map(described, options)]) + "\n"
    if not args.check:
        args.file.write_text(text)
    elif text != args.file.read_text():
        sys.exit(f"{args.file} is not the library's table: run tools/python_options.py {args.library} {args.file}")


if __name__ == "__main__":
    main()
