#!/usr/bin/env python3
"""Prints every message of the program, each with its place, so that one can read them all in one go.

    tools/messages.py                   the command line, the server and the library
    tools/messages.py src/cli python    of these folders or files
    tools/messages.py --help-texts      the help of commands and options too

A message is a string literal of an error, a warning, a note or a log line. Literals that the compiler joins are
joined, {} stand as they are. A text that is put together of several literals shows each of them.
"""
import argparse
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [f"src/{name}" for name in ("cli", "serve", "ask", "batch", "task", "api", "engine", "schedule", "plan",
                                      "step", "cache", "exec", "model", "text", "base", "capi")] + ["python/pando"]

HELP_CALLS = {"add_option", "add_flag", "add_subcommand", "group", "footer", "description", "default_str", "type_name",
              "App"}
SILENT_CALLS = {"static_assert", "asm", "volatile", "find_first_of", "find_last_of", "find_first_not_of",
                "find_last_not_of", "PANDO_CHECK", "popen", "__attribute__"}
# Calls whose literals may be messages even if they are not prose; elsewhere a literal must read
# like prose.
ERROR_CALLS = {"invalid_argument", "invalid_field", "blame", "make_error", "not_found", "unsupported", "bad_file",
               "io_error", "fail", "fail_here", "refuse", "refused", "report_error", "not_offered",
               "runtime_error", "print_stderr", "warn", "log_error", "log"}
NAME = re.compile(r"[a-z0-9_.]+")  # of a field or a value
PROSE = re.compile(r"[A-Za-z)'}\"`,;:] +[A-Za-z('{\"`]*[A-Za-z]{2}|[a-z]{2}[,;:]? +[a-z'{(\"]|^[,;:]? [a-z]{2,}")

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<raw>(?:u8|u|U|L)?R"(?P<mark>[^(\s]{0,16})\((?P<raw_text>.*?)\)(?P=mark)")
  | (?P<string>(?:u8|u|U|L)?"(?P<text>(?:\\.|[^"\\\n])*)")
  | (?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')
  | (?P<word>[A-Za-z_][A-Za-z_0-9]*|[0-9][0-9A-Za-z_.']*)
  | (?P<space>\s+)
  | (?P<mark_of_speech>.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)


def literals_of_cpp(source):
    """(line, text, names of the calls around it, outermost first) of each literal, joined as the compiler does."""
    calls, last_word, open_literal = [], "", None
    for match in TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if match.group("raw"):
            kind = "raw"
        elif match.group("string"):
            kind = "string"
        if kind in ("comment", "space", "directive"):
            continue
        if kind in ("string", "raw"):
            value = match.group("text") if kind == "string" else match.group("raw_text")
            if open_literal:
                open_literal[1] += value
            else:
                open_literal = [source.count("\n", 0, match.start()) + 1, value, [name for name in calls if name]]
            continue
        if open_literal:
            yield open_literal
            open_literal = None
        if kind == "word":
            last_word = text
            continue
        if text in "([{":
            calls.append(last_word)
        elif text in ")]}" and calls:
            calls.pop()
        if text not in "<>:*&,":
            last_word = ""
    if open_literal:
        yield open_literal


def literals_of_python(source):
    """The same for Python: f-strings keep their {}, docstrings are left out."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}

    def walk(node, calls):
        if id(node) in docstrings and isinstance(node, ast.Constant):
            return
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}"
                     for part in node.values)
            yield node.lineno, "".join(parts), calls
            return
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value, calls
            return
        inner = calls
        if isinstance(node, ast.Call):
            name = node.func
            inner = calls + [name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")]
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.AnnAssign) and child is node.annotation):
                yield from walk(child, inner)

    yield from walk(tree, [])


def is_message(text, calls):
    if SILENT_CALLS.intersection(calls):
        return False
    if PROSE.search(text):
        return True
    is_error = bool(calls) and calls[-1] in ERROR_CALLS
    return is_error and NAME.fullmatch(text) is None and re.search(r"[a-z]{3}", text) is not None


def messages_of(path):
    """(line, text, whether it is a help text) of each message in a file."""
    source = path.read_text(encoding="utf-8")
    for line, text, calls in (literals_of_python if path.suffix == ".py" else literals_of_cpp)(source):
        is_help = bool(HELP_CALLS.intersection(calls)) and not ERROR_CALLS.intersection(calls)
        if is_message(text, calls):
            yield line, text, is_help


def files_in(folders):
    for folder in folders:
        found = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        yield from (path for path in found if path.suffix in (".cc", ".h", ".py"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="*", type=pathlib.Path, help="folders or files, instead of all of the program")
    parser.add_argument("--help-texts", action="store_true", help="the help of commands and options too")
    arguments = parser.parse_args()
    folders = arguments.folder or [ROOT / name for name in FOLDERS]
    for folder in folders:
        if not folder.exists():
            sys.exit(f"{folder} does not exist, expected a folder or a file with sources")
    n_messages = 0
    for path in files_in(folders):
        place = path.resolve()
        place = place.relative_to(ROOT) if place.is_relative_to(ROOT) else path
        for line, text, is_help in messages_of(path):
            if is_help and not arguments.help_texts:
                continue
            n_messages += 1
            print(f"{place}:{line}: {'(help) ' if is_help else ''}{text}")
    print(f"{n_messages} messages", file=sys.stderr)


if __name__ == "__main__":
    main()
