"""Engines for event loops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _batch, _calls
from ._completion import BatchSummary, Completion, Label, Perplexity, Ranked, Score
from ._engine import Engine
from ._requests import Prompt, Questions, TextOrPair, batch_bytes, check_lines
from ._stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._requests import AnswerOptions, BatchOptions, ClassifyOptions, EmbedOptions, Options, RerankOptions


class AsyncEngine:
    """The calls of an Engine, to be awaited. The event loop goes on meanwhile; a task that is cancelled
    cancels its requests. Engine says what each call does."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def answer(self, context: str, questions: Questions, **options: Unpack[AnswerOptions]) -> list[Completion]:
        return await _calls.answers(self.engine, context, questions, options).awaited()

    async def complete(self, prompt: Prompt, **options: Unpack[Options]) -> list[Completion]:
        return await _calls.completions(self.engine, prompt, options).awaited()

    async def prompt_logprobs(self, prompt: Prompt) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        return await _calls.prompt_logprobs(self.engine, prompt).awaited()

    async def score(self, prefix: str, continuations: Sequence[str]) -> list[Score]:
        return await _calls.scores(self.engine, prefix, continuations).awaited()

    async def embed(self, texts: Sequence[str], **options: Unpack[EmbedOptions]) -> npt.NDArray[np.float32]:
        return await _calls.vectors(self.engine, texts, options).awaited()

    async def rerank(self, query: str, documents: Sequence[str], **options: Unpack[RerankOptions]) -> list[Ranked]:
        return await _calls.ranking(self.engine, query, documents, options).awaited()

    async def classify(self, texts: Sequence[TextOrPair], **options: Unpack[ClassifyOptions]) -> list[list[Label]]:
        return await _calls.labels(self.engine, texts, options).awaited()

    async def perplexity(self, text: str, *, window: Optional[int] = None, stride: Optional[int] = None) -> Perplexity:
        return await _calls.perplexity(self.engine, text, {"window": window, "stride": stride}).awaited()

    async def run_batch(
        self, lines: _batch.Lines, on_result: Callable[[dict[str, Any]], object], **options: Unpack[BatchOptions]
    ) -> BatchSummary:
        """Lines may also come by `async for`; what on_result returns is awaited where it can be."""
        check_lines(lines, "__iter__", "__aiter__")
        text = batch_bytes(options)
        job = await asyncio.to_thread(_calls.open_job, self.engine, b"batch", text)
        return await _batch.run_async(job, lines, on_result)

    def stream(self, context: str, questions: Questions, **options: Unpack[AnswerOptions]) -> Stream:
        """To be read by `async for`, within `async with`."""
        return self.engine.stream(context, questions, **options)

    def stream_prompt(self, prompt: Prompt, **options: Unpack[Options]) -> Stream:
        return self.engine.stream_prompt(prompt, **options)

    async def __aenter__(self) -> AsyncEngine:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.engine.close)
