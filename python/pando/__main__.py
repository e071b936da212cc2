"""`python -m pando run` and `python -m pando eval`."""

from __future__ import annotations

import sys
from typing import Sequence

from . import _eval, _run
from ._tables import TableError

COMMANDS = {"run": (_run.run, _run.USAGE), "eval": (_eval.evaluate, _eval.USAGE)}


def main(arguments: Sequence[str]) -> int:
    """The exit code of `python -m pando ARGUMENTS`."""
    if not arguments or arguments[0] not in COMMANDS:
        print("\n".join(usage for _, usage in COMMANDS.values()), file=sys.stderr)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    try:
        return COMMANDS[arguments[0]][0](arguments[1:])
    except TableError as error:
        print(f"pando: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
