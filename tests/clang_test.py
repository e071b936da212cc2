#!/usr/bin/env python3
"""Clang accepts the sources of src/, with the warnings of the build.

usage: clang_test.py COMPILE_COMMANDS

With PANDO_SLOW_TESTS in the environment it compiles every source. Without it, only sources that changed (or whose
header changed) within a day before the newest commit, uncommitted ones, and sources that are compiled as one with these.
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


def check(entry):
    """What Clang says against one translation unit."""
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
    root = pathlib.Path(__file__).resolve().parent.parent
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.split()


def changed_sources():
    """Paths below the repository, without their suffix, of recently changed sources and headers."""
    newest = int(git("log", "-1", "--format=%ct")[0])
    base = git("rev-list", "-1", f"--before={newest - 86400}", "HEAD") or git("rev-list", "--max-parents=0", "HEAD")
    names = git("diff", "--name-only", base[0], "--", "src") + git("ls-files", "--others", "--", "src")
    return {name.rsplit(".", 1)[0] for name in names}


def sources_of(unit):
    """Paths below the repository, without their suffix, of the sources of one translation unit."""
    file = pathlib.Path(unit["file"])
    paths = re.findall(r'#include "(.*)"', file.read_text()) if "Unity" in file.parts else [unit["file"]]
    return {path[path.rindex("/src/") + 1:].rsplit(".", 1)[0] for path in paths if "/src/" in path}


def main() -> int:
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed")
        return SKIPPED
    with open(sys.argv[1]) as file:
        units = [entry for entry in json.load(file) if "CMakeFiles/pando" in entry["command"]]
    assert units, "no translation unit of src/"
    if "PANDO_SLOW_TESTS" not in os.environ:
        changed = changed_sources()
        units = [unit for unit in units if sources_of(unit) & changed]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(check, units) if text]
    print("\n".join(complaints))
    print(f"{len(units)} translation units, {len(complaints)} that Clang refuses")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
