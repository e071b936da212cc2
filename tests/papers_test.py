#!/usr/bin/env python3
"""What docs/papers.md and docs/planners.md name is there: paths, names in files, benchmarks, options of planners.

usage: papers_test.py SOURCE_DIR
"""
import pathlib
import re
import sys

NAMES = r"((?:`[^`]+`(?:, )?)+)"


def problems_of(root, document):
    text = (root / "docs" / document).read_text()
    benchmarks = "".join(p.read_text() for p in sorted((root / "src/bench").glob("*.cc")))
    planners = "".join(p.read_text() for p in sorted((root / "src/plan").glob("*")))

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
        if f'"{option}"' not in planners:
            yield f"no planner or option {option}"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = [f"docs/{document}: {problem}" for document in ("papers.md", "planners.md")
                for problem in problems_of(root, document)]
    print("\n".join(problems) or "all there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
