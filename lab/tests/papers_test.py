#!/usr/bin/env python3
"""The paths, names in files, benchmarks and options of planners in lab/docs/papers.md and lab/docs/planners.md exist.
lab/docs/papers.md has every section, equation, algorithm, table and figure of the papers. papers_sizes.csv has the
benchmarks' sizes.

usage: papers_test.py SOURCE_DIR
"""
import csv
import pathlib
import re
import sys

from papers_sizes import SIZES, sizes_of

NAMES = r"((?:`[^`]+`(?:, )?)+)"

# Contents of the papers: sections with a method, and numbers of equations, algorithms, tables and
# figures.
PAPERS = {
    "IPPD": ("3 4.1 4.2 4.3 4.4 5 6 A.1 A.2 A.2.1 A.2.2 A.2.3 B.1 B.2 B.3 C.1",
             {"eq": 17, "algorithm": 0, "table": 5, "figure": 3}),
    "Hydragen": ("2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4 3.5 4.1 4.2 4.3 4.4 5 A B C.1 C.2 D.1 D.2 D.3 D.4",
                 {"eq": 12, "algorithm": 0, "table": 6, "figure": 7}),
    "Prepacking": ("2.1 2.2 3.1 3.2 3.3 4.1 4.2 4.3 4.4 C D E.1 E.2 F G H I J K L",
                   {"eq": 1, "algorithm": 1, "table": 2, "figure": 12}),
    "RadixMLP": ("2.1 2.2 3.1 3.2 3.3 3.4 3.5 4.1 4.2 4.3 4.4 5.1 5.2 A.1 B.1 B.2 B.3 B.4 B.5 C D.1 D.2",
                 {"eq": 7, "algorithm": 2, "table": 7, "figure": 7}),
    "Medha": ("2.5 2.6 3.1 3.2 3.3 4.1 4.2 4.3 5 6.1 6.2 6.3 6.4 6.5 A.1 A.2 A.3 B.1 B.2 B.3 B.4",
              {"eq": 1, "algorithm": 3, "table": 1, "figure": 20}),
}

# Benchmarks with the paper's own sizes, or without any: formulas, whole data sets, the simulator.
NO_OTHER_SIZES = {"ippd-table-3", "prepacking-table-1", "prepacking-figure-5", "radixmlp-table-5", "medha-ablations"}


def numbers(text):
    for part in text.split(", "):
        first, _, last = part.partition("-")
        yield from (str(n) for n in range(int(first), int(last) + 1)) if last else [first]


def listed_in(rows):
    """Pairs of kind and number that the first cells of a paper's rows have."""
    for cell in re.findall(r"^\| ([^|]+) \|", rows, re.M):
        for part in cell.split("; "):
            kind = re.match(r"(eq|algorithm|table|figure)(?:s|\.)? ", part)
            if kind:
                yield from ((kind[1], n) for n in numbers(part[kind.end():]))
            elif part != "where":
                yield from (("section", n) for n in part.split(", "))


def not_listed(root):
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", (root / "lab/docs/papers.md").read_text(), re.M | re.S))
    for paper, (sections, counts) in PAPERS.items():
        expected = {("section", s) for s in sections.split()}
        expected |= {(kind, str(n + 1)) for kind, count in counts.items() for n in range(count)}
        found = set(listed_in(parts.get(paper, "")))
        for kind, number in sorted(expected - found):
            yield f"lab/docs/papers.md: no row of {paper} has {kind} {number}"
        for kind, number in sorted(found - expected):
            yield f"lab/docs/papers.md: {paper} has no {kind} {number}"


def wrong_sizes(root):
    """The sizes of papers_sizes.csv are those of the sources. An empty last cell: --full has the usual size."""
    if "`lab/tests/papers_sizes.csv`" not in (root / "lab/docs/papers.md").read_text():
        yield "lab/docs/papers.md: does not say in what size the benchmarks run"
    sources = "".join(p.read_text() for p in (root / "lab/papers").glob("*.cc"))
    known = set(SIZES) | NO_OTHER_SIZES
    for name in re.findall(r'"((?:ippd|hydragen|prepacking|radixmlp|medha)-[\w-]+)",', sources):
        if name not in known:
            yield f"papers_sizes.csv: no sizes of {name}"
    with open(root / "lab/tests/papers_sizes.csv", newline="", encoding="utf-8") as file:
        named = {(row["benchmark"], row["size"]): row for row in csv.DictReader(file)}
    for benchmark in SIZES:
        for size, usual, full in sizes_of(root / "lab", benchmark):
            row = named.pop((benchmark, size), {"pando": "", "full": ""})
            found = [size_in(size, row["pando"]), size_in(size, row["full"])]
            if found != [usual, [] if full == usual else full]:
                yield f"papers_sizes.csv: {benchmark}, {size}: found {found}, expected {usual} and with --full {full}"
    for benchmark, size in named:
        yield f"papers_sizes.csv: {benchmark} has no size '{size}'"


def size_in(size, cell):
    """The names in a cell, or else its numbers."""
    return re.findall(r"[\w.-]+", cell) if size in ("model", "models") else re.findall(r"\ball\b|\d+", cell)


def problems_of(root, document):
    text = (root / "lab/docs" / document).read_text()
    benchmarks = "".join(p.read_text() for top in ("src/bench", "lab") for p in sorted((root / top).rglob("*.cc")))
    planners = "".join(p.read_text() for folder in ("src/engine", "src/plan", "lab/techniques")
                       for p in sorted((root / folder).glob("*")))

    def is_missing(name, path):
        found = (root / path).read_text() if path else planners
        return not re.search(rf"\b{re.escape(name.split('::')[-1])}\b", found)

    for name in re.findall(r"`([^`\s]+)`", text):
        if "/" in name and not (root / name).exists():
            yield f"no file or folder {name}"
        if re.fullmatch(r"(ippd|hydragen|prepacking|radixmlp|medha)-[\w-]+", name) and f'"{name}"' not in benchmarks:
            yield f"no benchmark {name}"
    # `path` (`name`, `name`); and `name` in `path`
    pairs = [(name, path) for path, names in re.findall(rf"`(\S+\.(?:cc|h))` \({NAMES}\)", text)
             for name in re.findall(r"`([^`]+)`", names)]
    for name, path in pairs + re.findall(r"`([\w:]+)` in `(\S+\.(?:cc|h))`", text):
        if (root / path).exists() and is_missing(name, path) and f'"{name}"' not in planners:
            yield f"no {name} in {path}"
    for option in re.findall(r"^\| `(\w+)(?:=\w)?`", text, re.M):
        if f'"{option}"' not in planners + benchmarks:
            yield f"no planner or option {option}"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = [f"lab/docs/{document}: {problem}" for document in ("papers.md", "planners.md")
                for problem in problems_of(root, document)]
    problems += not_listed(root)
    problems += wrong_sizes(root)
    print("\n".join(problems) or "all there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
