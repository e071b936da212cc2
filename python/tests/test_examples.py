"""The Python example runs."""

import pathlib
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/answer.py"


def test_answer():
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("What is the profession of Velina? tailor\nWhat does the Mofti lamp cost? $12.40\n")
