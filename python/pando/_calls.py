"""Calls of an engine that give one value: how each is opened, and what its results become."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional, Sequence, TypeVar

import numpy as np
import numpy.typing as npt

from ._c import CompletionStruct, EventStruct, c_text, c_texts, library
from ._completion import Completion, Label, Perplexity, Ranked, Score, completion_of, score_of
from ._requests import (
    Prompt,
    Questions,
    TextOrPair,
    json_bytes,
    list_of_texts,
    list_of_texts_and_pairs,
    one_answer,
)
from ._stream import EventStream, Job, Results

if TYPE_CHECKING:
    from ._engine import Engine

T = TypeVar("T")
V = TypeVar("V")
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Call(Generic[T, V]):
    open: Callable[[], Results[T]]
    value_of: Callable[[list[T]], V]

    def wait(self) -> V:
        with self.open() as results:
            return self.value_of(list(results))

    async def awaited(self) -> V:
        results = await asyncio.to_thread(self.open)
        async with results:
            return self.value_of([result async for result in results])


# An event: its question, its choice and, where the answer is finished, what is made of that.
Finished = tuple[int, int, Optional[T]]


def _finished(make: Callable[[CompletionStruct], T]) -> Callable[[EventStruct], Finished[T]]:
    def made(event: EventStruct) -> Finished[T]:
        return event.question, event.choice, make(event.completion.contents) if event.completion else None

    return made


def _choices(results: list[Finished[T]]) -> list[list[T]]:
    """[questions][n]"""
    found: dict[int, dict[int, T]] = {}
    for question, choice, one in results:
        if one is not None:
            found.setdefault(question, {})[choice] = one
    return [[choices[i] for i in sorted(choices)] for _, choices in sorted(found.items())]


def answers(engine: Engine, context: str, questions: Questions, options: Mapping[str, Any]) -> Call[Any, list[Completion]]:
    one_answer(options)
    return Call(
        lambda: engine._open_questions(context, questions, options, _finished(completion_of)),
        lambda results: [choices[0] for choices in _choices(results)],
    )


def completions(engine: Engine, prompt: Prompt, options: Mapping[str, Any]) -> Call[Any, list[Completion]]:
    return Call(
        lambda: engine._open_prompt(prompt, options, _finished(completion_of)),
        lambda results: (_choices(results) or [[]])[0],
    )


def prompt_logprobs(
    engine: Engine, prompt: Prompt
) -> Call[Any, tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]:
    def arrays(results: list[Finished[Completion]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        scored = _choices(results)[0][0]
        tokens, logprobs = scored.prompt_scored, scored.prompt_logprobs
        if tokens is None or logprobs is None:  # one token, with none before it
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
        return tokens, logprobs

    options = {"prompt_logprobs": True, "max_tokens": 0}
    return Call(lambda: engine._open_prompt(prompt, options, _finished(completion_of)), arrays)


def scores(engine: Engine, prefix: str, continuations: Sequence[str]) -> Call[Any, list[Score]]:
    texts = list_of_texts(continuations, "continuations")
    pointers = c_texts([c_text(text, f"continuations[{i}]") for i, text in enumerate(texts)])
    first = c_text(prefix, "prefix")

    def opened() -> EventStream[Finished[Score]]:
        handle = engine._open(library.pando_score, library.pando_stream_free, first, pointers, len(pointers))
        return EventStream(handle, _finished(score_of))

    return Call(opened, lambda results: [one[0] for one in _choices(results)])


def _job(engine: Engine, task: bytes, body: Mapping[str, Any], value_of: Callable[[Any], V]) -> Call[Any, V]:
    text = json_bytes(body)
    return Call(lambda: open_job(engine, task, text), lambda results: value_of(results[0]))


def open_job(engine: Engine, task: bytes, options: bytes) -> Job:
    return Job(engine._open(library.pando_job_open, library.pando_job_free, task, options))


def vectors(engine: Engine, texts: Sequence[str], options: Mapping[str, Any]) -> Call[Any, Vectors]:
    def of(answer: Any) -> Vectors:
        rows = [np.frombuffer(base64.b64decode(one["embedding"]), dtype=np.float32) for one in answer["data"]]
        return np.stack(rows)

    body = {**options, "input": list_of_texts(texts, "texts"), "encoding_format": "base64"}
    return _job(engine, b"embeddings", body, of)


def ranking(engine: Engine, query: str, documents: Sequence[str], options: Mapping[str, Any]) -> Call[Any, list[Ranked]]:
    def of(answer: Any) -> list[Ranked]:
        return [Ranked(one["index"], one["relevance_score"], one.get("mass")) for one in answer["results"]]

    body = {**options, "query": query, "documents": list_of_texts(documents, "documents")}
    return _job(engine, b"rerank", body, of)


def labels(engine: Engine, texts: Sequence[TextOrPair], options: Mapping[str, Any]) -> Call[Any, list[list[Label]]]:
    def of(answer: Any) -> list[list[Label]]:
        return [[Label(**label) for label in one.get("entities", one.get("labels"))] for one in answer["data"]]

    return _job(engine, b"classify", {**options, "input": list_of_texts_and_pairs(texts, "texts")}, of)


def perplexity(engine: Engine, text: str, options: Mapping[str, Any]) -> Call[Any, Perplexity]:
    return _job(engine, b"perplexity", {**options, "text": text}, lambda answer: Perplexity(**answer))
