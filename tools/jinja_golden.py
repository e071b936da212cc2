#!/usr/bin/env python3
"""Writes tests/text/data/jinja_golden.json: small templates of our own, one for each thing that the
language has, and what jinja2 makes of them.

    pip install -r tools/requirements-chat.txt
    python tools/jinja_golden.py --out tests/text/data/jinja_golden.json
    python tools/jinja_golden.py --compare build/tests/jinja_render    # shows what differs
"""

import argparse
import json
import pathlib

from jinja_reference import Ours, render
from jinja_snippets import SNIPPETS, VARIABLES


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--compare", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.compare:
        ours = Ours(arguments.compare)
        n_differ = 0
        for template in SNIPPETS:
            expected, found = render(template, VARIABLES), ours.render(template, VARIABLES)
            if expected[0] == found[0] and (expected[0] == "error" or expected == found):
                continue
            n_differ += 1
            print(f"template: {template!r}\n  jinja2: {expected}\n  ours:   {found}")
        print(f"{len(SNIPPETS)} templates, {n_differ} differ")
        raise SystemExit(n_differ > 0)
    if not arguments.out:
        parser.error("expected --out or --compare")
    cases = []
    for template in SNIPPETS:
        kind, what = render(template, VARIABLES)
        cases.append([template, what] if kind == "text" else [template])
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    arguments.out.write_text('{"variables": %s,\n"cases": [\n%s\n]}\n' % (
        json.dumps(VARIABLES, ensure_ascii=False), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
