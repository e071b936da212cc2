"""`python -m pando` becomes the program."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pando
import pytest


def test_program(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "pando"
    program.write_text("#!/bin/sh\necho \"program: $*\"\n")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "-m", "pando", "serve", "--help"], capture_output=True, text=True,
                          env=dict(os.environ, PANDO_PROGRAM=str(program)))
    assert (done.returncode, done.stdout) == (0, "program: serve --help\n")


def test_program_of_a_wheel() -> None:
    if not (pathlib.Path(pando.__file__).parent / "bin/pando").exists():
        pytest.skip("the package is no wheel's")
    environment = {name: value for name, value in os.environ.items() if name != "PANDO_PROGRAM"}
    done = subprocess.run([sys.executable, "-m", "pando", "--version"], capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(f"pando {pando.__version__} (")
