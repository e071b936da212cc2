#!/usr/bin/env python3
"""Writes the reference for tests/text/unigram_agreement_test.cc with the `tokenizers` library.

unigram.jsonl holds small tokenizers of the model Unigram. For each: 2,000 random Unicode strings and
2,000 texts made of its own pieces, one 64-bit hash of all ids.

    pip install -r tools/requirements-tokenizers.txt
    python tools/unigram_golden.py --data tests/text/data

--train makes the tokenizers again, from the pages of docs/ and random strings, with other pieces.
"""

import argparse
import base64
import itertools
import json
import pathlib
import struct
import unicodedata

from tokenizer_golden import MASK, hash_ids, random_string
from tokenizer_steps_golden import LEFT_OUT, N_STRINGS, ids_of
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "\u2581"
METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def double_array(values):
    """The units of a double array of the keys (bytes) of `values`: from base b byte c leads to b ^ c."""
    tree = {}
    for key, value in values.items():
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node[None] = value
    units, bases = {0: 0}, set()

    def place(node, at):
        labels = [byte for byte in node if byte is not None] + [0] * (None in node)
        base = next(b for b in itertools.count(1)
                    if b not in bases and all(b ^ label not in units for label in labels))
        bases.add(base)
        units[at] |= (at ^ base) << 10 | (None in node) << 8
        units.update({base ^ label: label for label in labels})
        if None in node:
            units[base] = node[None] | 1 << 31
        for byte, child in node.items():
            if byte is not None:
                place(child, base ^ byte)

    place(tree, 0)
    size = (max(units) // 256 + 1) * 256
    return [units.get(at, 0) for at in range(size)]


def character_map(rules):
    """In the format of the SentencePiece library."""
    texts, values = b"", {}
    for source, target in rules.items():
        values[source.encode()] = len(texts)
        texts += target.encode() + b"\0"
    units = double_array(values)
    assert max(units[at] >> 10 for at in range(len(units)) if units[at] < 1 << 31) < 1 << 21
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + texts


def rules():
    points = [*range(0xA0, 0x180), *range(0x2460, 0x2474), *range(0x3300, 0x3320),
              *range(0xFB00, 0xFB07), *range(0xFDF0, 0xFDFC), *range(0xFF01, 0xFFA0)]
    made = {chr(p): unicodedata.normalize("NFKC", chr(p)) for p in points}
    for p in range(0xC0, 0x180):  # accents behind their letters
        apart = unicodedata.normalize("NFD", chr(p))
        if len(apart) > 1 and p % 3:
            made[apart] = chr(p)
    made.update({"\t": " ", "\n": " ", "\r": " ", "\x07": "", "\u200b": " ", "\ufeff": "", "Q": "q"})
    return {a: b for a, b in made.items() if a != b}


def is_common(character):
    """Few, since the trainer makes a piece of each."""
    ranges = ((0x20, 0x7E), (0xE0, 0xFF), (0x430, 0x44F), (0x3042, 0x3093))
    return any(first <= ord(character) <= last for first, last in ranges)


def trained(name, normalizer, pre_tokenizer, size, **model):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    lines = [line for page in sorted(ROOT.glob("docs/*.md")) for line in page.read_text().split("\n")]
    lines += ["".join(c for c in random_string(i) if is_common(c)) for i in range(5_000, 15_000)]
    special = ["<unk>", "<s>", "</s>", *model.pop("more", [])]
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False,
        initial_alphabet=model.pop("alphabet", [])))
    document = json.loads(tokenizer.to_str())
    document["model"].update(model)
    return case(name, document["model"], document["added_tokens"][:3],
                normalizer=document["normalizer"], pre_tokenizer=document["pre_tokenizer"])


def case(name, model, added, **steps):
    document = {"added_tokens": added, "normalizer": None, "pre_tokenizer": None,
                "post_processor": None, "decoder": METASPACE, "model": model, **steps}
    return {"name": name, "tokenizer": document}


def equal_sums(name, scores):
    """Every text of up to three letters, with few scores: nearly every text has several best ways."""
    texts = ["".join(letters) for n in (1, 2, 3) for letters in itertools.product(MARK + "abc", repeat=n)]
    vocab = [["<unk>", scores[0]]] + [[text, scores[i * i % len(scores)]] for i, text in enumerate(texts)]
    vocab += [["de", scores[1]], ["def", scores[2]]]  # of characters that are no pieces
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
    return case(name, model, [], pre_tokenizer={**METASPACE, "split": False})


def train():
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    metaspace = pre_tokenizers.Metaspace()
    mapped = normalizers.Sequence([normalizers.Precompiled(character_map(rules())), spaces])
    nmt = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Lowercase(), spaces])
    words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    marks = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    whole = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    yield trained("plain", None, metaspace, 400)
    yield trained("bytes", marks, whole, 600, more=BYTES, byte_fallback=True)
    yield trained("few_bytes", None, whole, 400, more=BYTES[:128] + BYTES[0x81::2], byte_fallback=True)
    yield trained("map", mapped, words, 500)
    yield trained("nmt", nmt, metaspace, 400)
    last = trained("byte_level", None, byte_level, 500, alphabet=alphabet)
    last["tokenizer"]["decoder"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield last
    yield equal_sums("equal_whole", [-1, -2, -3])
    yield equal_sums("equal_tenths", [-0.1, -0.2, -0.3, -0.4, -0.6])
    # Nearly equal: 17 digits, of which a reader may lose the last bit.
    yield equal_sums("equal_long", [-2.8483543395996094, -5.696708679199219, -8.545063018798828])
    # High enough for two unknown characters to beat the piece that they are.
    yield equal_sums("positive", [30.5, 41, 50.25, 31.5])


def piece_texts(pieces):
    """The same as in tests/text/unigram_agreement_test.cc. Change both together."""
    state = 1

    def below(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        return (state >> 33) % n

    for _ in range(N_STRINGS):
        parts = [pieces[below(len(pieces))] for _ in range(1 + below(30))]
        yield "".join(parts).replace(MARK, " ")


def hash_of(case):
    document = {"version": "1.0", "truncation": None, "padding": None, **case["tokenizer"]}
    tokenizer = Tokenizer.from_str(json.dumps(document))
    texts = [random_string(i) for i in range(N_STRINGS) if i not in LEFT_OUT]
    texts += piece_texts([piece for piece, _ in document["model"]["vocab"]])
    return hash_ids(ids_of(tokenizer, texts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--train", action="store_true", help="make the tokenizers again")
    options = parser.parse_args()
    path = options.data / "unigram.jsonl"
    if options.train:
        lines = [json.dumps(made, separators=(",", ":")) + "\n" for made in train()]
        path.write_text("".join(lines))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    hashes = [f"{made['name']} {hash_of(made):016x}\n" for made in cases]
    (options.data / "unigram_hashes.txt").write_text("".join(hashes))


if __name__ == "__main__":
    main()
