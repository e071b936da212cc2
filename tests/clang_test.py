#!/usr/bin/env python3
"""Clang accepts every source of src/, with the warnings of the build.

usage: clang_test.py COMPILE_COMMANDS
"""
import concurrent.futures
import json
import os
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
    command = [COMPILER, "-fsyntax-only", "-Wno-unknown-warning-option", *arguments, "-Werror"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode != 0 else ""


def main() -> int:
    if shutil.which(COMPILER) is None:
        print(f"{COMPILER} is not installed")
        return SKIPPED
    with open(sys.argv[1]) as file:
        units = [entry for entry in json.load(file) if "CMakeFiles/pando" in entry["command"]]
    assert units, "no translation unit of src/"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(check, units) if text]
    print("\n".join(complaints))
    print(f"{len(units)} translation units, {len(complaints)} that Clang refuses")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
