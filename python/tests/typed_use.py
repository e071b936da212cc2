"""Uses of the package for type checkers: read by mypy, not run."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import pando


def calls(engine: pando.Engine) -> None:
    assert_type(engine.answer("context", ["question", {"text": "q", "choices": ["a"]}], max_tokens=3), list[pando.Completion])
    assert_type(engine.complete([{"role": "user", "content": "a"}], tools=[], temperature=0.5)[0].tool_calls, list[dict[str, Any]])
    assert_type(engine.embed(["a"], dimensions=3), npt.NDArray[np.float32])
    assert_type(engine.rerank("a", ["b"], top_n=1), list[pando.Ranked])
    assert_type(engine.classify(["a", ("b", "c")], top_k=1), list[list[pando.Label]])
    assert_type(engine.perplexity("a", window=3), pando.Perplexity)
    assert_type(engine.run_batch([{"prompt": "a"}, "{}"], print, ordered=True), pando.BatchSummary)
    assert_type(engine.answer_frame("a frame", choices=["a"]), str)
    for event in engine.stream("context", ["question"]):
        assert_type(event, pando.Event)
    engine.complete("a", max_token=3)  # type: ignore[call-arg]
    engine.embed(["a"], dimensions="three")  # type: ignore[arg-type]


async def awaited(engine: pando.AsyncEngine) -> None:
    assert_type(await engine.answer("context", ["question"]), list[pando.Completion])
    assert_type(await engine.embed(["a"]), npt.NDArray[np.float32])
    async for event in engine.stream("context", ["question"]):
        assert_type(event, pando.Event)


def errors() -> str:
    try:
        pando.Model("path")
    except pando.Error as error:
        return assert_type(error.code, str) + assert_type(error.place, pando.Place).field
    return ""
