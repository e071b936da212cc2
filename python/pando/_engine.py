from __future__ import annotations

import ctypes
import json
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _batch, _calls
from ._c import EventStruct, Handle, c_text, c_texts, check, library, wrong
from ._completion import BatchSummary, Completion, Label, Perplexity, Ranked, Score
from ._frame import Frame, answer_frame
from ._model import Model, as_c_tokens, demo_model, token_array
from ._requests import (
    Line,
    Prompt,
    Questions,
    TextOrPair,
    batch_bytes,
    check_lines,
    check_prompt,
    check_questions,
    has_messages,
    json_bytes,
    one_answer,
)
from ._stream import EventStream, Stream, event_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._requests import AnswerOptions, BatchOptions, ClassifyOptions, EmbedOptions, Options, RerankOptions

T = TypeVar("T")


class Engine:
    """Answers requests over a model, sharing what their prompts share.

    model: a Model, or the path of one; without it the demo model. kv_memory: bytes for keys and values,
    0: half of what is free; kv_type: "f16", "bf16", "f32" or "int8"; sharing: "tree", "packed",
    "prefix_cached"; 0 threads: one for each fast processor; context: longest
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
        check(library.pando_engine_open(handle.pointer, json_bytes(options), ctypes.byref(pointer)))
        self._handle: Optional[Handle] = Handle(pointer.value, library.pando_engine_free)

    def answer(self, context: str, questions: Questions, **options: Unpack[AnswerOptions]) -> list[Completion]:
        """One answer to each question, a text or a Question, in order. The first error ends the call."""
        return _calls.answers(self, context, questions, options).wait()

    def stream(self, context: str, questions: Questions, **options: Unpack[AnswerOptions]) -> Stream:
        """Does the same, piece by piece, in the order in which the answers grow; by `for` or `async for`."""
        return self._open_questions(context, questions, options, event_of)

    def complete(self, prompt: Prompt, **options: Unpack[Options]) -> list[Completion]:
        """The n answers to a prompt: a text, tokens, or the messages of a conversation."""
        return _calls.completions(self, prompt, options).wait()

    def stream_prompt(self, prompt: Prompt, **options: Unpack[Options]) -> Stream:
        """Does the same, piece by piece."""
        return self._open_prompt(prompt, options, event_of)

    def prompt_logprobs(self, prompt: Prompt) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Tokens [n] of a prompt but its first, and ln p of each given those before it [n]."""
        return _calls.prompt_logprobs(self, prompt).wait()

    def score(self, prefix: str, continuations: Sequence[str]) -> list[Score]:
        """How likely each continuation is behind the prefix, which is computed once."""
        return _calls.scores(self, prefix, continuations).wait()

    def embed(self, texts: Sequence[str], **options: Unpack[EmbedOptions]) -> npt.NDArray[np.float32]:
        """The vectors of texts: [texts, dimensions] float32."""
        return _calls.vectors(self, texts, options).wait()

    def rerank(self, query: str, documents: Sequence[str], **options: Unpack[RerankOptions]) -> list[Ranked]:
        """The relevance of documents to a query, the highest first; the query is computed once."""
        return _calls.ranking(self, query, documents, options).wait()

    def classify(self, texts: Sequence[TextOrPair], **options: Unpack[ClassifyOptions]) -> list[list[Label]]:
        """The labels of texts and of pairs of texts, the highest score first; by a classifier of tokens the labelled
        spans of each text. The model has to be a classifier."""
        return _calls.labels(self, texts, options).wait()

    def perplexity(self, text: str, *, window: Optional[int] = None, stride: Optional[int] = None) -> Perplexity:
        """How likely a text is, in windows of so many tokens (default: the context), each so many behind the one
        before it (default: half a window)."""
        return _calls.perplexity(self, text, {"window": window, "stride": stride}).wait()

    def run_batch(
        self, lines: Iterable[Line], on_result: Callable[[dict[str, Any]], object], **options: Unpack[BatchOptions]
    ) -> BatchSummary:
        """Answers lines of a batch, mappings or texts of JSON as `pando run` reads them, and calls on_result with
        each line of its output as soon as it is there.

        Lines are taken as the engine has room for them, in the thread that calls. What has no answer is in
        the summary's failures. An exception of `lines` or on_result ends the run and is raised.
        """
        check_lines(lines, "__iter__")
        return _batch.run(_calls.open_job(self, b"batch", batch_bytes(options)), lines, on_result)

    def answer_frame(
        self,
        frame: Frame,
        *,
        context: str = "context",
        question: str = "question",
        output: str = "answer",
        extra: Sequence[str] = (),
        errors: str = "raise",
        **options: Unpack[AnswerOptions],
    ) -> Frame:
        """Returns the frame (pandas.DataFrame, polars.DataFrame, pyarrow.Table or RecordBatch) with answers.

        context, question: names of columns of texts; a cell of the latter may be a list of questions, whose
        answers are a list. A null in either gives a null. output: name of the new column; extra: fields of
        answers that become columns "OUTPUT_FIELD": "finish_reason", "reasoning", "prompt_tokens",
        "completion_tokens", "logprobs", "choice_logprobs". errors: "raise" the first one once all
        rows are done, as a FrameError with the frame of the other answers; or "null": no answer, and the message in a
        column "OUTPUT_error".
        """
        one_answer(options)
        return answer_frame(
            lambda lines, on_result: self.run_batch(lines, on_result, **options),
            frame, context=context, question=question, output=output, extra=extra, errors=errors,
        )  # fmt: skip

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
            raise wrong("engine", "the engine is closed")
        return self._handle

    def _open(self, function: Callable[..., int], free: Callable[[Optional[int]], None], *arguments: Any) -> Handle:
        handle, pointer = self._open_handle(), ctypes.c_void_p()
        check(function(handle.pointer, *arguments, ctypes.byref(pointer)))
        return Handle(pointer.value, free)

    def _open_stream(self, make: Callable[[EventStruct], T], name: str, *arguments: Any) -> EventStream[T]:
        return EventStream(self._open(getattr(library, name), library.pando_stream_free, *arguments), make)

    def _open_questions(
        self, context: str, questions: Questions, options: Mapping[str, Any], make: Callable[[EventStruct], T]
    ) -> EventStream[T]:
        check_questions(context, questions)
        first = c_text(context, "context")
        if any(isinstance(question, Mapping) for question in questions):
            plain = [question if isinstance(question, str) else dict(question) for question in questions]
            line = json_bytes({**options, "context": context, "questions": plain})
            return self._open_stream(make, "pando_ask_line", line, len(line))
        texts = c_texts([c_text(question, f"questions[{i}]") for i, question in enumerate(questions)])  # type: ignore[arg-type]
        return self._open_stream(make, "pando_ask", first, texts, len(texts), json_bytes(options))

    def _open_prompt(
        self, prompt: Prompt, options: Mapping[str, Any], make: Callable[[EventStruct], T]
    ) -> EventStream[T]:
        if isinstance(prompt, str):
            return self._open_stream(make, "pando_prompt", c_text(prompt, "prompt"), json_bytes(options))
        check_prompt(prompt)
        if has_messages(prompt):
            line = json_bytes({**options, "messages": list(prompt)})
            return self._open_stream(make, "pando_ask_line", line, len(line))
        tokens = token_array(prompt)  # type: ignore[arg-type]
        return self._open_stream(make, "pando_prompt_tokens", as_c_tokens(tokens), tokens.size, json_bytes(options))
