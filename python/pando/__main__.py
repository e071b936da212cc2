"""`python -m pando`: becomes the program, which the wheel holds beside this file."""

import os
import pathlib
import sys

program = pathlib.Path(__file__).resolve().parent / "bin/pando"
if not program.exists():
    sys.exit(f"pando: found no program {program}, expected one, as wheels have it")
os.execv(program, ["pando", *sys.argv[1:]])
