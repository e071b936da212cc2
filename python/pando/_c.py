"""The functions of pando.h by ctypes. Calls release the interpreter's lock."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import weakref
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_uint8, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Optional

OK, TIMEOUT, END, CANCELLED = 0, -1, -2, -3


@dataclass(frozen=True)
class Place:
    """The place of an error. Names that do not apply are empty."""

    file: str = ""  # a path, or what was read
    field: str = ""  # of the request, such as "messages[2].role" or "questions[1]"
    option: str = ""  # of a model, an engine or a call, such as "kv_memory"
    tensor: str = ""  # of a model's file

    def __str__(self) -> str:
        return ": ".join(name for name in (self.file, self.field, self.option, self.tensor) if name)


class Error(RuntimeError):
    """Pando refused this or could not do it; the message says what was found and what was expected.

    `code` is its kind: "invalid_argument", "not_found", "bad_file", "unsupported", "too_long",
    "unavailable", "io" or "internal". `place` says where.
    """

    __module__ = "pando"  # its name in tracebacks

    def __init__(self, code: str, message: str, place: Place = Place()) -> None:
        super().__init__(message)
        self.code = code
        self.place = place

    def __reduce__(self) -> tuple[type[Error], tuple[Any, ...]]:
        return Error, (self.code, str(self), self.place)


def wrong(field: str, message: str) -> Error:
    return Error("invalid_argument", message, Place(field=field))


class ToolCallStruct(ctypes.Structure):
    _fields_ = [
        ("id", POINTER(ctypes.c_char)),
        ("name", POINTER(ctypes.c_char)),
        ("arguments", POINTER(ctypes.c_char)),
        ("arguments_size", c_size_t),
    ]


class CompletionStruct(ctypes.Structure):
    _fields_ = [
        ("text", POINTER(ctypes.c_char)),
        ("text_size", c_size_t),
        ("tokens", POINTER(c_int32)),
        ("n_tokens", c_size_t),
        ("logprobs", POINTER(c_float)),
        ("top_tokens", POINTER(c_int32)),
        ("top_logprobs", POINTER(c_float)),
        ("prompt_scored", POINTER(c_int32)),
        ("prompt_logprobs", POINTER(c_float)),
        ("prompt_likeliest", POINTER(c_uint8)),
        ("prompt_top_tokens", POINTER(c_int32)),
        ("prompt_top_logprobs", POINTER(c_float)),
        ("n_prompt_scored", c_size_t),
        ("n_top", c_size_t),
        ("choice_logprobs", POINTER(c_double)),
        ("n_choices", c_size_t),
        ("prompt_tokens", c_size_t),
        ("logits_hash", c_uint64),
        ("finish_reason", c_char_p),
        ("reasoning", POINTER(ctypes.c_char)),
        ("reasoning_size", c_size_t),
        ("calls", POINTER(ToolCallStruct)),
        ("n_calls", c_size_t),
    ]


class EventStruct(ctypes.Structure):
    _fields_ = [
        ("question", c_size_t),
        ("choice", c_int32),
        ("text", POINTER(ctypes.c_char)),
        ("text_size", c_size_t),
        ("completion", POINTER(CompletionStruct)),
        ("reasoning", POINTER(ctypes.c_char)),
        ("reasoning_size", c_size_t),
        ("calls", POINTER(ToolCallStruct)),
        ("n_calls", c_size_t),
    ]


ON_RESULT = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(ctypes.c_char), c_size_t)
_TEXTS, _TOKENS, _OUT, _SIZE = POINTER(c_char_p), POINTER(c_int32), POINTER(c_void_p), POINTER(c_size_t)
# name: result, arguments
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "pando_version": (c_char_p, []),
    "pando_status_name": (c_char_p, [c_int]),
    "pando_last_error": (c_char_p, []),
    "pando_last_error_place": (c_char_p, []),
    "pando_model_load": (c_int, [c_char_p, c_char_p, _OUT]),
    "pando_model_free": (None, [c_void_p]),
    "pando_model_info": (c_char_p, [c_void_p]),
    "pando_encode": (c_int, [c_void_p, c_char_p, c_size_t, c_int, _TOKENS, c_size_t, _SIZE]),
    "pando_decode": (c_int, [c_void_p, _TOKENS, c_size_t, c_char_p, c_size_t, _SIZE]),
    "pando_sampling_defaults": (c_int, [c_void_p, c_char_p, c_size_t, _SIZE]),
    "pando_engine_stats": (c_int, [c_void_p, c_char_p, c_size_t, _SIZE]),
    "pando_engine_open": (c_int, [c_void_p, c_char_p, _OUT]),
    "pando_engine_free": (None, [c_void_p]),
    "pando_request_options": (c_char_p, []),
    "pando_ask": (c_int, [c_void_p, c_char_p, _TEXTS, c_size_t, c_char_p, _OUT]),
    "pando_prompt": (c_int, [c_void_p, c_char_p, c_char_p, _OUT]),
    "pando_prompt_tokens": (c_int, [c_void_p, _TOKENS, c_size_t, c_char_p, _OUT]),
    "pando_ask_line": (c_int, [c_void_p, c_char_p, c_size_t, _OUT]),
    "pando_score": (c_int, [c_void_p, c_char_p, _TEXTS, c_size_t, _OUT]),
    "pando_next": (c_int, [c_void_p, c_double, POINTER(EventStruct)]),
    "pando_wait": (c_int, [c_void_p, c_double]),
    "pando_completion_of": (POINTER(CompletionStruct), [c_void_p, c_size_t, c_size_t]),
    "pando_cancel": (None, [c_void_p]),
    "pando_stream_descriptor": (c_int, [c_void_p]),
    "pando_stream_free": (None, [c_void_p]),
    "pando_job_open": (c_int, [c_void_p, c_char_p, c_char_p, _OUT]),
    "pando_job_put": (c_int, [c_void_p, c_char_p, c_size_t]),
    "pando_job_next": (c_int, [c_void_p, c_double, POINTER(c_void_p), _SIZE]),
    "pando_job_cancel": (None, [c_void_p]),
    "pando_job_descriptor": (c_int, [c_void_p]),
    "pando_job_free": (None, [c_void_p]),
    "pando_run_batch": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, ON_RESULT, c_void_p]),
}


def _load() -> ctypes.CDLL:
    # PANDO_LIBRARY, or libpando-c.so beside this file (as in the wheel), in the repository's build, or the system's.
    here = pathlib.Path(__file__).resolve().parent
    own = [path for path in (here / "libpando-c.so", here.parents[1] / "build" / "libpando-c.so") if path.exists()]
    try:
        loaded = ctypes.CDLL(os.environ.get("PANDO_LIBRARY") or str(own[0] if own else "libpando-c.so.0"))
    except OSError as error:
        raise ImportError(f"Pando's C library cannot be loaded: {error} (hint: PANDO_LIBRARY names it)") from None
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


library = _load()


def version() -> str:
    return str(library.pando_version().decode())


def fail(status: int) -> Error:
    """The error of this thread's last call."""
    name = library.pando_status_name(status).decode()
    if status < 0:
        return Error(name, name)
    message = library.pando_last_error().decode("utf-8", "replace")
    return Error(name, message, place_of(json.loads(library.pando_last_error_place())))


def place_of(named: dict[str, str]) -> Place:
    return Place(**named)


def check(status: int) -> None:
    if status != OK:
        raise fail(status)


class Handle:
    """A pointer that is freed once nobody uses it any more. Whoever calls a function holds the handle
    meanwhile, so that closing from another thread is safe."""

    def __init__(self, pointer: Optional[int], free: Callable[[Optional[int]], None]) -> None:
        self.pointer = pointer
        weakref.finalize(self, free, pointer)


def c_text(text: str, field: str) -> bytes:
    if not isinstance(text, str):
        raise wrong(field, f"{field} is of type {type(text).__name__}, expected a string")
    if "\0" in text:
        raise wrong(field, f"{field} contains a NUL character, expected none, because C strings end there")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise wrong(field, f"{field} is no Unicode text at {error.start}, expected no surrogates") from None


def c_texts(texts: list[bytes]) -> ctypes.Array[c_char_p]:
    return (c_char_p * len(texts))(*texts)
