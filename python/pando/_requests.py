"""Requests to engines, and how they are written as JSON."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Sequence, TypedDict, Union

import numpy as np

from ._c import c_text, wrong
from ._completion import Message
from ._model import Tokens
from ._options import SamplingOptions


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


class EmbedOptions(TypedDict, total=False):
    """How texts become vectors: fields of /v1/embeddings."""

    dimensions: int
    """Number of first values to keep, before scaling; default: all."""
    normalize: bool
    """Scaled to length 1; default: as the model's files say, or else so."""
    input_type: str
    """Name of the prompt in the model's files that is put before each text, such as "query"."""
    truncate: Union[bool, str]
    """Texts beyond the context are cut: True or "END" at their end, "START" at their beginning."""


class RerankOptions(TypedDict, total=False):
    """How relevance is asked for: fields of /v1/rerank."""

    instruction: str
    """The criterion of relevance; default: as the model's files say."""
    top_n: int
    """Number of results; default: all."""
    max_tokens_per_doc: int
    max_tokens_per_query: int
    truncate: Union[bool, str]
    """Documents whose prompt is beyond the context are cut, as in EmbedOptions."""


class ClassifyOptions(TypedDict, total=False):
    """How texts are labelled: fields of /v1/classify."""

    activation: str
    """The scores: "softmax", "sigmoid" or "logits"; default: as the model's files say."""
    aggregation_strategy: str
    """How labels of tokens become spans: "none", "simple", "first", "average" or "max"; default: "simple"."""
    top_k: int
    """Number of labels of each text; default: all."""
    truncate: Union[bool, str]
    """Texts beyond the context are cut, as in EmbedOptions."""


class BatchOptions(AnswerOptions, total=False):
    """How lines of a batch are answered. Options of answers hold for lines that do not say otherwise.

    task: "answer", "embed", "rerank", "classify" or "score"; ordered: results in the order of the lines; too_long:
    "error", "skip", "truncate_middle" or "split"; with_: "question", "answers", "scores" and "prompt" as further
    fields.
    The next ones go with "embed" (dimensions, normalize, input_type), "rerank" (top) and "classify" (top, scores,
    aggregation).
    """

    task: str
    ordered: bool
    too_long: str
    with_: Sequence[str]
    dimensions: int
    normalize: bool
    input_type: str
    top: int
    scores: str
    aggregation: str


Prompt = Union[str, Tokens, Sequence[Message], Sequence[Mapping[str, object]]]
Questions = Sequence[Union[str, Question]]
Line = Union[str, Mapping[str, Any]]
TextOrPair = Union[str, Sequence[str]]


def json_bytes(value: Any) -> bytes:
    def plain(value: Any) -> Any:
        if isinstance(value, (np.integer, np.floating, np.bool_)):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        if hasattr(value, "model_json_schema"):  # a model of pydantic
            return value.model_json_schema()
        raise wrong("", f"an option is of type {type(value).__name__}, expected a string, number, list or mapping")

    try:
        return json.dumps(value, default=plain).encode()
    except (TypeError, ValueError, RecursionError) as error:  # keys of other types; values in themselves
        raise wrong("", f"an option cannot be written as JSON: {error}") from None


def line_bytes(line: Line, number: int) -> bytes:
    """A line of a batch, with its end."""
    if isinstance(line, Mapping):
        return json_bytes(dict(line)) + b"\n"
    field = f"lines[{number}]"
    if not isinstance(line, str):
        raise wrong(field, f"{field} is of type {type(line).__name__}, expected a string or a mapping")
    text = line.rstrip("\r\n")
    if "\n" in text or not text.strip():
        raise wrong(field, f"{field} is {'several lines' if text.strip() else 'empty'}, expected one line of JSON")
    return c_text(text, field) + b"\n"


def check_lines(lines: Any, *ways: str) -> None:
    """`ways`: methods of which an iterable of lines has one."""
    if isinstance(lines, (str, bytes, Mapping)) or not any(hasattr(lines, way) for way in ways):
        raise wrong("lines", f"lines is of type {type(lines).__name__}, expected an iterable of mappings or texts of JSON")


def batch_bytes(options: Mapping[str, Any]) -> bytes:
    return json_bytes({("with" if name == "with_" else name): value for name, value in options.items()})


def list_of_texts(texts: Any, field: str) -> list[str]:
    if isinstance(texts, (str, Mapping)) or not hasattr(texts, "__iter__"):
        raise wrong(field, f"{field} is of type {type(texts).__name__}, expected a list of strings")
    found: list[str] = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            place = f"{field}[{i}]"
            raise wrong(place, f"{place} is of type {type(text).__name__}, expected a string")
    return found


def list_of_texts_and_pairs(texts: Any, field: str) -> list[Union[str, list[str]]]:
    if isinstance(texts, (str, Mapping)) or not hasattr(texts, "__iter__"):
        raise wrong(field, f"{field} is of type {type(texts).__name__}, expected a list of strings and pairs of strings")
    found: list[Union[str, list[str]]] = []
    for i, text in enumerate(texts):
        is_pair = isinstance(text, (tuple, list)) and len(text) == 2 and all(isinstance(part, str) for part in text)
        if not isinstance(text, str) and not is_pair:
            place = f"{field}[{i}]"
            raise wrong(place, f"{place} is of type {type(text).__name__}, expected a string or a pair of strings")
        found.append(text if isinstance(text, str) else list(text))
    return found


def check_questions(context: Any, questions: Any) -> None:
    if isinstance(questions, (str, Mapping)) or not hasattr(questions, "__iter__"):
        raise wrong("questions", f"questions is of type {type(questions).__name__}, expected a list")
    if isinstance(context, (list, tuple)):
        raise wrong(
            "context",
            "the context is a list, expected a string (hint: ask about each context in a separate call; a "
            "beginning that several contexts have in common is still computed once)",
        )
    for i, question in enumerate(questions):
        if not isinstance(question, (str, Mapping)):
            place = f"questions[{i}]"
            raise wrong(place, f"{place} is of type {type(question).__name__}, expected a string or a mapping")


def check_prompt(prompt: Any) -> None:
    if isinstance(prompt, Mapping) or not hasattr(prompt, "__iter__") or any(isinstance(part, str) for part in prompt):
        of = " of strings" if isinstance(prompt, (list, tuple)) else ""
        raise wrong(
            "prompt",
            f"the prompt is a {type(prompt).__name__}{of}, expected one prompt: a string, tokens, or a list of "
            "messages (hint: for several prompts, open one stream_prompt() each before reading any of them; they run "
            "together)",
        )


def has_messages(prompt: Any) -> bool:
    return len(prompt) > 0 and isinstance(prompt[0], Mapping)


def one_answer(options: Mapping[str, Any]) -> None:
    n: Optional[int] = options.get("n")
    if n not in (None, 1):
        raise wrong("n", f"n is {n}, expected 1, one answer to each question (hint: stream() gives all)")
