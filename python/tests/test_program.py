"""`python -m pando` becomes the program, where there is one: in a wheel."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pando


def test_program() -> None:
    done = subprocess.run([sys.executable, "-m", "pando", "--version"], capture_output=True, text=True)
    if (pathlib.Path(pando.__file__).parent / "bin/pando").exists():
        assert done.stdout.startswith(f"pando {pando.__version__} (")
    else:
        assert done.returncode == 1 and "found no program" in done.stderr
