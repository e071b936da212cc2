#!/usr/bin/env python3
"""Two builds of pando take turns at a benchmark; prints the medians of their tables, and the ratio.

usage: compare.py [--quick] [--data DIRECTORY] OLD NEW NAME REPEATS

Rows are named by the columns that come before the first that varies, between runs or between builds, and
by their place where there are none. Other cells that are numbers in every run are compared.
"""
import argparse
import collections
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def run(pando, name, options):
    """{table: (header, rows)} of one run."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([pando, "bench", name, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)
        tables = {}
        for path in sorted(pathlib.Path(out).glob("*.csv")):
            header, *rows = csv.reader(path.open(newline=""))
            tables[path.stem] = header, rows
        return tables


def name_columns(tables, header):
    """How many columns at the left are the same in all tables."""
    for column in range(len(header)):
        if len({tuple(row[column] for row in rows) for _, rows in tables}) > 1:
            return column
    return len(header)


def cells(table, n_names):
    """{(name of the row, number of the column): cell}."""
    seen = collections.Counter()
    found = {}
    for place, row in enumerate(table[1], 1):
        name = " ".join(row[:n_names]) or f"row {place}"
        seen[name] += 1
        if seen[name] > 1:
            name += f" ({seen[name]})"
        for column in range(n_names, len(row)):
            found[name, column] = row[column]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="as `pando bench --quick`")
    parser.add_argument("--data", metavar="DIRECTORY", help="published data sets")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("name")
    parser.add_argument("repeats", type=int)
    args = parser.parse_args()
    options = (["--quick"] if args.quick else []) + (["--data", args.data] if args.data else [])
    runs = {"old": [], "new": []}
    for repeat in range(args.repeats):
        for build in ("old", "new") if repeat % 2 == 0 else ("new", "old"):
            runs[build].append(run(args.old if build == "old" else args.new, args.name, options))
            print(f"{repeat + 1}/{args.repeats} {build}", file=sys.stderr)
    lines = []
    for stem in runs["old"][0]:
        tables = [tables.get(stem) for both in runs.values() for tables in both]
        header = tables[0][0]
        if any(table is None or table[0] != header for table in tables):
            print(f"{stem}: the two builds have other columns", file=sys.stderr)
            continue
        same_length = len({len(rows) for _, rows in tables}) == 1
        # If one build has more rows, variation is taken from the runs of each.
        groups = [tables] if same_length else [tables[: args.repeats], tables[args.repeats :]]
        n_names = min(name_columns(group, header) for group in groups)
        found = [cells(table, n_names) for table in tables]
        for key in found[0]:
            values = [cells_of.get(key, "") for cells_of in found]
            if not all(map(is_number, values)):
                continue
            numbers = [float(value) for value in values]
            before, after = numbers[: args.repeats], numbers[args.repeats :]
            ratios = [a / b for a, b in zip(after, before) if b]
            ratio = statistics.median(ratios) if ratios else float("nan")
            lines.append(
                f"| {key[0]} | {header[key[1]]} | {statistics.median(before):g} | {statistics.median(after):g} | {ratio:.3f} |"
            )
    if not lines:
        print(f"{args.name}: the two builds have no figure in common", file=sys.stderr)
        return 1
    print("| row | column | old | new | new / old |\n|---|---|---|---|---|")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
