#!/usr/bin/env python3
"""Writes docs/results.md: for each benchmark the words about it and what it printed.

usage: results.py PANDO PRINTED_DIR WORDS.md RESULTS.md

WORDS.md begins with what stands above all results; a part "## NAME" holds the words of a benchmark. A
benchmark that printed nothing keeps its part of RESULTS.md, and has none if it had none. Names that
`PANDO bench list` does not know are an error.
"""
import pathlib
import re
import subprocess
import sys


def read(path: str) -> str:
    return pathlib.Path(path).read_text() if pathlib.Path(path).exists() else ""


def main() -> int:
    pando, printed, words, results = sys.argv[1:5]
    listed = subprocess.run([pando, "bench", "list"], check=True, capture_output=True, text=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    # What options a benchmark takes stands in brackets at the end.
    about = dict(re.sub(r" \[[^]]*\]$", "", line).split(maxsplit=1) for line in listed.splitlines())
    head, *parts = re.split(r"^## ", pathlib.Path(words).read_text(), flags=re.M)
    said = {}
    for part in parts:
        name, _, text = part.partition("\n")
        said[name.strip()] = text.strip()
    unknown = [name for name in said if name not in names]
    if unknown:
        print(f"{words}: no benchmark is named {', '.join(unknown)}", file=sys.stderr)
        return 1
    text = head.rstrip() + "\n"
    old = dict(part.partition("\n")[::2] for part in re.split(r"^## ", read(results), flags=re.M)[1:])
    for name in names:
        path = pathlib.Path(printed) / f"{name}.md"
        if not path.exists():
            if name in old:
                text += f"\n## {name}\n{old[name].rstrip()}\n"
            continue
        body, _, footer = path.read_text().rstrip().rpartition("\n")
        text += f"\n## {name}\n\n{about[name][0].upper()}{about[name][1:]}.\n"
        if name in said:
            text += f"\n{said[name]}\n"
        text += f"\n{body.strip()}\n\n`pando bench {name}`: {footer}\n"
    pathlib.Path(results).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
