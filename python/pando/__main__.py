"""`python -m pando`: becomes the program, or reads the Parquet or Arrow file that `run` or `eval` names first.

It imports the package for such a file alone, since that loads its library.
"""

from __future__ import annotations

import os
import sys
from typing import Sequence

TABLES = (".parquet", ".arrow", ".arrows", ".ipc", ".feather")


def of_table(command: str, arguments: Sequence[str]) -> int:
    from pando import _eval, _run
    from pando._tables import TableError

    try:
        return {"run": _run.run, "eval": _eval.evaluate}[command](arguments)
    except TableError as error:
        print(f"pando: {error}", file=sys.stderr)
        return 1


def main(arguments: Sequence[str]) -> int | str:
    """The exit code of `python -m pando ARGUMENTS`, or the message that it ends with, unless the program takes over."""
    if len(arguments) > 1 and arguments[0] in ("run", "eval") and arguments[1].lower().endswith(TABLES):
        return of_table(arguments[0], arguments[1:])
    here = os.path.dirname(os.path.realpath(__file__))
    places = [os.environ.get("PANDO_PROGRAM", ""), os.path.join(here, "bin", "pando"),
              os.path.join(os.path.dirname(os.path.dirname(here)), "build", "pando")]
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            os.execv(place, ["pando", *arguments])
    return f"pando: found no program {places[1]}, expected one, as wheels have it"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
