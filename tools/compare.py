#!/usr/bin/env python3
"""Two builds of pando take turns at a benchmark; prints the medians of their tables, and the ratio.

usage: compare.py OLD NEW NAME REPEATS

Cells that are numbers in both builds are compared; rows and columns are named by the others.
"""
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


def run(pando, name):
    """{(table, row, column): value} of one run."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([pando, "bench", name, "--out", out], check=True, stdout=subprocess.DEVNULL)
        cells = {}
        for path in sorted(pathlib.Path(out).glob("*.csv")):
            header, *rows = csv.reader(path.open())
            for index, row in enumerate(rows):
                label = " ".join(cell for cell in row if not is_number(cell)) or str(index + 1)
                for column, cell in zip(header, row):
                    if is_number(cell):
                        cells[path.stem, index, label, column] = float(cell)
        return cells


def main() -> int:
    old, new, name, repeats = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    runs = {old: [], new: []}
    for repeat in range(repeats):
        for pando in (old, new) if repeat % 2 == 0 else (new, old):
            runs[pando].append(run(pando, name))
            print(f"{repeat + 1}/{repeats} {'old' if pando == old else 'new'}", file=sys.stderr)
    keys = [key for key in runs[old][0] if all(key in r for both in runs.values() for r in both)]
    if not keys:
        print(f"{name}: the two builds have no figure in common", file=sys.stderr)
        return 1
    print("| row | column | old | new | new / old |\n|---|---|---|---|---|")
    for key in keys:
        before, after = ([r[key] for r in runs[pando]] for pando in (old, new))
        ratio = statistics.median(a / b for a, b in zip(after, before) if b) if any(before) else float("nan")
        print(f"| {key[2]} | {key[3]} | {statistics.median(before):g} | {statistics.median(after):g} | {ratio:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
