#!/usr/bin/env python3
"""Writes the reference for tests/text/steps_agreement_test.cc with the `tokenizers` library.

steps.jsonl states steps of tokenizer.json; each is put around one of two small models in which many
pairs of symbols merge, so that cuts show in the ids. For each: 2,000 random Unicode
strings, one 64-bit hash of all ids.

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


def bytes_model():
    symbols = [byte_characters()[b] for b in range(256)]
    vocab, merges = pairs(symbols, 256)
    vocab.update({symbol: b for b, symbol in enumerate(symbols)})
    return {"type": "BPE", "vocab": vocab, "merges": merges}


def characters_model(unknown_only):
    vocab, merges = pairs(list(CHARACTERS), 259 + len(CHARACTERS))
    vocab.update({"<unk>": 0, "<s>": 1, "</s>": 2})
    vocab.update({f"<0x{b:02X}>": 3 + b for b in range(256)})
    vocab.update({c: 259 + i for i, c in enumerate(CHARACTERS)})
    return {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>",
            "fuse_unk": True, "byte_fallback": not unknown_only}


def tokenizer_of(case):
    model = (bytes_model() if case["model"] == "bytes"
             else characters_model(case.get("unk_only", False)))
    fields = ("normalizer", "pre_tokenizer", "post_processor")
    document = {"version": "1.0", "truncation": None, "padding": None, "decoder": None,
                "added_tokens": case.get("added_tokens", []), "model": model,
                **{field: case.get(field) for field in fields}}
    return Tokenizer.from_str(json.dumps(document))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--show", nargs=2, metavar=("CASE", "STRING"), help="print one's ids")
    options = parser.parse_args()
    lines = (options.data / "steps.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    if options.show:
        case = next(case for case in cases if case["name"] == options.show[0])
        text = random_string(int(options.show[1]))
        print(ascii(text))
        print(tokenizer_of(case).encode(text).ids)
        return
    texts = [random_string(i) for i in range(N_STRINGS) if i not in LEFT_OUT]
    hashes = []
    for case in cases:
        encodings = tokenizer_of(case).encode_batch(texts)
        hashes.append(f"{case['name']} {hash_ids(e.ids for e in encodings):016x}\n")
    (options.data / "steps_hashes.txt").write_text("".join(hashes))


if __name__ == "__main__":
    main()
