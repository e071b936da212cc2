#!/usr/bin/env python3
"""Writes the reference for tests/text/unicode_agreement_test.cc with the `tokenizers` library.

For each of gpt-2, qwen2 and llama-3: 100,000 random Unicode strings, encoded by the library from
the published vocabulary, one 64-bit hash of the ids per thousand strings.

    pip install -r tools/requirements-tokenizers.txt
    python tools/tokenizer_golden.py --data DIR/tokenizers --out tests/text/data

Also writes assigned_ranges.txt, the code points that the strings are made of: those assigned in
the Unicode version that Python has, which must be 14 (Python 3.11) as in PCRE2 10.42, without the
few that the library's NFC, of Unicode 9, does not know.
"""

import argparse
import base64
import functools
import json
import pathlib
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

N_STRINGS = 100_000
GROUP = 1_000
MASK = (1 << 64) - 1

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# The strings: the same as tests/text/unicode_strings.h. Change both together.

def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


SEED = 0x50414E444F
SPACES = [0x20, 0x20, 0x20, 0x20, 0x0A, 0x0D, 0x09, 0x0B, 0x0C, 0x1C, 0x1F, 0x85, 0xA0, 0x1680,
          0x180E, 0x2003, 0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
PUNCTUATION = [ord(c) for c in ".,!?-_\"()[]{}<>'/*#&"] + [0x2019, 0x2014, 0x3002, 0xFF0C]
EMOJI = [0x1F600, 0x1F44D, 0x1F3FD, 0x200D, 0xFE0F, 0x1F468, 0x1F469, 0x1F467, 0x1F1E9, 0x1F1EA,
         0x2764, 0x2705, 0x1F999, 0x1F680, 0x20E3, 0x1F3F4]
SCRIPTS = [(0xC0, 0x24F), (0x250, 0x2FF), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58A),
           (0x591, 0x5F4), (0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FE), (0xB82, 0xBFA),
           (0xE01, 0xE5B), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF),
           (0x1E00, 0x1FFE), (0x2100, 0x218B), (0x3041, 0x30FF), (0x4E00, 0x9FFF),
           (0xAC00, 0xD7A3), (0xF900, 0xFAD9), (0x20000, 0x2A6DF)]
APOSTROPHES = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE ", "'Ve", "'\u017f",
               "\u2019s ", "'lL", "'M ", "''"]
WRITTEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<|",
           "|>", "<|end_of_text|>"]


def same_nfc(point):
    """Whether the library composes, decomposes and orders this character as Unicode 14 does."""
    character = chr(point)
    texts = [character, unicodedata.normalize("NFD", character), "a" + character + "\u0323",
             "a" + character + "\u0334", "a\u0301" + character, "a\u0345" + character]
    library = normalizers.NFC()
    return all(library.normalize_str(t) == unicodedata.normalize("NFC", t) for t in texts)


@functools.cache
def assigned_points():
    points = [p for p in range(0x110000) if unicodedata.category(chr(p)) not in ("Cn", "Cs")]
    return [p for p in points if same_nfc(p)]


@functools.cache
def assigned_set():
    return frozenset(assigned_points())


class Draws:
    def __init__(self, index):
        self.base = splitmix64(index ^ SEED)
        self.n = 0

    def below(self, n):
        value = splitmix64((self.base + self.n) & MASK) % n
        self.n += 1
        return value


def run(draws, first, last, most):
    points = [first + draws.below(last - first + 1) for _ in range(1 + draws.below(most))]
    return "".join(chr(p) for p in points if p in assigned_set())


def some(draws, points, most):
    return "".join(chr(points[draws.below(len(points))]) for _ in range(1 + draws.below(most)))


def piece(draws):
    kind = draws.below(16)
    if kind <= 1:
        return run(draws, ord("a"), ord("z"), 9)
    if kind == 2:
        return run(draws, ord("A"), ord("z"), 5)
    if kind == 3:
        return run(draws, ord("0"), ord("9"), 7)
    if kind <= 5:
        return some(draws, SPACES, 3)
    if kind == 6:
        return some(draws, SPACES, 12)
    if kind == 7:
        return APOSTROPHES[draws.below(len(APOSTROPHES))]
    if kind == 8:
        return some(draws, PUNCTUATION, 4)
    if kind == 9:
        return some(draws, EMOJI, 5)
    if kind == 10:
        return run(draws, 0x300, 0x36F, 4)
    if kind == 11:
        return run(draws, 0, 0x9F, 3)
    if kind <= 13:
        return run(draws, *SCRIPTS[draws.below(len(SCRIPTS))], 6)
    if kind == 14:
        return chr(assigned_points()[draws.below(len(assigned_points()))])
    return WRITTEN[draws.below(len(WRITTEN))]


