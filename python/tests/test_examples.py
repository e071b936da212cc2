"""The Python example runs, and so do the blocks of the documents. Runs where these are at hand."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?:<!-- not run: ([^\n]+?) -->\n+)?```python\n(.*?)^```$", re.M | re.S)


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_answer():
    said = run(str(ROOT / "examples/answer.py"))
    assert said.startswith("What is the profession of Velina? tailor\nWhat does the Mofti lamp cost? $12.40\n")


@pytest.mark.parametrize("document, n_blocks", [("python/README.md", 2), ("docs/api.md", 10)])
def test_documents(document, n_blocks):
    pytest.importorskip("pandas")
    blocks = BLOCK.findall((ROOT / document).read_text())
    assert len(blocks) == n_blocks
    assert {reason for reason, _ in blocks} <= {"", "needs pandas", "needs a model"}
    said = run("-c", "".join(text for reason, text in blocks if reason != "needs a model"))
    assert "tailor" in said and "$12.40" in said
