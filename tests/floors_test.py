#!/usr/bin/env python3
"""No folder includes one that stands above it, no file is too long: the floors of docs/architecture.md, and lab/.

usage: floors_test.py SOURCE_DIR
"""
import pathlib
import re
import statistics
import sys

# Folders that each folder of src/ may include besides itself and include/pando.
FLOORS = {
    "base": set(),
    "contract": {"base"},
    "text": {"base"},
    "comm": {"base"},
    "exec": {"base", "contract", "comm"},  # below the waist
    "model": {"base", "contract"},
    "cache": {"base", "contract"},
    "schedule": {"base"},
    "plan": {"base", "contract", "cache"},
    "engine": {"base", "contract", "text", "cache", "schedule", "plan"},
    "api": {"base", "contract", "text", "comm", "model", "cache", "schedule", "plan", "engine"},
    "task": {"base", "text", "engine", "api"},
    "ask": {"base", "text", "engine", "api", "task"},
    "batch": {"base", "text", "cache", "schedule", "engine", "api", "task", "ask"},
    "serve": {"base", "text", "schedule", "engine", "api", "task", "ask"},
    "capi": {"base", "api", "task", "ask"},
    "bench": {"base", "contract", "engine", "api"},
    "hub": {"base"},
    "mpi": {"base", "comm"},
    "cli": {"base", "bench", "serve", "hub", "mpi"},  # besides these the public API and nothing else
}
# They know values of the public API, but none of its calls.
BELOW_API = ("base", "hub", "contract", "text", "comm", "exec", "model", "cache", "schedule", "plan", "engine")
# The laboratory, beside src/, may include all but what is above it, and nothing but one file knows of it.
FLOORS["lab"] = FLOORS.keys() - {"capi", "cli"}
KNOWS_LAB = "src/cli/laboratory.cc"
# Benchmarks of the kernels themselves.
KNOWS_EXEC = ("src/bench/cpu/", "src/bench/gpu/")
LONGEST = 600
MEDIAN = 200


def needing_lab(root):
    """Returns what keeps a build with -DPANDO_LAB=OFF from linking."""
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".h", ".cc") and '#include "lab/' in path.read_text():
            yield f"{path.relative_to(root)}: includes lab/, expected in lab/tests/ alone"
    links = [line.split() for line in re.findall(r"pando_floor\(cli ([^)]*)\)", (root / "cmake/floors.cmake").read_text())]
    if len(links) != 2 or links[0] != ["lab", *links[1]]:
        yield f"cmake/floors.cmake: cli links {links}, expected the same with and without lab"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = []
    lengths = {}
    files = [p for top in ("src", "include", "lab") for p in sorted((root / top).rglob("*"))
             if p.suffix in (".h", ".cc") and root / "lab/tests" not in p.parents]
    for path in files:
        lines = path.read_text().splitlines()
        lengths[path] = len(lines)
        name = path.relative_to(root)
        folder = {"src": name.parts[1], "include": "pando", "lab": "lab"}[name.parts[0]]
        if folder not in FLOORS and folder != "pando":
            problems.append(f"{name}: folder '{folder}' is on no floor")
            continue
        if folder != "api" and '#include "api/model_parts.h"' in lines:
            problems.append(f"{name}: includes api/model_parts.h, expected api/model_access.h")
        if path.suffix == ".h" and '#include "base/fault.h"' in lines:
            problems.append(f"{name}: includes base/fault.h, expected that of .cc files alone, which are compiled again with faults")
        allowed = FLOORS.get(folder, set()) | {folder, "pando"} | ({"lab"} if str(name) == KNOWS_LAB else set())
        allowed |= {"exec"} if str(name).startswith(KNOWS_EXEC) else set()
        for number, line in enumerate(lines, 1):
            if folder in ("text", "model") and re.search(r"(MappedFile|GgufFile)::open\(|ifstream", line):
                problems.append(f"{name}:{number}: opens a file, expected a ModelPath, which opens each once")
            facade = re.match(r'#include "(pando/(?!values/).*)"', line)
            if facade and (folder in BELOW_API or name.parts[:3] == ("include", "pando", "values")):
                problems.append(f"{name}:{number}: includes {facade[1]}, expected headers of include/pando/values/ alone")
            found = re.match(r'#include "([^/"]+)/', line)
            if found and found[1] in FLOORS.keys() | {"pando"} and found[1] not in allowed:
                problems.append(f"{name}:{number}: includes {found[1]}/, which does not stand below {folder}/")
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
