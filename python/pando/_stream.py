"""Results piece by piece: to a loop that waits, or to an event loop that does not."""

from __future__ import annotations

import asyncio
import ctypes
import json
import threading
from typing import Any, AsyncIterator, Callable, Generic, Iterator, Optional, TypeVar

from ._c import CANCELLED, END, OK, TIMEOUT, EventStruct, Handle, fail, library, wrong
from ._completion import Event, calls_of, completion_of

# Seconds a call may wait before the interpreter looks for signals, such as that of Ctrl-C.
_PATIENCE = 0.1
# Seconds after which an event loop looks again whether an engine that was full has room.
_LOOK_AGAIN = 1.0

T = TypeVar("T")
S = TypeVar("S", bound="Results[Any]")


class Over(Exception):
    """There are no more results."""


class Results(Generic[T], Iterator[T], AsyncIterator[T]):
    """Results as they come, for `for` and `async for`; one of these, and one reader, at a time.

    Ends after the last one, or with the error that ended all of them. Leaving it as a context manager, or the
    end of its life, cancels what is not finished.
    """

    _functions: dict[str, Any]  # of the library: "cancel", "descriptor"

    def __init__(self, handle: Handle) -> None:
        self._handle: Optional[Handle] = handle
        self._reading = threading.Lock()
        # The first result in an event loop, until it is told.
        self._first: Optional[asyncio.Future[Optional[T]]] = None
        self._is_begun = False

    def take(self, timeout: float) -> Optional[T]:
        """The next one; None where there is none in so many seconds. Raises Over."""
        handle = self._handle
        if handle is None:
            raise Over
        if not self._reading.acquire(blocking=False):
            raise wrong("", "the results are being read by another thread or task, expected one reader at a time")
        try:
            status, result = self._next(handle, timeout)
        finally:
            self._reading.release()
        if status == OK:
            return result
        if status == TIMEOUT:
            return None
        if status in (END, CANCELLED):
            raise Over
        raise fail(status)

    def _next(self, handle: Handle, timeout: float) -> tuple[int, Optional[T]]:
        raise NotImplementedError

    def __next__(self) -> T:
        try:
            while True:
                result = self.take(_PATIENCE)
                if result is not None:
                    return result
        except Over:
            raise StopIteration from None

    async def __anext__(self) -> T:
        try:
            result = await self._begin()
            while result is None:
                result = self.take(0)
                if result is None:
                    await self._news()
            return result
        except Over:
            raise StopAsyncIteration from None

    async def _begin(self) -> Optional[T]:
        """Takes the first result in a thread, as prompts become tokens there; later, lets other tasks run."""
        if self._first is None:
            self._first = asyncio.ensure_future(asyncio.to_thread(self.take, 0))
            self._first.add_done_callback(lambda first: None if first.cancelled() else first.exception())
        elif self._is_begun:
            await asyncio.sleep(0)
            return None
        result = await asyncio.shield(self._first)  # whoever is cancelled leaves it to the next call
        self._is_begun = True
        return result

    async def _news(self) -> None:
        handle = self._handle  # which stays while the loop watches its descriptor
        if handle is None:
            return
        descriptor = self._functions["descriptor"](handle.pointer)
        loop = asyncio.get_running_loop()
        news = loop.create_future()

        def tell() -> None:
            if not news.done():
                news.set_result(None)

        timer = loop.call_later(_LOOK_AGAIN if descriptor >= 0 else _PATIENCE, tell)
        if descriptor >= 0:
            loop.add_reader(descriptor, tell)
        try:
            await news
        finally:
            timer.cancel()
            if descriptor >= 0:
                loop.remove_reader(descriptor)

    def cancel(self) -> None:
        """Drops what is not finished; the iteration ends. From any thread."""
        handle = self._handle
        if handle is not None:
            self._functions["cancel"](handle.pointer)

    def close(self) -> None:
        self.cancel()
        self._handle = None

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.cancel()
        last = [self._handle]
        self._handle = None
        await asyncio.to_thread(last.clear)  # which may wait for the engine's step


class EventStream(Results[T]):
    """Makes a result by `make` of each event of questions that are being answered."""

    _functions = {"cancel": library.pando_cancel, "descriptor": library.pando_stream_descriptor}

    def __init__(self, handle: Handle, make: Callable[[EventStruct], T]) -> None:
        super().__init__(handle)
        self._make = make

    def _next(self, handle: Handle, timeout: float) -> tuple[int, Optional[T]]:
        event = EventStruct()
        status = library.pando_next(handle.pointer, timeout, ctypes.byref(event))
        return status, self._make(event) if status == OK else None


class Job(Results[Any]):
    """The values of JSON that a job of pando.h gives."""

    _functions = {"cancel": library.pando_job_cancel, "descriptor": library.pando_job_descriptor}

    def _next(self, handle: Handle, timeout: float) -> tuple[int, Optional[Any]]:
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        status = library.pando_job_next(handle.pointer, timeout, ctypes.byref(text), ctypes.byref(size))
        if status != OK or text.value is None:
            return status, None
        return status, json.loads(ctypes.string_at(text.value, size.value))

    def put(self, line: bytes) -> bool:
        """False: it has no room now, and did not take the line."""
        status = self._put(line, len(line))
        return status == OK

    def end_input(self) -> None:
        self._put(None, 0)

    def _put(self, line: Optional[bytes], size: int) -> int:
        handle = self._handle
        if handle is None:
            raise wrong("lines", "the batch is closed")
        status: int = library.pando_job_put(handle.pointer, line, size)
        if status not in (OK, TIMEOUT):
            raise fail(status)
        return status


def event_of(event: EventStruct) -> Event:
    return Event(
        question=event.question,
        choice=event.choice,
        text=ctypes.string_at(event.text, event.text_size).decode(),
        completion=completion_of(event.completion.contents) if event.completion else None,
        reasoning=ctypes.string_at(event.reasoning, event.reasoning_size).decode(),
        calls=calls_of(event),
    )


Stream = EventStream[Event]
