from __future__ import annotations

import ctypes
import json
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
    TypeVar,
    Union,
)

import numpy as np
import numpy.typing as npt

from ._c import CANCELLED, END, OK, TIMEOUT, CompletionStruct, EventStruct, Handle
from ._c import c_text, c_texts, check, fail, library
from ._completion import Completion, Event, Score, calls_of, completion_of, score_of
from ._options import SamplingOptions
from ._model import Model, Tokens, as_c_tokens, demo_model, token_array

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Seconds a call may wait before the interpreter looks for signals, such as that of Ctrl-C.
_PATIENCE = 0.1


class _Said(TypedDict):
    role: str  # "system", "user", "assistant" or "tool"


class Message(_Said, total=False):
    content: Optional[str]  # always there, but for an assistant's calls
    tool_calls: Sequence[Mapping[str, Any]]  # of an assistant, as OpenAI's API has them
    tool_call_id: str  # of a tool: the call that it answers
    reasoning_content: str


class Options(SamplingOptions, total=False):
    """And what is reported besides.

    schema: a JSON Schema that the answer's text keeps, as a mapping, or a pydantic model.
    The next ones go with messages: tools, a list of functions as OpenAI's API has them; tool_choice, "auto",
    "none", "required", or which ones; thinking_budget, tokens of reasoning at most.
    """

    schema: Union[Mapping[str, Any], bool, type]

    tools: Sequence[Mapping[str, Any]]
    tool_choice: Union[str, Mapping[str, Any]]
    parallel_tool_calls: bool
    thinking_budget: int

    prompt_logprobs: bool
    logits_hash: bool
    thinking: bool


class Question(TypedDict, total=False):
    """One of several about a context, with choices of its own."""

    text: str  # always there
    id: Union[str, int]
    choices: Sequence[str]
    answers: Sequence[str]  # references, which are not used here
    metadata: Mapping[str, Any]  # the same


class AnswerOptions(Options, total=False):
    """And what questions about a context may say besides; pando/answer.h says it in full."""

    instruction: str
    template: str
    choices: Sequence[str]
    chat: bool


T = TypeVar("T")
Prompt = Union[str, Tokens, Sequence[Message]]
Questions = Sequence[Union[str, Question]]


def _json(options: Mapping[str, Any]) -> bytes:
    def plain(value: Any) -> Any:
        if isinstance(value, (np.integer, np.floating, np.bool_)):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        if hasattr(value, "model_json_schema"):  # a model of pydantic
            return value.model_json_schema()
        raise TypeError(f"an option is of type {type(value).__name__}, expected a string, number, list or mapping")

    return json.dumps(options, default=plain).encode()


