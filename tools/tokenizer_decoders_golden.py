#!/usr/bin/env python3
"""Writes the reference for tests/text/decoder_agreement_test.cc with the `tokenizers` library.

decoders.json has the texts of token sequences with many decoders: each step alone, and random
sequences of steps.

    pip install -r tools/requirements-tokenizers.txt
    python tools/tokenizer_decoders_golden.py --out tests/text/data/decoders.json
"""

import argparse
import json
import pathlib
import random

from tokenizers import Tokenizer

MARK = "\u2581"
PIECES = ([f"<0x{b:02X}>" for b in range(256)] + ["<0x0a>", MARK, MARK * 2, MARK + "a", MARK + "b", "a", "b", "ab",
           "##b", "##", " ", "  ", "\n", "\n ", " \n", "\u00e9", "a</w>", "b</w>", "</w>", ".", " .", "do not", "n't",
           "'", "<pad>", "|", "<x>", "\u0120a", "\u00c3", "\u00c3\u00a9", "\u00a9"])
SEQUENCES, RANDOM_DECODERS = 6, 90


def replace(old, new, kind="String"):
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def strip(content, start, stop):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def metaspace(scheme):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": True}


FUSE, BYTES = {"type": "Fuse"}, {"type": "ByteFallback"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
STEPS = [FUSE, BYTES, metaspace("always"), metaspace("first"), metaspace("never"), replace(MARK, " "),
         replace("\n ", "\n"), replace("ab", "b"), replace("aa", "\u00e9"), replace("b", "bb"), replace(" ", "", "Regex"),
         strip(" ", 1, 0), strip(" ", 0, 1), strip(" ", 1, 2), strip("a", 2, 1),
         {"type": "WordPiece", "prefix": "##", "cleanup": True}, {"type": "WordPiece", "prefix": "##", "cleanup": False},
         {"type": "BPEDecoder", "suffix": "</w>"},
         {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
         {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": False}]
OF_TOKENS = [replace("[ab]+", "x", "Regex"), replace("^a", "x", "Regex"), replace("(?<=a)b|^", "y", "Regex")]
PUBLISHED = [[replace(MARK, " "), BYTES, FUSE, strip(" ", 1, 0)], [BYTES, metaspace("always"), FUSE, replace("\n ", "\n")],
             [BYTES, replace(MARK, " "), FUSE, replace("(?<!\\n)^ ", "", "Regex")], [LEVEL], [LEVEL, strip(" ", 1, 0)],
             [LEVEL, replace("\n ", "\n"), strip(" ", 0, 1)], [LEVEL, replace("a", "b"), metaspace("always")], []]


def sequence(steps):
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "decoders": steps}


def all_decoders(draw):
    yield None
    yield from (sequence(steps) for steps in PUBLISHED)
    yield from STEPS + OF_TOKENS
    yield from (sequence([step, replace(MARK, " ")]) for step in OF_TOKENS)
    for _ in range(RANDOM_DECODERS):
        steps = draw.choices(STEPS, k=draw.randint(2, 5))
        if draw.random() < 0.5:
            steps.insert(draw.randint(0, len(steps)), FUSE)
        if draw.random() < 0.3:
            steps = [sequence(steps[:2]), *steps[2:]]  # nested
        yield sequence(steps)


def draw_ids(draw):
    """Draws bytes only as whole characters, because Pando and the library differ for others."""
    ids = []
    for _ in range(draw.randint(0, 9)):
        if draw.random() < 0.3:
            ids += draw.choice(["\u00e9", "\n", " ", MARK, "a", "b"]).encode()
        else:
            ids.append(draw.randrange(257, len(PIECES)))
    return ids


def tokenizer_of(decoder):
    has_levels = LEVEL in [decoder, *(decoder or {}).get("decoders", [])]
    return Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": LEVEL if has_levels else None,
        "post_processor": None, "decoder": decoder, "model": {"type": "BPE", "vocab": {p: i for i, p in enumerate(PIECES)}, "merges": []}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    draw = random.Random(59)
    lines = []
    for decoder in all_decoders(draw):
        tokenizer, texts = tokenizer_of(decoder), []
        while len(texts) < SEQUENCES:
            ids = draw_ids(draw)
            try:
                texts.append([ids, tokenizer.decode(ids, skip_special_tokens=False)])
            except BaseException as error:  # the library's Strip panics if both ends meet
                if type(error).__name__ != "PanicException":
                    raise
        lines.append(json.dumps({"decoder": decoder, "texts": texts}, separators=(",", ":")))
    options.out.write_text('{"pieces":%s,\n"decoders":[\n%s\n]}\n' % (json.dumps(PIECES[256:]), ",\n".join(lines)))


if __name__ == "__main__":
    main()
