#!/usr/bin/env python3
"""The time budget of docs/checks.md: its parts take at most 30 minutes together, and each unit test is in one part.

usage: budget_test.py BUILD [--measured]

--measured: prints instead what each part took when ctest ran last, in minutes of one core.
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

LIMIT = 30  # minutes of two cores
PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "checks.md"


def parts():
    """(names of test programs and scripts, declared minutes) of each row of the table under "## Time"."""
    section = PAGE.read_text().split("\n## Time\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([^`]+)`", row[0]), float(row[-1])) for row in rows]


def unit_tests(build):
    """name -> program, or the name itself if the test is a script."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--label-regex", "unit", "--show-only=json-v1"],
                            capture_output=True, text=True, check=True).stdout
    tests = {}
    for test in json.loads(listed)["tests"]:
        program = pathlib.Path(test.get("command", [test["name"]])[0]).name
        tests[test["name"]] = program if program.endswith(("_tests", "_test")) else test["name"]
    return tests


def is_among(program, patterns):
    return any(fnmatch.fnmatch(program, pattern) for pattern in patterns)


def print_measured(build, tests):
    costs = {}
    for line in (pathlib.Path(build) / "Testing" / "Temporary" / "CTestCostData.txt").read_text().splitlines():
        fields = line.rsplit(" ", 2)
        if len(fields) == 3 and fields[0] in tests:
            program = tests[fields[0]]
            costs[program] = costs.get(program, 0) + float(fields[2])
    for names, declared in parts():
        measured = sum(cost for program, cost in costs.items() if is_among(program, names)) / 60
        print(f"{measured:6.1f} core minutes, declared {2 * declared:4.1f}: {' '.join(names)}")


def main() -> int:
    tests = unit_tests(sys.argv[1])
    if "--measured" in sys.argv:
        print_measured(sys.argv[1], tests)
        return 0
    rows = parts()
    total = sum(minutes for _, minutes in rows)
    assert 0 < total <= LIMIT, f"the parts of docs/checks.md take {total} minutes, more than {LIMIT}"
    for program in set(tests.values()):
        n_rows = sum(is_among(program, names) for names, _ in rows)
        assert n_rows == 1, f"{program} is in {n_rows} rows of the table of docs/checks.md, expected one"
    print(f"{len(tests)} tests in {len(rows)} parts, {total} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
