from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ._c import CompletionStruct, EventStruct


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as an answer asks for it."""

    id: str  # the model's own, or nine letters and digits
    name: str  # of a tool that the request offers
    arguments: str  # text of a JSON object


@dataclass(frozen=True, eq=False)
class Completion:
    """A finished answer. Log-probabilities are ln p under the model's own distribution, float32, and None
    where they were not asked for."""

    text: str
    finish_reason: str  # "stop", "length" or "context" (which was full)
    prompt_tokens: int  # the prompt's length
    tokens: npt.NDArray[np.int32]  # [n] generated, the ending token included
    logprobs: Optional[npt.NDArray[np.float32]]  # [n], with logprobs
    top_tokens: Optional[npt.NDArray[np.int32]]  # [n, top_logprobs] the likeliest first
    top_logprobs: Optional[npt.NDArray[np.float32]]  # [n, top_logprobs]
    prompt_scored: Optional[npt.NDArray[np.int32]]  # [m] prompt but its first, with prompt_logprobs
    prompt_logprobs: Optional[npt.NDArray[np.float32]]  # [m]
    prompt_top_tokens: Optional[npt.NDArray[np.int32]]  # [m, top_logprobs]
    prompt_top_logprobs: Optional[npt.NDArray[np.float32]]  # [m, top_logprobs]
    choice_logprobs: Optional[npt.NDArray[np.float64]]  # [choices], with choices
    logits_hash: int  # XXH3-64 of the logits, with logits_hash; otherwise 0
    reasoning: str  # what the model wrote before its answer, where its chat format marks that
    calls: tuple[ToolCall, ...]  # with tools

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Event:
    """What an answer goes on with; `completion` is there where it is finished."""

    question: int
    choice: int  # of n, from 0
    text: str
    completion: Optional[Completion]
    reasoning: str  # as text
    calls: tuple[ToolCall, ...]  # new ones, each whole


@dataclass(frozen=True, eq=False)
class Score:
    """How likely a continuation is."""

    logprob: float  # ln p of all its tokens, given the prefix
    likeliest: bool  # greedy decoding would give it
    tokens: npt.NDArray[np.int32]  # [n] that were scored
    logprobs: npt.NDArray[np.float32]  # [n]


def _array(pointer: Any, *shape: int) -> Any:
    """A copy of what a pointer of a completion points to; nothing for NULL."""
    return np.ctypeslib.as_array(pointer, shape).copy() if pointer else None


def calls_of(c: Union[CompletionStruct, EventStruct]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=ctypes.string_at(call.id).decode(),
            name=ctypes.string_at(call.name).decode(),
            arguments=ctypes.string_at(call.arguments, call.arguments_size).decode(),
        )
        for call in c.calls[: c.n_calls]
    )


def completion_of(c: CompletionStruct) -> Completion:
    n, m, top = c.n_tokens, c.n_prompt_scored, c.n_top
    tokens = _array(c.tokens, n)
    return Completion(
        text=ctypes.string_at(c.text, c.text_size).decode(),
        finish_reason=c.finish_reason.decode(),
        prompt_tokens=c.prompt_tokens,
        tokens=tokens if tokens is not None else np.empty(0, dtype=np.int32),
        logprobs=_array(c.logprobs, n),
        top_tokens=_array(c.top_tokens, n, top),
        top_logprobs=_array(c.top_logprobs, n, top),
        prompt_scored=_array(c.prompt_scored, m),
        prompt_logprobs=_array(c.prompt_logprobs, m),
        prompt_top_tokens=_array(c.prompt_top_tokens, m, top),
        prompt_top_logprobs=_array(c.prompt_top_logprobs, m, top),
        choice_logprobs=_array(c.choice_logprobs, c.n_choices),
        logits_hash=c.logits_hash,
        reasoning=ctypes.string_at(c.reasoning, c.reasoning_size).decode(),
        calls=calls_of(c),
    )


def score_of(c: CompletionStruct) -> Score:
    logprobs = _array(c.prompt_logprobs, c.n_prompt_scored)
    return Score(
        logprob=float(logprobs.sum(dtype=np.float64)),
        likeliest=bool(_array(c.prompt_likeliest, c.n_prompt_scored).all()),
        tokens=_array(c.prompt_scored, c.n_prompt_scored),
        logprobs=logprobs,
    )
