from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, TypedDict, Union

import numpy as np
import numpy.typing as npt

from ._c import CompletionStruct, Error, EventStruct


class _Said(TypedDict):
    role: str  # "system", "user", "assistant" or "tool"


class Message(_Said, total=False):
    """A message of a conversation."""

    content: Optional[str]  # always there, but for an assistant's calls
    tool_calls: Sequence[Mapping[str, Any]]  # of an assistant, as OpenAI's API has them
    tool_call_id: str  # of a tool: the call that it answers
    reasoning_content: str


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

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls as OpenAI's API has them."""
        return [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in self.calls
        ]

    def message(self) -> Message:
        """The answer as the next message of its conversation."""
        message: Message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = self.tool_calls
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        return message


@dataclass(frozen=True, eq=False)
class Event:
    """The next piece of an answer; `completion` is there where it is finished."""

    question: int
    choice: int  # of n, from 0
    text: str
    completion: Optional[Completion]
    reasoning: str  # as text
    calls: tuple[ToolCall, ...]  # new ones, each whole


@dataclass(frozen=True)
class Ranked:
    """How relevant a document is to a query."""

    index: int  # of the document, as given
    score: float  # in [0, 1], unless the files of a classifier say otherwise
    mass: Optional[float]  # p(yes) + p(no): small where the model would answer something else; None: a classifier


@dataclass(frozen=True)
class Label:
    """A label of a text or a pair; or, by a classifier of tokens, of a span of the text."""

    label: str
    score: float
    text: Optional[str] = None  # of the span
    start: Optional[int] = None  # in characters
    end: Optional[int] = None


@dataclass(frozen=True)
class Perplexity:
    """How likely a text is."""

    perplexity: float
    bits_per_byte: float
    log_likelihood: float  # sum of ln p
    tokens: int  # that were scored
    bytes: int  # of the text
    windows: int


@dataclass(frozen=True)
class Failure:
    """A line of a batch, or a question of it, that has no answer."""

    line: int  # from 1
    question_id: Optional[str]  # None: the whole line
    error: Error


@dataclass(frozen=True)
class BatchSummary:
    """Counts of a batch, and what has no answer."""

    lines: int
    bad_lines: int
    questions: int  # that were answered
    answers: int
    failed: int  # questions of good lines
    skipped: int  # too long, left out as asked
    cut: int  # lines that were cut to fit
    forms_cut: int  # answers that ended before their form did
    prompt_tokens: int
    seconds: float
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]


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
