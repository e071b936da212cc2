#!/usr/bin/env python3
"""Writes the tables of docs/performance.md, docs/encoders.md, lab/docs/performance-papers.md and README.md from
docs/figures/*.csv.

usage: performance.py [--check] [ROOT]

With --check nothing is written: each table that differs from its figures is named, and the exit code is 1.
Each line of a CSV file is one figure: benchmark, row, engine, value, unit, machine, command, commit.
A table stands between two comments in the document:

    <!-- figures MACHINE BENCHMARK; rows: NAME | NAME; columns: ENGINE | ENGINE; ratio -->
    <!-- end of figures -->

Without `rows` or `columns` it has all of them; names may have the wildcards of a shell. Benchmarks of one
machine may be joined by "+". Machines may too, where `columns` names one engine: each is a column then.
With `ratio` a last column divides the first column by the best of the columns whose name does not begin with
"Pando". `<!-- figures headline -->` is the table of HEADLINE.
"""
import csv
import fnmatch
import pathlib
import re
import sys

FIELDS = ["benchmark", "row", "engine", "value", "unit", "machine", "command", "commit"]
DOCUMENTS = ["docs/performance.md", "docs/encoders.md", "lab/docs/performance-papers.md", "README.md"]
BLOCK = re.compile(r"(?P<open><!-- figures (?P<spec>[^>]+?) -->\n)(?P<body>.*?)(?P<close><!-- end of figures -->)", re.S)
# Text of the row; machine, benchmark and row; the engine, the other engine; the name of the other.
HEADLINE = [
    ("three stories, 37 questions about each", "intel-amx", "main-job", "questions per second", "shared (tree)",
     "nothing shared (packed)", "Pando with nothing shared"),
    ("64 answers that continue one prompt of 512 tokens", "intel-amx", "compare", "q8_0, 64 sharing 512", "Pando",
     "llama.cpp, AMX", "llama.cpp"),
    ("a prompt of 512 tokens", "intel-amx", "compare", "q8_0, prompt 512", "Pando", "llama.cpp, AMX", "llama.cpp"),
    ("one answer alone", "intel-amx", "compare", "q8_0, decode alone", "Pando", "llama.cpp, AMX", "llama.cpp"),
]


class Problem(Exception):
    pass


def read_figures(root: pathlib.Path) -> list[dict[str, str]]:
    figures, seen = [], set()
    for path in sorted((root / "docs/figures").glob("*.csv")):
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != FIELDS:
                raise Problem(f"{path}: the columns are {reader.fieldnames}, expected {FIELDS}")
            for line in reader:
                where = f"{path}:{reader.line_num}"
                if line["machine"] != path.stem:
                    raise Problem(f"{where}: the machine is {line['machine']}, expected the file's, {path.stem}")
                try:
                    float(line["value"])
                except (TypeError, ValueError):
                    raise Problem(f"{where}: the value is {line['value']}, expected a number") from None
                key = tuple(line[field] for field in ("machine", "benchmark", "row", "engine"))
                if key in seen:
                    raise Problem(f"{where}: this figure is there twice")
                seen.add(key)
                figures.append(line)
    return figures


def chosen(names: list[str], patterns: str | None) -> list[str]:
    if patterns is None:
        return names
    found = []
    for pattern in (part.strip() for part in patterns.split("|")):
        matching = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not matching:
            raise Problem(f"no name fits {pattern}; there are: {' | '.join(names)}")
        found += [name for name in matching if name not in found]
    return found


def lines_of(head: list[str], rows: list[list[str]]) -> str:
    rule = "|" + "---|" * len(head) + "\n"
    first, *others = (f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in [head, *rows])
    return first + rule + "".join(others)


def grouped(value: str) -> str:
    """Thousands apart: 131,755."""
    whole, point, rest = value.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.lstrip("-").isdigit() and len(whole) > 4 else value


def source_of(figures: list[dict[str, str]]) -> str:
    commands = dict.fromkeys(line["command"] for line in figures)
    commits = dict.fromkeys(line["commit"] for line in figures if line["commit"])
    at = f", commit {', '.join(commits)}" if commits else ""
    return f"\n{', '.join(f'`{command}`' for command in commands)}{at}\n"


def by_machine(own: list[dict[str, str]], engine: str | None) -> list[dict[str, str]]:
    """The figures of one engine, with the machines in the place of engines."""
    names = chosen(list(dict.fromkeys(line["engine"] for line in own)), engine)
    if len(names) != 1:
        raise Problem(f"columns are {' | '.join(names)}, expected one engine where there are several machines")
    return [{**line, "engine": line["machine"]} for line in own if line["engine"] == names[0]]