class Stream(Iterator[Event]):
    """The events of questions that are being answered, as they come.

    Ends after the last answer, or with the error that ended all of them. Leaving it as a context manager,
    or the end of its life, cancels what is not finished.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle: Optional[Handle] = handle

    def _next(self, make: Callable[[EventStruct], T]) -> T:
        handle, event = self._handle, EventStruct()
        if handle is None:
            raise StopIteration
        status = TIMEOUT
        while status == TIMEOUT:
            status = library.pando_next(handle.pointer, _PATIENCE, ctypes.byref(event))
        if status in (END, CANCELLED):
            raise StopIteration
        if status != OK:
            raise fail(status)
        return make(event)

    def __next__(self) -> Event:
        return self._next(_event_of)

    def cancel(self) -> None:
        """Drops what is not finished; the iteration ends. From any thread."""
        handle = self._handle
        if handle is not None:
            library.pando_cancel(handle.pointer)

    def close(self) -> None:
        self.cancel()
        self._handle = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _all(self, n: int, make: Callable[[CompletionStruct], T]) -> list[list[T]]:
        """Waits for all n questions: [n][choices]."""
        found: list[dict[int, T]] = [{} for _ in range(n)]

        def keep(event: EventStruct) -> None:
            if event.completion:
                found[event.question][event.choice] = make(event.completion.contents)

        with self:
            while True:
                try:
                    self._next(keep)
                except StopIteration:
                    break
        return [[choices[i] for i in sorted(choices)] for choices in found]


def _event_of(event: EventStruct) -> Event:
    return Event(
        question=event.question,
        choice=event.choice,
        text=ctypes.string_at(event.text, event.text_size).decode(),
        completion=completion_of(event.completion.contents) if event.completion else None,
        reasoning=ctypes.string_at(event.reasoning, event.reasoning_size).decode(),
        calls=calls_of(event),
    )


class Engine:
    """Answers requests over a model, sharing what their prompts share.

    model: a Model, or the path of one; without it the demo model. kv_memory: bytes for keys and values,
    0: half of what is free; kv_type: "f16", "bf16", "f32" or "int8"; sharing: "tree", "packed",
    "prefix_cached"; 0 threads: one for each processor; context: longest
    sequence in tokens, 0: the model's. The others are those of EngineOptions (pando/engine.h).
    """

    def __init__(
        self,
        model: Union[Model, str, os.PathLike[str], None] = None,
        *,
        sharing: str = "tree",
        threads: int = 0,
        kv_memory: int = 0,
        kv_type: str = "f16",
        context: int = 0,
        seed: int = 0,
        place_every: int = 2048,
        step_rows: int = 1024,
        max_running: int = 256,
        max_open: int = 4096,
        isa: str = "",
    ) -> None:
        options = {name: value for name, value in locals().items() if name not in ("self", "model")}
        path = demo_model() if model is None else model
        self.model = path if isinstance(path, Model) else Model(path, threads=threads)
        pointer = ctypes.c_void_p()
        handle = self.model.handle()
        check(library.pando_engine_open(handle.pointer, _json(options), ctypes.byref(pointer)))
        self._handle: Optional[Handle] = Handle(pointer.value, library.pando_engine_free)

    def answer(
        self, context: str, questions: Questions, **options: Unpack[AnswerOptions]
    ) -> list[Completion]:
        """One answer to each question, a text or a Question, in order. The first error ends the call."""
        if options.get("n", 1) != 1:
            raise ValueError("n needs complete() or stream(): answer() gives one answer to each question")
        with self.stream(context, questions, **options) as stream:
            return [choices[0] for choices in stream._all(len(questions), completion_of)]

    def stream(self, context: str, questions: Questions, **options: Unpack[AnswerOptions]) -> Stream:
        """The same, piece by piece, in the order in which the answers grow."""
        if isinstance(questions, (str, Mapping)):
            raise TypeError(f"questions is of type {type(questions).__name__}, expected a list")
        if isinstance(context, (list, tuple)):
            raise TypeError(
                "the context is a list, expected a string (hint: ask about each context in a separate call; a "
                "beginning that several contexts have in common is still computed once)"
            )
        if any(isinstance(question, Mapping) for question in questions):
            return self._ask_line(context, questions, options)
        texts = c_texts([c_text(question, "a question") for question in questions])  # type: ignore[arg-type]
        return self._open(library.pando_ask, c_text(context, "the context"), texts, len(texts), _json(options))

    def _ask_line(self, context: str, questions: Questions, options: AnswerOptions) -> Stream:
        """Questions that are more than their text."""
        c_text(context, "the context")
        for i, question in enumerate(questions):
            if not isinstance(question, (str, Mapping)):
                raise TypeError(f"question {i} is of type {type(question).__name__}, expected a string or a mapping")
        plain = [question if isinstance(question, str) else dict(question) for question in questions]
        line = _json({**options, "context": context, "questions": plain})
        return self._open(library.pando_ask_line, line, len(line))

    def complete(self, prompt: Prompt, **options: Unpack[Options]) -> list[Completion]:
        """The n answers to a prompt: a text, tokens, or the messages of a conversation."""
        with self.stream_prompt(prompt, **options) as stream:
            return stream._all(1, completion_of)[0]

    def stream_prompt(self, prompt: Prompt, **options: Unpack[Options]) -> Stream:
        """The same, piece by piece."""
        if isinstance(prompt, str):
            return self._open(library.pando_prompt, c_text(prompt, "the prompt"), _json(options))
        if isinstance(prompt, Mapping) or any(isinstance(part, str) for part in prompt):
            raise TypeError(
                f"the prompt is a {type(prompt).__name__}{'' if isinstance(prompt, Mapping) else ' of strings'}, "
                "expected one prompt: a string, tokens, or a list of messages (hint: for several prompts, open one "
                "stream_prompt() each before reading any of them; they run together)"
            )
        if len(prompt) > 0 and isinstance(prompt[0], Mapping):
            line = _json({**options, "messages": list(prompt)})
            return self._open(library.pando_ask_line, line, len(line))
        tokens = token_array(prompt)  # type: ignore[arg-type]
        return self._open(library.pando_prompt_tokens, as_c_tokens(tokens), tokens.size, _json(options))

    def prompt_logprobs(self, prompt: Prompt) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Tokens [n] of a prompt but its first, and ln p of each given those before it [n]."""
        scored = self.complete(prompt, prompt_logprobs=True, max_tokens=0)[0]
        assert scored.prompt_scored is not None and scored.prompt_logprobs is not None
        return scored.prompt_scored, scored.prompt_logprobs

    def score(self, prefix: str, continuations: Sequence[str]) -> list[Score]:
        """How likely each continuation is behind the prefix, which is computed once."""
        if isinstance(continuations, str):
            raise TypeError("continuations is a string, expected a list of strings")
        texts = c_texts([c_text(continuation, "a continuation") for continuation in continuations])
        with self._open(library.pando_score, c_text(prefix, "the prefix"), texts, len(texts)) as stream:
            return [scores[0] for scores in stream._all(len(texts), score_of)]

    def stats(self) -> dict[str, Union[int, float]]:
        """Counters since the engine was opened, named as in EngineStats (pando/engine.h)."""
        handle, size, text = self._open_handle(), ctypes.c_size_t(), ctypes.create_string_buffer(4096)
        check(library.pando_engine_stats(handle.pointer, text, len(text), ctypes.byref(size)))
        stats: dict[str, Union[int, float]] = json.loads(text.raw[: size.value])
        return stats

    def close(self) -> None:
        """Streams that are open go on."""
        self._handle = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open_handle(self) -> Handle:
        if self._handle is None:
            raise ValueError("the engine is closed")
        return self._handle

    def _open(self, function: Callable[..., int], *arguments: Any) -> Stream:
        handle, pointer = self._open_handle(), ctypes.c_void_p()
        check(function(handle.pointer, *arguments, ctypes.byref(pointer)))
        return Stream(Handle(pointer.value, library.pando_stream_free))
