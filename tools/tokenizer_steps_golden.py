#!/usr/bin/env python3
"""Writes the reference for tests/text/steps_agreement_test.cc with the `tokenizers` library.

steps.jsonl states steps of tokenizer.json; each is put around one of two small models in which many
pairs of symbols merge, so that cuts show in the ids. For each: 2,000 random Unicode
strings, one 64-bit hash of all ids. gguf_words.jsonl does the same for the names in
tokenizer.ggml.pre (gguf_words_test.cc).

    pip install -r tools/requirements-tokenizers.txt
    python tools/tokenizer_steps_golden.py --data tests/text/data
"""

import argparse
import json
import pathlib

from tokenizers import Tokenizer
from tokenizer_golden import byte_characters, hash_ids, random_string

N_STRINGS = 2_000
# With characters newer than some of the library's tables: U+09FD, U+1CF22, U+2E44, U+061D, U+107BA.
LEFT_OUT = {480, 673, 1219, 1456, 1704}
MARK = "\u2581"
CHARACTERS = MARK + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789.,<>|_'"


# The models: the same as in steps_agreement_test.cc. Change both together.

def pairs(symbols, first):
    """Vocabulary and merges of a quarter of all pairs, the last symbol's first: not in order."""
    vocab, merges = {}, []
    for i, a in reversed(list(enumerate(symbols))):
        for j, b in enumerate(symbols):
            if (i + j) % 4 == 0:
                vocab[a + b] = first + len(merges)
                merges.append([a, b])
    return vocab, merges


def bytes_of(case):
    """The bytes that have a token."""
    return [b for b in range(256) if "lacks" not in case or b % case["lacks"] != 1]


def bytes_model(case):
    vocab, merges = pairs([byte_characters()[b] for b in bytes_of(case)], 256)
    vocab.update({byte_characters()[b]: b for b in bytes_of(case)})
    unknown = case.get("unk")
    if unknown:
        vocab[unknown] = 256 + len(merges)
    return {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": unknown,
            "fuse_unk": case.get("fuse", False), "ignore_merges": case.get("ignore_merges", False)}


def characters_model(case):
    vocab, merges = pairs(list(CHARACTERS), 259 + len(CHARACTERS))
    vocab.update({"<unk>": 0, "<s>": 1, "</s>": 2})
    vocab.update({f"<0x{b:02X}>": 3 + b for b in bytes_of(case)})
    vocab.update({c: 259 + i for i, c in enumerate(CHARACTERS)})
    return {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": case.get("unk", "<unk>"),
            "fuse_unk": case.get("fuse", True), "byte_fallback": not case.get("unk_only", False)}


def tokenizer_of(case):
    model = bytes_model(case) if case["model"] == "bytes" else characters_model(case)
    fields = ("normalizer", "pre_tokenizer", "post_processor")
    document = {"version": "1.0", "truncation": None, "padding": None, "decoder": None,
                "added_tokens": case.get("added_tokens", []), "model": model,
                **{field: case.get(field) for field in fields}}
    return Tokenizer.from_str(json.dumps(document))


def ids_of(tokenizer, texts):
    """As Pando: a text that begins with the tokens that go before it does not get them twice."""
    plain = tokenizer.encode("x", add_special_tokens=False).ids
    around = tokenizer.encode("x").ids
    starts = [i for i in range(len(around)) if around[i:i + len(plain)] == plain]
    before = around[:starts[0] if starts else 0]
    n = len(before)
    for encoding in tokenizer.encode_batch(texts):
        yield encoding.ids[n if encoding.ids[n:2 * n] == before else 0:]


def read_cases(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--show", nargs=3, metavar=("FILE", "CASE", "STRING"),
                        help="print one's ids; FILE: steps or gguf_words")
    options = parser.parse_args()
    if options.show:
        cases = read_cases(options.data / f"{options.show[0]}.jsonl")
        case = next(case for case in cases if case["name"] == options.show[1])
        text = random_string(int(options.show[2]))
        print(ascii(text))
        print(tokenizer_of(case).encode(text).ids)
        return
    texts = [random_string(i) for i in range(N_STRINGS) if i not in LEFT_OUT]
    for name in ("steps", "gguf_words"):
        hashes = []
        for case in read_cases(options.data / f"{name}.jsonl"):
            value = hash_ids(ids_of(tokenizer_of(case), texts))
            hashes.append(f"{case['name']} {value:016x}\n")
        (options.data / f"{name}_hashes.txt").write_text("".join(hashes))


if __name__ == "__main__":
    main()