def pivot(figures: list[dict[str, str]], machine: str, benchmark: str, options: dict[str, str | None]) -> str:
    own = []
    for place in machine.split("+"):
        for name in benchmark.split("+"):
            found = [line for line in figures if (line["machine"], line["benchmark"]) == (place, name)]
            if not found:
                raise Problem(f"docs/figures/{place}.csv has no benchmark {name}")
            own += found
    if "+" in machine:
        own, options = by_machine(own, options.get("columns")), {**options, "columns": None}
    rows = chosen(list(dict.fromkeys(line["row"] for line in own)), options.get("rows"))
    columns = chosen(list(dict.fromkeys(line["engine"] for line in own)), options.get("columns"))
    own = [line for line in own if line["row"] in rows and line["engine"] in columns]
    at = {(line["row"], line["engine"]): line for line in own}
    units = {column: {line["unit"] for line in own if line["engine"] == column} for column in columns}
    by_column = all(len(found) == 1 for found in units.values())
    every = {line["unit"] for line in own}
    if by_column and len(every) == 1:
        head = [f"{next(iter(every))}", *columns]
    elif by_column:
        head = ["", *(f"{column}, {next(iter(units[column]))}" for column in columns)]
    else:
        head = ["", "unit", *columns]
    if "ratio" in options:
        head.append(f"{columns[0]} / best peer")
    table = []
    for row in rows:
        cells = [row]
        if not by_column:
            cells.append(", ".join(dict.fromkeys(line["unit"] for line in own if line["row"] == row)))
        cells += [grouped(at[row, column]["value"]) if (row, column) in at else "" for column in columns]
        if "ratio" in options:
            peers = [float(at[row, column]["value"]) for column in columns if not column.startswith("Pando")]
            cells.append(f"{float(at[row, columns[0]]['value']) / max(peers):.2f}")
        table.append(cells)
    return lines_of(head, table) + source_of(own)


def headline(figures: list[dict[str, str]]) -> str:
    at = {tuple(line[field] for field in ("machine", "benchmark", "row", "engine")): line for line in figures}
    rows = []
    for what, machine, benchmark, row, engine, other, name in HEADLINE:
        ours, theirs = at.get((machine, benchmark, row, engine)), at.get((machine, benchmark, row, other))
        if not ours or not theirs:
            raise Problem(f"docs/figures/{machine}.csv has no {benchmark}, {row} of {engine} and {other}")
        rows.append([what, ours["value"], theirs["value"], name, ours["unit"]])
    return lines_of(["", "Pando", "other", "what the other is", "unit"], rows)


def table_of(figures: list[dict[str, str]], spec: str) -> str:
    first, *rest = (part.strip() for part in spec.replace("\n", " ").split(";"))
    if first == "headline":
        return headline(figures)
    if len(first.split()) != 2:
        raise Problem(f"'{first}' is no machine and benchmark")
    options: dict[str, str | None] = {}
    for part in rest:
        name, _, value = part.partition(":")
        if name not in ("rows", "columns", "ratio"):
            raise Problem(f"'{name}' is no option; there are rows, columns, ratio")
        options[name] = value.strip() or None
    machine, benchmark = first.split()
    return pivot(figures, machine, benchmark, options)


def main() -> int:
    arguments = sys.argv[1:]
    check = "--check" in arguments
    places = [argument for argument in arguments if argument != "--check"]
    if len(places) > 1 or any(place.startswith("-") for place in places):
        print("usage: performance.py [--check] [ROOT]", file=sys.stderr)
        return 2
    root = pathlib.Path(places[0]) if places else pathlib.Path(__file__).resolve().parent.parent
    problems = []
    try:
        figures = read_figures(root)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    for name in DOCUMENTS:
        old = (root / name).read_text()
        if old.count("<!-- figures ") != len(BLOCK.findall(old)):
            problems.append(f"{name}: a table has no line <!-- end of figures -->")

        def written(block: re.Match[str]) -> str:
            where = f"{name}:{old.count(chr(10), 0, block.start()) + 1}"
            try:
                body = "\n" + table_of(figures, block["spec"]) + "\n"
            except Problem as problem:
                problems.append(f"{where}: {problem}")
                return block[0]
            if check and body != block["body"]:
                problems.append(f"{where}: the table of '{' '.join(block['spec'].split())}' is not that of docs/figures; "
                                "write it by tools/performance.py")
            return block["open"] + body + block["close"]

        new = BLOCK.sub(written, old)
        if not check and new != old and not problems:
            (root / name).write_text(new)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
