#!/usr/bin/env python3
"""tools/results.py: tables of benchmarks that did not run stay, words are always those of now.

usage: results_test.py SOURCE_DIR
"""
import pathlib
import subprocess
import sys
import tempfile

LIST = """one  the first [--model]
two  the second
three  the third
"""
WORDS = """# Results

Above all.

## one

Words of one.

| | aim |
|---|---|
| rows | 3 |

## three

Words of three.
"""


def table(title: str, value: str) -> str:
    return f"{title}\n\n| rows | ms |\n|------|----|\n| 3    | {value}  |\n\nA note.\n"


def printed(name: str, value: str) -> str:
    return f"{table(f'Table of {name}', value)}\n{table('Another', value)}\n{name} | commit {value} | machine\n"


def part(name: str, value: str) -> str:
    return (f"{table(f'Table of {name}', value)}\n{table('Another', value)}\n"
            f"`pando bench {name}`: {name} | commit {value} | machine\n")


def main() -> int:
    tool = pathlib.Path(sys.argv[1]) / "tools/results.py"
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        (at / "pando").write_text(f"#!/bin/sh\ncat <<'END'\n{LIST}END\n")
        (at / "pando").chmod(0o755)

        def write(words: str, **new: str) -> tuple[int, str]:
            (at / "words.md").write_text(words)
            for name, text in new.items():
                (at / f"{name}.md").write_text(text)
            done = subprocess.run([sys.executable, tool, at / "pando", at / "words.md", at / "results.md",
                                   *(at / f"{name}.md" for name in new)], capture_output=True, text=True)
            return done.returncode, done.stderr

        def expect(text: str) -> None:
            found = (at / "results.md").read_text()
            assert found == text, f"expected:\n{text}\nfound:\n{found}"

        one = "\n## one\n\nThe first.\n\nWords of one.\n\n| | aim |\n|---|---|\n| rows | 3 |\n\n"
        three = "\n## three\n\nThe third.\n\nWords of three.\n\n"
        two = "\n## two\n\nThe second.\n\n"
        top = "# Results\n\nAbove all.\n"
        assert write(WORDS, one=printed("one", "1")) == (0, "")
        expect(top + one + part("one", "1"))
        assert write(WORDS, three=printed("three", "2"), two=printed("two", "2")) == (0, "")
        expect(top + one + part("one", "1") + two + part("two", "2") + three + part("three", "2"))
        # An old print of another benchmark lies beside it, and words are new.
        (at / "one.md").write_text(printed("one", "0"))
        words = WORDS.replace("Words of one.", "Better words.") + "\n## two\n\nWords of two.\n"
        assert write(words, three=printed("three", "3")) == (0, "")
        better, said = one.replace("Words of one.", "Better words."), two + "Words of two.\n\n"
        expect(top + better + part("one", "1") + said + part("two", "2") + three + part("three", "3"))
        # Nothing ran: only words change.
        assert write(WORDS.replace("Above", "Over")) == (0, "")
        expect(top.replace("Above", "Over") + one + part("one", "1") + two + part("two", "2") + three +
               part("three", "3"))

        before = (at / "results.md").read_text()
        for words, message in [(WORDS + "\n## four\n\nWords.\n", "no benchmark is named four"),
                               (WORDS + "\n## two\n\n" + table("Like a print", "1"), "a table of two is filled up")]:
            code, said = write(words)
            assert code == 1 and message in said, said
        code, said = write(WORDS, two="two | it printed no table\n")
        assert code == 1 and "no table of two was printed" in said, said
        expect(before)
    print("tables and words as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
