#!/usr/bin/env python3
"""Compares answers of a published model on devices for GPUs with the processor's, bit for bit.

usage: gpu_bits.py PANDO NAME...
"""
import gzip
import json
import subprocess
import sys
import time

import texts

CHARACTERS = 500  # of a text that has at least 100 tokens for every model


def text():
    return {"id": "text", "prompt": texts.wikitext()[:CHARACTERS], "prompt_logprobs": True, "max_tokens": 0}


def job():
    """Two documents with five questions each."""
    with gzip.open(texts.SQUAD, "rt", encoding="utf-8") as file:
        paragraphs = [paragraph for article in json.load(file)["data"] for paragraph in article["paragraphs"]
                      if len(paragraph["qas"]) >= 5]
    paragraphs.sort(key=lambda paragraph: len(paragraph["context"]))
    return [{"id": str(i), "context": paragraph["context"], "questions": [qa["question"] for qa in paragraph["qas"][:5]]}
            for i, paragraph in enumerate(paragraphs[:2])]


def answers(pando, name, device, lines):
    command = [pando, "run", "--model", texts.file_of(name), "--device", device, "--input", "-", "--ordered", "--quiet",
               "--logprobs", "--logits-hash", "--max-tokens", "16", "--temperature", "0", "--kv-memory", "256MiB"]
    began = time.monotonic()
    done = subprocess.run(command, input="".join(json.dumps(line) + "\n" for line in lines), stdout=subprocess.PIPE,
                          text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()], time.monotonic() - began


def main():
    pando, names = sys.argv[1], sys.argv[2:]
    n_wrong = 0
    for name in names:
        expected, _ = answers(pando, name, "cpu", [text(), *job()])
        n_values = len(expected[0]["prompt_logprobs"])
        assert n_values >= 100 and len(expected) == 11, (n_values, len(expected))
        assert len({answer["logits_hash"] for answer in expected[1:]}) == 10, expected
        for device, lines in (("emulated", [text()]), ("opencl", [text(), *job()])):
            got, seconds = answers(pando, name, device, lines)
            is_equal = got == expected[:len(got)] and len(got) == (1 if len(lines) == 1 else 11)
            n_wrong += not is_equal
            print(f"{name}, {device}: {n_values} log-probabilities and {len(got) - 1} answers are "
                  f"{'' if is_equal else 'NOT '}the processor's, {seconds:.0f} s", flush=True)
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
