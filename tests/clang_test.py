#!/usr/bin/env python3
"""Clang accepts the sources of src/ and lab/ and the headers of include/, with the warnings of the build.

usage: clang_test.py COMPILE_COMMANDS

With PANDO_SLOW_TESTS in the environment: every source. Without it: those that were changed within a day before the
newest commit, or are not committed, and for each changed header a source that includes it; with the sources that are
compiled in one go with them.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

COMPILER = "clang++-14"
SKIPPED = 77
FOLDERS = ("src", "include", "lab")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def check(entry):
    """Returns what Clang says against one translation unit."""
    arguments = shlex.split(entry["command"])[1:]
    output = arguments.index("-o")
    del arguments[output:output + 2]
    arguments.remove("-c")
    while "-include" in arguments:  # headers that GCC precompiled
        included = arguments.index("-include")
        del arguments[included:included + 2]
    command = [COMPILER, "-fsyntax-only", "-Wno-unknown-warning-option", *arguments, "-Werror"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.split()


def changed_sources(compiled):
    """Paths of recently changed sources, and for each changed header of a compiled source that includes it."""
    newest = int(git("log", "-1", "--format=%ct")[0])
    base = git("rev-list", "-1", f"--before={newest - 86400}", "HEAD") or git("rev-list", "--max-parents=0", "HEAD")
    names = git("diff", "--name-only", "--diff-filter=d", base[0], "--", *FOLDERS)
    names += git("ls-files", "--others", "--exclude-standard", "--", *FOLDERS)
    including = includes()
    return {source for name in names if (source := source_with(name, including, compiled))}


def includes():
    """By source or header of FOLDERS, what it includes; paths below the repository."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]*"))]
    found = {}
    for path in paths:
        named = re.findall(r'^#include "(.*)"', path.read_text(), re.M)
        found[str(path.relative_to(ROOT))] = {f"{folder}{name}" for folder in ("src/", "include/", "") for name in named}
    return found


def source_with(name, including, compiled):
    """The source itself; of a header one that includes it, if need be by other headers; None where none is compiled."""
    reached, front = {name}, [name]
    while front:
        if sources := compiled.intersection(front):
            return min(sources)
        front = [path for path, named in including.items() if path not in reached and named & set(front)]
        reached.update(front)
    return None


def sources_of(unit):
    """Paths below the repository of the sources of one translation unit."""
    file = pathlib.Path(unit["file"])
    paths = re.findall(r'#include "(.*)"', file.read_text()) if "Unity" in file.parts else [unit["file"]]
    return {str(pathlib.Path(path).relative_to(ROOT)) for path in paths if pathlib.Path(path).is_relative_to(ROOT)}


def main() -> int:
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed")
        return SKIPPED
    with open(sys.argv[1]) as file:
        units = [entry for entry in json.load(file) if "CMakeFiles/pando" in entry["command"]]
    assert units, "no translation unit of src/"
    if "PANDO_SLOW_TESTS" not in os.environ:
        changed = changed_sources(set().union(*map(sources_of, units)))
        units = [unit for unit in units if sources_of(unit) & changed]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(check, units) if text]
    print("\n".join(complaints))
    print(f"{len(units)} translation units, {len(complaints)} that Clang refuses")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
