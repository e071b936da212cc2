"""Written by tools/python_options.py of the library's table of options; a test compares them."""

from __future__ import annotations

from typing import Mapping, Sequence, TypedDict, Union


class SamplingOptions(TypedDict, total=False):
    """How answers are drawn and what is reported of them; docs/answers.md says it in full."""

    max_tokens: int
    """Maximum tokens per answer (at least 1, or 0 where the prompt is scored, default 128)."""
    min_tokens: int
    """Tokens of an answer before a token or text may end it (0 or more, default 0)."""
    temperature: float
    """Randomness; 0 always takes the likeliest token (0 or more, default 0)."""
    top_k: int
    """Only the k likeliest tokens; 0: all (0 (off) or more, default 0)."""
    top_p: float
    """Only the likeliest tokens that sum to p; 0: the likeliest (0 to 1, default 1)."""
    min_p: float
    """Only tokens at least p times as likely as the likeliest (0 to 1, default 0)."""
    logit_bias: Mapping[int, float]
    """Added to the logits of these tokens."""
    repetition_penalty: float
    """Penalty for tokens already in prompt or answer; 1: off (more than 0, default 1)."""
    presence_penalty: float
    """Penalty for tokens already in the answer; 0: off (a number, default 0)."""
    frequency_penalty: float
    """The same, multiplied by how often a token appears (a number, default 0)."""
    seed: int
    """Seed of the random draws; default: from the engine's seed and the id."""
    n: int
    """Answers per question (1 to 4096, default 1)."""
    stop: Union[str, Sequence[str]]
    """Text that ends an answer; may be repeated."""
    stop_token_ids: Sequence[int]
    """Tokens that end an answer, besides the model's own."""
    ignore_eos: bool
    """Continue after the end-of-sequence token (default False)."""
    skip_special_tokens: bool
    """Special tokens give no text (default True)."""
    logprobs: bool
    """ln p of generated tokens (default False)."""
    top_logprobs: int
    """With every ln p, those of this many likeliest tokens (0 (none) or more, default 0)."""
