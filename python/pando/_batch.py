"""The batch runner: lines in, results out as they come."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, AsyncIterable, Callable, Iterable, Iterator, Mapping, Union

from ._c import Error, place_of
from ._completion import BatchSummary, Failure
from ._requests import Line, line_bytes
from ._stream import _PATIENCE, Job, Over

Result = dict[str, Any]  # a line of the output
OnResult = Callable[[Result], Any]
Lines = Union[Iterable[Line], AsyncIterable[Line]]

_ROOM_IN = 0.05  # seconds between looks whether a full batch takes another line


class Sorted:
    """Keeps what a batch says besides its results."""

    def __init__(self) -> None:
        self._failures: list[Failure] = []
        self._warnings: list[str] = []
        self._summary: Mapping[str, Any] = {}

    def is_result(self, told: Mapping[str, Any]) -> bool:
        if "failure" in told:
            failure = told["failure"]
            error = Error(failure["code"], failure["message"], place_of(failure["place"]))
            self._failures.append(Failure(failure["line"], failure.get("question_id"), error))
        elif "warning" in told:
            self._warnings.append(told["warning"])
        elif "summary" in told:
            self._summary = told["summary"]
        else:
            return True
        return False

    def summary(self) -> BatchSummary:
        return BatchSummary(**self._summary, failures=tuple(self._failures), warnings=tuple(self._warnings))


def told_by(job: Job, lines: Iterable[Line]) -> Iterator[Mapping[str, Any]]:
    """The texts that the batch gives, with its lines put in between."""
    try:
        for number, line in enumerate(lines):
            data = line_bytes(line, number)
            while not job.put(data):
                if (told := job.take(_PATIENCE)) is not None:
                    yield told
            while (told := job.take(0)) is not None:
                yield told
        job.end_input()
        while True:
            if (told := job.take(_PATIENCE)) is not None:
                yield told
    except Over:
        return


def run(job: Job, lines: Iterable[Line], on_result: OnResult) -> BatchSummary:
    sorted_ = Sorted()
    with job:
        for told in told_by(job, lines):
            if sorted_.is_result(told):
                on_result(dict(told))
    return sorted_.summary()


async def _each(lines: Lines) -> Any:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
        return
    for line in lines:
        yield line


async def _put_all(job: Job, lines: Lines) -> None:
    try:
        number = 0
        async for line in _each(lines):
            data = line_bytes(line, number)
            while not job.put(data):
                await asyncio.sleep(_ROOM_IN)
            number += 1
            await asyncio.sleep(0)
        job.end_input()
    except BaseException:
        job.cancel()
        raise


async def run_async(job: Job, lines: Lines, on_result: OnResult) -> BatchSummary:
    """Does the same, with lines that may come by `async for`, and results that may be awaited for."""
    sorted_ = Sorted()
    async with job:
        putting = asyncio.ensure_future(_put_all(job, lines))
        try:
            async for told in job:
                if sorted_.is_result(told):
                    awaited = on_result(dict(told))
                    if inspect.isawaitable(awaited):
                        await awaited
        except BaseException:
            putting.cancel()
            raise
        finally:
            await asyncio.gather(putting, return_exceptions=True)
        putting.result()
    return sorted_.summary()