def random_string(index):
    draws = Draws(index)
    return "".join([piece(draws) for _ in range(1 + draws.below(24))])


def hash_ids(lists):
    value = 0xCBF29CE484222325
    for ids in lists:
        for number in (len(ids), *ids):
            for byte in number.to_bytes(4, "little"):
                value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


# The reference tokenizers.

def byte_level(vocab, merges, pattern, added, normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    for token, content in sorted(added.items()):
        special = AddedToken(content, normalized=False, special=True)
        tokenizer.add_special_tokens([special])
        assert tokenizer.token_to_id(content) == token, content
    return tokenizer


def read_merges(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]


def gpt2(data):
    vocab = json.loads((data / "gpt-2/encoder.json").read_text(encoding="utf-8"))
    merges = read_merges(data / "gpt-2/vocab.bpe")
    return byte_level(vocab, merges, GPT2, {50256: "<|endoftext|>"})


def qwen2(data):
    vocab = json.loads((data / "qwen2.5/vocab.json").read_text(encoding="utf-8"))
    config = json.loads((data / "qwen2.5/tokenizer_config.json").read_text(encoding="utf-8"))
    added = {int(k): v["content"] for k, v in config["added_tokens_decoder"].items()}
    merges = read_merges(data / "qwen2.5/merges.txt")
    return byte_level(vocab, merges, QWEN2, added, normalizers.NFC())


@functools.cache
def byte_characters():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(0x100 + i) for i, b in enumerate(others)}}


def llama3(data):
    ranks = {}
    for line in (data / "llama-3/tokenizer.model").read_text().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    merges = []
    for token, _ in sorted(ranks.items(), key=lambda item: item[1]):
        cuts = [(token[:i], token[i:]) for i in range(1, len(token))]
        cuts = [cut for cut in cuts if cut[0] in ranks and cut[1] in ranks]
        merges += sorted(cuts, key=lambda cut: (ranks[cut[0]], ranks[cut[1]]))
    written = lambda token: "".join(byte_characters()[b] for b in token)
    vocab = {written(token): rank for token, rank in ranks.items()}
    # The library gives new tokens the next free id: the rest of the range is filled up.
    added = {i: f"<|unused_{i}|>" for i in range(128000, 128010)}
    added.update({128000: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128009: "<|eot_id|>"})
    merges = [(written(a), written(b)) for a, b in merges]
    return byte_level(vocab, merges, LLAMA3, added, ignore_merges=True)


def write_ranges(path):
    ranges = []
    for point in assigned_points():
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    path.write_text("".join(f"{first:X} {last:X}\n" for first, last in ranges))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--show", type=int, help="print one string and its ids, write nothing")
    options = parser.parse_args()
    references = {"gpt-2": gpt2, "qwen2": qwen2, "llama-3": llama3}
    references = {name: make(options.data) for name, make in references.items()}
    if options.show is not None:
        text = random_string(options.show)
        print(ascii(text))
        for name, tokenizer in references.items():
            encoding = tokenizer.encode(text, add_special_tokens=False)
            print(name, encoding.ids, [ascii(text[a:b]) for a, b in encoding.offsets])
        return
    if not unicodedata.unidata_version.startswith("14."):
        sys.exit(f"Unicode {unicodedata.unidata_version} here, expected 14: use Python 3.11")
    write_ranges(options.out / "assigned_ranges.txt")
    lines = []
    for start in range(0, N_STRINGS, GROUP):
        texts = [random_string(i) for i in range(start, start + GROUP)]
        for name, tokenizer in references.items():
            encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
            lines.append((name, start, hash_ids(e.ids for e in encodings)))
    text = "".join(f"{name} {start} {value:016x}\n" for name, start, value in sorted(lines))
    (options.out / "unicode_hashes.txt").write_text(text)


if __name__ == "__main__":
    main()
