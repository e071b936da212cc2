#!/usr/bin/env python3
"""Rebuilds the tokenizer.json of a byte-level GGUF vocabulary, and hashes what `tokenizers` makes of it.

    pip install -r tools/requirements-tokenizers.txt -r tools/requirements-gguf.txt
    python tools/gguf_tokenizer_json.py MODEL.gguf --out tokenizer.json
    python tools/gguf_tokenizer_json.py MODEL.gguf --lines wikitext-2-test.txt --hashes hashes.txt

--hashes writes the reference of tests/text/published_gguf_test.cc: one 64-bit hash of the ids for each
thousand lines of a file, and for each thousand of 100,000 random Unicode strings.
"""

import argparse
import json
import pathlib

from gguf import GGUFReader
from tokenizers import Tokenizer
from tokenizer_golden import GPT2, LLAMA3, QWEN2, hash_ids, random_string

GROUP = 1_000
N_STRINGS = 100_000
CONTROL, USER_DEFINED = 3, 4
DIGITS = {"type": "Digits", "individual_digits": True}


def split(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated",
            "invert": False}


# What is put before ByteLevel, by tokenizer.ggml.pre.
STEPS = {"gpt-2": [split(GPT2)], "smollm": [DIGITS, split(GPT2)], "qwen2": [split(QWEN2)],
         "llama-bpe": [split(LLAMA3)]}


def document_of(path):
    fields = GGUFReader(path).fields
    value = lambda key: fields[f"tokenizer.ggml.{key}"].contents()
    if value("model") != "gpt2" or value("pre") not in STEPS:
        raise SystemExit(f"{path}: {value('model')}, {value('pre')}; expected gpt2 and one of "
                         + ", ".join(STEPS))
    tokens, types = value("tokens"), value("token_type")
    added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == CONTROL}
             for i, (token, kind) in enumerate(zip(tokens, types))
             if kind in (CONTROL, USER_DEFINED)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "NFC"} if value("pre") == "qwen2" else None,
            "pre_tokenizer": {"type": "Sequence",
                              "pretokenizers": STEPS[value("pre")] + [byte_level]},
            "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                      "byte_fallback": False, "ignore_merges": value("pre") == "llama-bpe",
                      "vocab": {token: i for i, token in enumerate(tokens)},
                      "merges": value("merges")}}


def hashes_of(tokenizer, name, texts):
    for start in range(0, len(texts), GROUP):
        encodings = tokenizer.encode_batch(texts[start:start + GROUP], add_special_tokens=False)
        yield f"{name} {start} {hash_ids(e.ids for e in encodings):016x}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="where tokenizer.json goes")
    parser.add_argument("--lines", type=pathlib.Path, help="a text, each line of which is encoded")
    parser.add_argument("--hashes", type=pathlib.Path, help="where the hashes go")
    options = parser.parse_args()
    text = json.dumps(document_of(options.model), ensure_ascii=False)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    if options.hashes:
        tokenizer = Tokenizer.from_str(text)
        lines = options.lines.read_bytes().decode("utf-8").split("\n")
        strings = [random_string(i) for i in range(N_STRINGS)]
        options.hashes.write_text("".join([*hashes_of(tokenizer, "lines", lines),
                                           *hashes_of(tokenizer, "strings", strings)]))


if __name__ == "__main__":
    main()
