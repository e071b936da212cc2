#!/usr/bin/env python3
"""No folder includes one that stands above it, no file is too long: the floors of docs/architecture.md.

usage: floors_test.py SOURCE_DIR
"""
import pathlib
import re
import statistics
import sys

# What each folder of src/ may include besides itself and include/pando.
FLOORS = {
    "base": set(),
    "text": {"base"},
    "kernel": {"base"},
    "step": {"base", "kernel"},
    "model": {"base", "kernel"},
    "comm": {"base"},
    "exec": {"base", "kernel", "step", "model", "comm"},
    "cache": {"base", "kernel"},
    "schedule": {"base"},
    "plan": {"base", "kernel", "step", "cache"},
    "engine": {"base", "text", "kernel", "step", "model", "comm", "exec", "cache", "schedule", "plan"},
    "api": {"base", "text", "kernel", "step", "model", "comm", "exec", "cache", "schedule", "plan", "engine"},
    "task": {"base", "engine", "api"},
    "wire": {"base", "text", "engine", "api", "task"},
    "batch": {"base", "text", "cache", "engine", "api", "task", "wire"},
    "serve": {"base", "text", "engine", "api", "task", "wire"},
    "capi": {"base", "api", "task", "wire"},
    "bench": {"base", "kernel", "engine", "api"},
    "mpi": {"base", "comm"},
    "cli": {"base", "bench", "serve", "mpi"},  # besides these the public API and nothing else
}
# The laboratory may include all but what is above it, and nothing but one file knows of it.
FLOORS["lab"] = FLOORS.keys() - {"capi", "cli"}
KNOWS_LAB = "src/cli/laboratory.cc"
# Tests that are left out of a build without the laboratory.
TESTS_OF_LAB = ("tests/lab/", "tests/cli/lab_test.cc", "tests/engine/open_laboratory.cc")
# Of engine/ this one knows how a step is computed; the others know exec/executor.h alone.
KNOWS_COMPUTING = {"technique.h"}
LONGEST = 600
MEDIAN = 200


def needing_lab(root):
    """Includes that keep a build with -DPANDO_LAB=OFF from linking."""
    for path in sorted((root / "tests").rglob("*")):
        name = str(path.relative_to(root))
        if path.suffix in (".h", ".cc") and not name.startswith(TESTS_OF_LAB) and '#include "lab/' in path.read_text():
            yield f"{name}: includes lab/, expected in {', '.join(TESTS_OF_LAB)} alone"
    links = [line.split() for line in re.findall(r"pando_floor\(cli ([^)]*)\)", (root / "cmake/floors.cmake").read_text())]
    if len(links) != 2 or links[0] != ["lab", *links[1]]:
        yield f"cmake/floors.cmake: cli links {links}, expected the same with and without lab"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = []
    lengths = {}
    files = [p for top in ("src", "include") for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cc")]
    for path in files:
        lines = path.read_text().splitlines()
        lengths[path] = len(lines)
        name = path.relative_to(root)
        folder = name.parts[1] if name.parts[0] == "src" else "pando"
        if folder not in FLOORS and folder != "pando":
            problems.append(f"{name}: folder '{folder}' is on no floor")
            continue
        if path.suffix == ".h" and '#include "base/fault.h"' in lines:
            problems.append(f"{name}: includes base/fault.h, expected that of .cc files alone, which are compiled again with faults")
        allowed = FLOORS.get(folder, set()) | {folder, "pando"} | ({"lab"} if str(name) == KNOWS_LAB else set())
        for number, line in enumerate(lines, 1):
            found = re.match(r'#include "([^/"]+)/', line)
            if found and found[1] in FLOORS.keys() | {"pando"} and found[1] not in allowed:
                problems.append(f"{name}:{number}: includes {found[1]}/, which does not stand below {folder}/")
        if folder == "engine" and name.name not in KNOWS_COMPUTING:
            problems += [f"{name}: includes {line[10:-1]}, expected exec/executor.h of all that computes"
                         for line in lines if re.match(r'#include "(model|kernel|exec)/', line) and "exec/executor.h" not in line]
    problems += needing_lab(root)
    problems += [f"{p.relative_to(root)}: {n} lines, at most {LONGEST}" for p, n in lengths.items() if n > LONGEST]
    median = statistics.median(lengths.values())
    if median >= MEDIAN:
        problems.append(f"the median file has {median} lines, expected under {MEDIAN}")
    print(f"{len(files)} files, median {median:.0f} lines, longest {max(lengths.values())}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
