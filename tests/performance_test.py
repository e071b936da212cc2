#!/usr/bin/env python3
"""The tables that tools/performance.py writes, and README's picture, are those of docs/figures/*.csv; and the tool
finds a table that is not.

usage: performance_test.py SOURCE_DIR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(source: pathlib.Path, tool: str, *arguments: object) -> tuple[int, str]:
    done = subprocess.run([sys.executable, source / "tools" / tool, *arguments], capture_output=True, text=True)
    return done.returncode, done.stderr


def copy_of(source: pathlib.Path, at: pathlib.Path) -> None:
    shutil.copytree(source / "docs/figures", at / "docs/figures", dirs_exist_ok=True)
    (at / "lab/docs").mkdir(parents=True, exist_ok=True)
    for name in ("README.md", "docs/performance.md", "docs/encoders.md", "lab/docs/performance-papers.md",
                 "docs/questions-per-document.svg"):
        shutil.copy(source / name, at / name)


def main() -> int:
    source = pathlib.Path(sys.argv[1]).resolve()
    for tool in ("performance.py", "draw_performance.py"):
        code, said = run(source, tool, "--check", source)
        assert code == 0, said

    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        figures = at / "docs/figures/intel-amx.csv"
        page = at / "docs/performance.md"

        def changed(path: pathlib.Path, old: str, new: str) -> str:
            """Returns what --check says of a copy in which one place differs."""
            copy_of(source, at)
            text = path.read_text()
            assert old in text, f"{path.name} has no {old}"
            path.write_text(text.replace(old, new, 1))
            code, said = run(source, "performance.py", "--check", at)
            assert code == 1, f"{path.name} with {new} for {old}: the exit code is {code}"
            return said

        # A figure in a file, one in each document.
        said = changed(figures, "questions per second,shared (tree),11.33", "questions per second,shared (tree),11.34")
        assert "docs/performance.md:" in said and "README.md:" in said, said
        assert "docs/performance.md:" in changed(page, "| 11.33 |", "| 11.30 |")
        assert "README.md:" in changed(at / "README.md", "| 11.33 |", "| 11.30 |")
        # Files and comments that cannot be read.
        assert "expected a number" in changed(figures, ",11.33,", ",fast,")
        assert "is there twice" in changed(figures, "main-job,time of the run,nothing shared (packed)",
                                           "main-job,time of the run,shared (tree)")
        assert "the columns are" in changed(figures, "benchmark,row,", "benchmark,line,")
        assert "no benchmark" in changed(page, "<!-- figures zen5 compare;", "<!-- figures zen5 compared;")
        assert "no name fits" in changed(page, "rows: q8_0*", "rows: q9_0*")
        assert "end of figures" in changed(page, "<!-- end of figures -->", "")

        # Figures that were changed by hand are written again.
        copy_of(source, at)
        page.write_text(page.read_text().replace("| 11.33 |", "| 11.30 |"))
        assert run(source, "performance.py", at) == (0, "")
        assert page.read_text() == (source / "docs/performance.md").read_text()

        # The picture is drawn from the same figures.
        text = figures.read_text()
        figures.write_text(re.sub(r"(compare,\"q8_0, 64 sharing 512\",Pando,)564", r"\g<1>565", text))
        assert figures.read_text() != text
        code, said = run(source, "draw_performance.py", "--check", at)
        assert code == 1 and "questions-per-document.svg" in said, said
    print("tables and picture are those of docs/figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
