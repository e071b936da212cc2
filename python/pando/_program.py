"""The program `pando`, fed by this process."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import os
import pathlib
import shutil
import signal
import subprocess
from typing import Any, Iterator, Sequence

from ._tables import TableError

PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def find_program() -> str:
    """PANDO_PROGRAM, or `pando` in the package, in the repository's build, or on the PATH."""
    here = pathlib.Path(__file__).resolve().parent
    places = [os.environ.get("PANDO_PROGRAM"), here / "bin" / "pando", here.parents[1] / "build" / "pando", shutil.which("pando")]
    for place in places:
        if place and os.access(place, os.X_OK) and os.path.isfile(place):
            return str(place)
    raise TableError("the program pando is neither in the package nor on the PATH (hint: PANDO_PROGRAM names it)")


def asks_for_help(arguments: Sequence[str]) -> bool:
    return "--help" in arguments or "-h" in arguments


def plain(value: Any) -> Any:
    """A value of a row as JSON has it, without the nulls of objects."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value


def in_child() -> None:
    """Between fork and exec: Ctrl-C comes to the feeder alone, and the program ends with it."""
    os.setpgrp()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def run_program(arguments: Sequence[str], text: Iterator[bytes]) -> int:
    """Runs `pando ARGUMENTS` over the text; its exit code. Ctrl-C and SIGTERM go to the program, which ends then."""
    child = subprocess.Popen([find_program(), *arguments], stdin=subprocess.PIPE,
                             preexec_fn=in_child)
    assert child.stdin is not None
    before = {number: signal.signal(number, lambda received, frame: child.send_signal(received))
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for part in text:
            child.stdin.write(part)
        child.stdin.close()
    except BrokenPipeError:  # it has stopped, and says why
        pass
    finally:  # an input that was not ended fails a run
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass
        code = child.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
