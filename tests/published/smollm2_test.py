#!/usr/bin/env python3
"""SmolLM2-135M-Instruct, a published GGUF file of Q4_1 weights, against the libraries that others read it with.

usage: smollm2_test.py PANDO
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import tokenizers

import reference

sys.path += [str(reference.SOURCE / "tests" / "clients"), str(reference.SOURCE / "tools")]
import gguf_tokenizer_json
import tokenizer_golden
from server import server

PANDO = str(pathlib.Path(sys.argv[1]).resolve())
N_CHATS, N_TOKENS = 100, 24
LEAST_MARGIN = 1e-3  # between the two likeliest logits, below which rounding may decide


def run(*arguments, text=None):
    done = subprocess.run([PANDO, *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def post(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def read(name):
    path = reference.DATA / name
    if not path.exists():
        raise unittest.SkipTest(f"no {path}")
    return path.read_text()


class SmolLm2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = reference.load()
        cls.tokenizer = tokenizers.Tokenizer.from_str(json.dumps(gguf_tokenizer_json.document_of(reference.FILE)))

    def test_tokens_are_those_of_the_library(self):
        texts = read("wikitext-2-test.txt").splitlines() + [tokenizer_golden.random_string(i) for i in range(2000)]
        with server(PANDO, str(reference.FILE)) as address:
            for text in texts:
                got = post(address, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
                self.assertEqual(got, self.tokenizer.encode(text, add_special_tokens=False).ids, repr(text))

    def test_greedy_answers_are_those_of_the_library(self):
        questions = [json.loads(line)["instruction"] for line in read("alpaca-eval.jsonl").splitlines()[:N_CHATS]]
        lines = [json.dumps({"id": str(i), "messages": [{"role": "user", "content": question}]})
                 for i, question in enumerate(questions)]
        answers = run("run", "--model", str(reference.FILE), "--weights", "f32", "--kv-dtype", "f32", "--input", "-",
                      "--output", "-", "--ordered", "--max-tokens", str(N_TOKENS), "--quiet", "--logprobs",
                      "--top-logprobs", "1",
                      text="\n".join(lines))
        n_close = n_checked = 0
        for question, line in zip(questions, answers.splitlines(), strict=True):
            answer = json.loads(line)
            prompt = self.chat_tokens(question)
            self.assertEqual(answer["prompt_tokens"], len(prompt), question)
            tokens = [likeliest[0]["token"] for likeliest in answer["top_logprobs"]]
            rows = reference.logits(self.model, prompt + tokens)[len(prompt) - 1:-1]
            for token, row in zip(tokens, rows):
                best = row.topk(2)
                if (best.values[0] - best.values[1]).item() <= LEAST_MARGIN:
                    n_close += 1
                    break  # what follows may be another answer
                self.assertEqual(token, best.indices[0].item(), question)
                n_checked += 1
        print(f"greedy: {n_checked} tokens equal, {n_close} answers with two logits within {LEAST_MARGIN}")
        self.assertGreater(n_checked, N_CHATS * N_TOKENS // 2)

    def chat_tokens(self, question):
        import gguf
        import jinja2
        field = gguf.GGUFReader(reference.FILE).fields["tokenizer.chat_template"]
        template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(field.contents())
        text = template.render(messages=[{"role": "user", "content": question}], add_generation_prompt=True)
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def test_perplexity_is_that_of_the_library(self):
        text = read("wikitext-2-test.txt")[:100_000]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
            expected, n = reference.perplexity(self.model, tokens, 512, 256)
            for weights, within in (("f32", 1e-4), ("stored", 5e-3)):
                got = json.loads(run("score", "--model", str(reference.FILE), "--weights", weights, "--kv-dtype", "f32",
                                     "--perplexity", file.name, "--window", "512", "--stride", "256"))
                print(f"perplexity, {weights} weights: {got['perplexity']:.4f}, of the library {expected:.4f}")
                self.assertEqual(got["tokens"], n)
                self.assertLess(abs(got["perplexity"] / expected - 1), within)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
