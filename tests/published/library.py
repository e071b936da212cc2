"""Tokenizers of published models in the library tokenizers."""
import json
import sys

from gguf import GGUFReader
from tokenizers import Tokenizer

import texts

sys.path.append(str(texts.SOURCE / "tools"))
from tokenizer_golden import GPT2, QWEN2

CONTROL, USER_DEFINED = 3, 4


def split(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


# The normalizer, and the steps before ByteLevel, by tokenizer.ggml.pre.
STEPS = {"smollm": (None, [{"type": "Digits", "individual_digits": True}, split(GPT2)]),
         "qwen2": ({"type": "NFC"}, [split(QWEN2)])}


def byte_level(fields):
    """The tokenizer.json of a byte-level GGUF vocabulary."""
    tokens, types, merges, pre = (fields[f"tokenizer.ggml.{key}"].contents()
                                  for key in ("tokens", "token_type", "merges", "pre"))
    normalizer, steps = STEPS[pre]
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": kind == CONTROL}
             for i, (token, kind) in enumerate(zip(tokens, types, strict=True)) if kind in (CONTROL, USER_DEFINED)]
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, last]}, "post_processor": None,
            "decoder": last,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}}


def tokenizer_of(name):
    """The tokenizer of Gemma 3 comes with EmbeddingGemma."""
    file = texts.file_of(name)
    fields = GGUFReader(file).fields if file.suffix == ".gguf" else None
    if "gemma" not in name:
        return Tokenizer.from_str(json.dumps(byte_level(fields)))
    tokenizer = Tokenizer.from_file(str(texts.file_of("embeddinggemma-300m") / "tokenizer.json"))
    if fields:
        spaces = str.maketrans("▁", " ")  # GGUF files have runs of spaces literally
        for i, token in enumerate(fields["tokenizer.ggml.tokens"].contents()):
            assert tokenizer.id_to_token(i).translate(spaces) == token.translate(spaces), token
    return tokenizer
