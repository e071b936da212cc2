#!/usr/bin/env python3
"""Runs llama.cpp with the published models of scripts/published. Writes its perplexity to tests/published/data, and
prints a table of distances from f32.

    pip install -r tools/requirements-golden.txt -r tools/requirements-tokenizers.txt -r tools/requirements-gguf.txt
    pip install accelerate llama-cpp-python==0.3.36
    tools/llama_cpp_scores.py [--library FOLDER] NAME...

FOLDER holds libllama.so; the default is the package's own. Both engines run with their defaults on all processors.

The perplexity is that of `pando score --perplexity` with these --window and --stride: the first window scores every
token but the first of the text (with a beginning-of-sequence token: every token of the text). Each later window ends
`stride` tokens after the one before and scores these. Every window starts with the beginning-of-sequence token, if
there is one.

A distance is the difference from the log-probability of a token that the library transformers computes in f32 from the
dequantised tensors.
"""
import argparse
import json
import math
import os
import subprocess

import numpy as np

from published_golden import beginning_of, load, logprobs_of, write
import texts
from library import tokenizer_of

N_DISTANCES = 2000
BATCH = 512


class LlamaCpp:
    def __init__(self, file):
        from llama_cpp import llama_cpp as c  # reads LLAMA_CPP_LIB_PATH
        self.c = c
        self.model = c.llama_model_load_from_file(str(file).encode(), c.llama_model_default_params())
        self.n_vocab = c.llama_vocab_n_tokens(c.llama_model_get_vocab(self.model))
        options = c.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = N_DISTANCES + BATCH, BATCH, BATCH
        options.n_threads = options.n_threads_batch = os.cpu_count()
        self.context = c.llama_init_from_model(self.model, options)
        self.batch = c.llama_batch_init(BATCH, 0, 1)

    def logprobs(self, tokens, first):
        """Log-probabilities of tokens[first:]. [len(tokens) - first]"""
        self.c.llama_memory_clear(self.c.llama_get_memory(self.context), True)
        return [value for start in range(0, len(tokens) - 1, BATCH) for value in self.of_batch(tokens, start, first)]

    def of_batch(self, tokens, start, first):
        end = min(start + BATCH, len(tokens) - 1)
        scored = range(max(start, first - 1), end)  # the token after each of these positions is scored
        self.batch.n_tokens = end - start
        for i, position in enumerate(range(start, end)):
            self.batch.token[i], self.batch.pos[i] = tokens[position], position
            self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
            self.batch.logits[i] = position in scored
        if self.c.llama_decode(self.context, self.batch) != 0:
            raise RuntimeError("llama_decode failed")
        for position in scored:
            row = np.ctypeslib.as_array(self.c.llama_get_logits_ith(self.context, position - start), (self.n_vocab,))
            row = row.astype(np.float64)
            most = row.max()
            yield row[tokens[position + 1]] - most - math.log(np.exp(row - most).sum())


def windows(tokens, n_start):
    """(tokens of a window, the first of them that it scores)"""
    scored = max(n_start, 1)
    while scored < len(tokens):
        end = min(len(tokens), texts.WINDOW if scored == max(n_start, 1) else scored + texts.STRIDE)
        begin = max(n_start, end - (texts.WINDOW - n_start))
        yield tokens[:n_start] + tokens[begin:end], n_start + scored - begin
        scored = end


def perplexity(engine, tokens, n_start):
    values = [value for window, first in windows(tokens, n_start) for value in engine.logprobs(window, first)]
    return math.exp(-sum(values) / len(values)), len(values)


def of_pando(pando, name, text):
    line = {"prompt": text, "prompt_logprobs": True, "max_tokens": 0}
    done = subprocess.run([pando, "run", "--model", texts.file_of(name), "--input", "-", "--quiet"], check=True,
                          input=json.dumps(line), capture_output=True, text=True)
    return json.loads(done.stdout)["prompt_logprobs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--library")
    parser.add_argument("--pando", default="build/pando")
    options = parser.parse_args()
    if options.library:
        os.environ["LLAMA_CPP_LIB_PATH"] = options.library
    for name in options.names:
        stored = json.loads((texts.FIXTURES / f"{name}.json").read_text())
        engine, tokenizer, bos, text = LlamaCpp(texts.file_of(name)), tokenizer_of(name), stored["beginning"], texts.wikitext()

        def encode(part):
            return tokenizer.encode(part, add_special_tokens=False).ids

        of_text = stored["perplexity"]
        value, n = perplexity(engine, bos + encode(text[:of_text["characters"]]), len(bos))
        assert n == of_text["tokens"], n
        of_text["llama_cpp"] = round(value, 4)
        write(name, stored)
        n_characters, tokens = beginning_of(text, N_DISTANCES + 1 - len(bos), encode)
        f32 = np.array(logprobs_of(load(name), bos + tokens))
        for engine_name, values in (("Pando", of_pando(options.pando, name, text[:n_characters])),
                                    ("llama.cpp", engine.logprobs(bos + tokens, 1))):
            away = np.abs(np.array(values) - f32)
            print(f"| {name} | {engine_name} | {away.mean():.4f} | {away.max():.3f} |", flush=True)


if __name__ == "__main__":
    main()
