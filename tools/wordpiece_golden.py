#!/usr/bin/env python3
"""Writes the reference for tests/text/wordpiece_agreement_test.cc with the `tokenizers` library.

wordpiece.jsonl holds small tokenizers of the model WordPiece. For each: 2,000 random Unicode strings, and 2,000 pairs
of them with limits of their lengths, one 64-bit hash of all ids and token types. A pair that the library cannot cut
counts as an empty list.

    pip install -r tools/requirements-tokenizers.txt
    python tools/wordpiece_golden.py --data tests/text/data

--train makes the tokenizers again, from the pages of docs/ and random strings, with other tokens.
"""

import argparse
import itertools
import json
import pathlib

from tokenizer_golden import hash_ids, random_string
from tokenizer_steps_golden import LEFT_OUT, N_STRINGS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LATER = {606, 1451}  # have two of the characters that LEFT_OUT is about
CUTS = ["longest_first", "only_first", "only_second"]


def trained_vocab(normalizer, size):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    lines = [line for page in sorted(ROOT.glob("docs/*.md")) for line in page.read_text().split("\n")]
    lines += [random_string(i) for i in range(5_000, 6_000)]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=SPECIAL, show_progress=False, limit_alphabet=250))
    return tokenizer.get_vocab()


def template(second_type):
    def text(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}

    def token(name, kind):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    single = [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)]
    pair = [*single, text("B", second_type), token("[SEP]", second_type)]
    ids = {name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": ids}


def around(kind):
    more = {"trim_offsets": True, "add_prefix_space": False} if kind == "RobertaProcessing" else {}
    return {"type": kind, "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], **more}


def bert(**flags):
    return {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True, **flags}


def case(name, vocab, normalizer, pre_tokenizer, post_processor, prefix="##", most=100):
    added = [{"id": i, "content": text, "single_word": False, "lstrip": text == "[MASK]", "rstrip": False,
              "normalized": False, "special": True} for i, text in enumerate(SPECIAL)]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
             "max_input_chars_per_word": most, "vocab": dict(sorted(vocab.items(), key=lambda item: item[1]))}
    return {"name": name, "tokenizer": {"added_tokens": added, "normalizer": normalizer,
                                        "pre_tokenizer": {"type": pre_tokenizer}, "post_processor": post_processor,
                                        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
                                        "model": model}}


def train():
    lower = trained_vocab(normalizers.BertNormalizer(), 700)
    mixed = trained_vocab(normalizers.BertNormalizer(lowercase=False), 700)
    yield case("uncased", lower, bert(), "BertPreTokenizer", template(1))
    yield case("cased", mixed, bert(lowercase=False), "BertPreTokenizer", around("BertProcessing"))
    yield case("unclean", mixed, bert(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
               "BertPreTokenizer", template(0))
    yield case("spaces", lower, bert(strip_accents=False), "WhitespaceSplit", around("RobertaProcessing"), most=12)
    yield case("no_prefix", lower, None, "WhitespaceSplit", None, prefix="")


def jobs():
    """The same as in tests/text/wordpiece_agreement_test.cc. Change both together."""
    indices = [i for i in range(N_STRINGS) if i not in LEFT_OUT | LATER]
    for i in indices:
        yield random_string(i), None, 0, 0, False
    for i, j in zip(indices, itertools.chain(indices[7:], indices[:7])):
        yield random_string(i), random_string(j), [0, 4, 5, 9, 17, 40, 80][i % 7], i % 3, i % 5 == 0


def lists_of(tokenizer):
    for first, second, most, cut, at_start in jobs():
        tokenizer.no_truncation()
        if most:
            tokenizer.enable_truncation(most, strategy=CUTS[cut], direction="left" if at_start else "right")
        try:
            encoding = tokenizer.encode(first, second) if second is not None else tokenizer.encode(first)
        except Exception:  # the library's own, without a class
            yield []
            continue
        yield encoding.ids
        yield encoding.type_ids


def hash_of(made):
    document = {"version": "1.0", "truncation": None, "padding": None, **made["tokenizer"]}
    return hash_ids(lists_of(Tokenizer.from_str(json.dumps(document))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--train", action="store_true", help="make the tokenizers again")
    options = parser.parse_args()
    path = options.data / "wordpiece.jsonl"
    if options.train:
        path.write_text("".join(json.dumps(made, separators=(",", ":")) + "\n" for made in train()))
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    hashes = [f"{made['name']} {hash_of(made):016x}\n" for made in cases]
    (options.data / "wordpiece_hashes.txt").write_text("".join(hashes))


if __name__ == "__main__":
    main()
