#!/usr/bin/env python3
"""Writes RESULTS.md: for each benchmark the words about it and what it printed last.

usage: results.py PANDO WORDS.md RESULTS.md [PRINTED.md...]

PRINTED.md is what `PANDO bench NAME` printed, in a file NAME.md; all other benchmarks keep what
RESULTS.md has of theirs, so that without any only words change. WORDS.md begins with what stands above
all results; a part "## NAME" holds the words of a benchmark. Names that `PANDO bench list` does not
know are an error.
"""
import pathlib
import re
import subprocess
import sys

# A title and a table as benchmarks print it: cells of a column are filled up to one width, in the line
# below the head too. Those of tables in words are not.
PRINTED = re.compile(r"^(?!\|)[^\n]+\n\n(?P<head>\|[^\n]*\|)\n(?P<rule>\|(?:-+\|)+)$", re.M)


def begin_of_print(text: str) -> int:
    for table in PRINTED.finditer(text):
        if [len(cell) for cell in table["head"].split("|")] == [len(cell) for cell in table["rule"].split("|")]:
            return table.start()
    return -1


def parts_of(text: str) -> tuple[str, dict[str, str]]:
    head, *parts = re.split(r"^## ", text, flags=re.M)
    return head, {name.strip(): body.strip() for name, _, body in (part.partition("\n") for part in parts)}


def main() -> int:
    pando, words, results, *printed = sys.argv[1:]
    listed = subprocess.run([pando, "bench", "list"], check=True, capture_output=True, text=True).stdout
    # What options a benchmark takes stands in brackets at the end.
    about = dict(re.sub(r" \[[^]]*\]$", "", line).split(maxsplit=1) for line in listed.splitlines())
    head, said = parts_of(pathlib.Path(words).read_text())
    new = {pathlib.Path(path).stem: pathlib.Path(path).read_text().rstrip() for path in printed}
    old = parts_of(pathlib.Path(results).read_text())[1] if pathlib.Path(results).exists() else {}

    problems = [f"{words}: no benchmark is named {name}" for name in said if name not in about]
    problems += [f"no benchmark is named {name}" for name in new if name not in about]
    problems += [f"{words}: a table of {name} is filled up like one that is printed, expected |---| below its head"
                 for name, text in said.items() if begin_of_print(text) >= 0]
    problems += [f"{results}: no table of {name}, expected one as it is printed"
                 for name, text in old.items() if name not in new and begin_of_print(text) < 0]
    problems += [f"no table of {name} was printed" for name, text in new.items() if begin_of_print(text) < 0]
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1

    text = head.rstrip() + "\n"
    for name, what in about.items():
        if name in new:
            body, _, footer = new[name].rpartition("\n")
            measured = f"{body.strip()}\n\n`pando bench {name}`: {footer}"
        elif name in old:
            measured = old[name][begin_of_print(old[name]):]
        else:
            continue
        text += f"\n## {name}\n\n{what[0].upper()}{what[1:]}.\n"
        if name in said:
            text += f"\n{said[name]}\n"
        text += f"\n{measured}\n"
    pathlib.Path(results).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
