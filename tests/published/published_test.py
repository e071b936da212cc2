#!/usr/bin/env python3
"""Compares a published model with the values that tools/published_golden.py stored; with PANDO_SLOW_TESTS also with the
library tokenizers.

usage: published_test.py PANDO NAME [TEST...]
"""
import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import texts

try:
    import jsonschema
except ImportError:
    jsonschema = None

sys.path.append(str(texts.SOURCE / "tests" / "clients"))
from server import server

PANDO, NAME = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
MODEL = texts.file_of(NAME)
STORED = json.loads((texts.FIXTURES / f"{NAME}.json").read_text(encoding="utf-8"))
SLOW = bool(os.environ.get("PANDO_SLOW_TESTS"))
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SCHEMA = {"type": "object", "additionalProperties": False, "required": ["answer", "certain"],
          "properties": {"answer": {"type": "string", "maxLength": 30}, "certain": {"type": "boolean"},
                         "kind": {"enum": ["person", "place", "date", "other"]}}}


of_answers = unittest.skipUnless("greedy" in STORED, "the model gives no answers")


def run(command, *options, lines=(), before=(), status=0):
    """(a command's answers to these lines, its standard error)"""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([*before, PANDO, command, "--model", MODEL, "--kv-memory", "2GiB", *options],
                          input=text, capture_output=True, text=True, env=os.environ | MPI)
    if done.returncode != status:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def ask(lines, *options, **more):
    return run("run", "--input", "-", "--ordered", *options, lines=lines, **more)


def ask_file(folder, lines, *options, **more):
    """As ask, but with the lines in a file, which some options need."""
    path = pathlib.Path(folder) / "input.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run("run", "--input", path, "--ordered", *options, **more)


def tokens_of(texts_):
    """The ids of each text, over HTTP."""
    with server(PANDO, str(MODEL)) as address:
        with contextlib.closing(http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)) as connection:
            for text in texts_:
                connection.request("POST", "/tokenize", json.dumps({"prompt": text, "add_special_tokens": False}),
                                   {"Content-Type": "application/json"})
                yield json.load(connection.getresponse())["tokens"]


class Published(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.addCleanup(self.say_time, before.ru_utime + before.ru_stime)

    def say_time(self, before):
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{self.id().split('.')[-1]}: {after.ru_utime + after.ru_stime - before:.0f} s of processors", flush=True)

    @of_answers
    def test_logprobs_and_greedy_tokens_are_those_of_transformers(self):
        stored = STORED["logprobs"]
        asked = {"messages": STORED["chats"][0]["messages"]} if STORED["chats"] else {"prompt": texts.PROMPT}
        (scored, answer), _ = ask(
            [{"prompt": texts.wikitext()[:stored["characters"]], "prompt_logprobs": True, "max_tokens": 0},
             asked | {"max_tokens": texts.N_GREEDY, "temperature": 0, "ignore_eos": True, "top_logprobs": 1}],
            "--weights", "f32", "--kv-dtype", "f32", "--logprobs")
        self.assertEqual(scored["prompt_tokens"], 1 + len(stored["values"]))
        farthest = max(abs(a - b) for a, b in zip(scored["prompt_logprobs"], stored["values"], strict=True))
        print(f"{len(stored['values'])} log-probabilities, at most {farthest:.1e} away")
        self.assertLess(farthest, 2e-4)
        self.assertEqual([best[0]["token"] for best in answer["top_logprobs"]], STORED["greedy"])

    def test_ids_are_those_of_tokenizers(self):
        hashes = STORED["ids"]
        all_texts = texts.texts()
        self.assertEqual(len(hashes), 8 * len(all_texts))
        for i, (text, ids) in enumerate(zip(all_texts, tokens_of(all_texts), strict=True)):
            self.assertEqual(texts.hash_of(ids), hashes[8 * i:8 * i + 8], repr(text))

    @unittest.skipUnless(SLOW, "only with PANDO_SLOW_TESTS")
    def test_ids_are_those_of_tokenizers_live(self):
        import library
        tokenizer, all_texts = library.tokenizer_of(NAME), texts.texts(n_lines=None, n_random=20_000)
        for text, ids in zip(all_texts, tokens_of(all_texts), strict=True):
            self.assertEqual(ids, tokenizer.encode(text, add_special_tokens=False).ids, repr(text))

    @of_answers
    def test_chats_are_those_of_transformers(self):
        if not STORED["chats"]:
            _, said = ask_file(self.folder, [{"messages": texts.QUESTION}], "--dry-run", status=1)
            self.assertIn("chat template", said)
        for chat in STORED["chats"]:
            line = {key: value for key, value in chat.items() if key != "text"}
            done = subprocess.run([PANDO, "run", "--model", MODEL, "--input", "-", "--dry-run"], input=json.dumps(line),
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.split("\n", 1)[1].rsplit("== end of the prompt", 1)[0].removesuffix("\n"),
                             chat["text"])

    @of_answers
    def test_perplexity_is_that_of_llama_cpp(self):
        stored = STORED["perplexity"]
        path = pathlib.Path(self.folder) / "text.txt"
        path.write_text(texts.wikitext()[:stored["characters"]], encoding="utf-8")
        [got], _ = run("score", "--perplexity", path, "--window", str(texts.WINDOW), "--stride", str(texts.STRIDE))
        print(f"perplexity {got['perplexity']:.4f}, of llama.cpp {stored['llama_cpp']:.4f}")
        self.assertEqual(got["tokens"], stored["tokens"])
        self.assertLess(abs(got["perplexity"] / stored["llama_cpp"] - 1), 5e-3)

    @unittest.skipUnless("similarities" in STORED, "the model is not made for vectors")
    def test_similarities_are_those_of_transformers(self):
        lines = [{"id": 0, "text": texts.QUERY, "input_type": "query"}]
        lines += [{"id": 1 + i, "text": text, "input_type": "document"} for i, text in enumerate(texts.DOCUMENTS)]
        options = ["--input", "-", "--ordered", "--weights", "f32"]
        answers, _ = run("embed", *options, lines=lines)
        query, *documents = [answer["embedding"] for answer in answers]
        found = [sum(a * b for a, b in zip(query, document, strict=True)) for document in documents]
        print(f"similarities {', '.join(f'{value:.4f}' for value in found)}")
        for value, expected in zip(found, STORED["similarities"], strict=True):
            self.assertLess(abs(value - expected), 2e-4)
        alone = [run("embed", *options, "--threads", "1", lines=[line])[0][0] for line in lines[:2]]
        self.assertEqual(alone, answers[:2])

    @of_answers
    def test_sharing_changes_no_bit(self):
        options = ["--max-tokens", "4", "--logits-hash"]
        answers, said = ask_file(self.folder, texts.paragraphs(50), *options, "--compare", "packed")
        self.assertEqual(len(answers), 100)
        self.assertIn("identical: yes, and every bit of their logits", said)
        self.two_ranks(answers[:10], options)

    def two_ranks(self, expected, options):
        if not shutil.which("mpirun"):
            return print("not run: two ranks, for there is no mpirun")
        got, _ = ask_file(self.folder, texts.paragraphs(50)[:5], *options, "--parallel", "spp=2", "--threads", "1",
                          before=["mpirun", "--oversubscribe", "-n", "2"])
        self.assertEqual(got, expected)

    @of_answers
    def test_answers_fit_a_schema(self):
        schema = pathlib.Path(self.folder) / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        lines = [paragraph | {"questions": paragraph["questions"][:1]} for paragraph in texts.paragraphs(20)]
        answers, _ = ask(lines, "--schema", schema, "--max-tokens", "96", *(["--chat"] if STORED["chats"] else []))
        self.assertEqual(len(answers), 20)
        for answer in answers:
            self.assertEqual(answer["finish_reason"], "stop", answer)
            self.assert_fits(json.loads(answer["text"]))

    @unittest.skipIf(jsonschema is None, "no jsonschema")
    def test_required_calls_fit_their_tools(self):
        if not STORED["chats"]:
            self.skipTest("no chat template")
        lines = list(texts.calls_of_tools(100 if SLOW else 5))
        answers, _ = ask(lines, "--max-tokens", "160")
        finished = [(line, answer) for line, answer in zip(lines, answers) if answer["finish_reason"] != "length"]
        print(f"{len(finished)} of {len(lines)} answers finished", file=sys.stderr)
        self.assertGreater(len(finished), len(lines) // 2)
        for line, answer in finished:
            self.assertGreaterEqual(len(answer["tool_calls"]), 1, answer)
            offered = {tool["function"]["name"]: tool["function"] for tool in line["tools"]}
            for call in answer["tool_calls"]:
                schema = offered[call["function"]["name"]].get("parameters", {})
                jsonschema.validate(json.loads(call["function"]["arguments"]), schema)

    def assert_fits(self, value):
        self.assertLessEqual({"answer", "certain"}, set(value))
        self.assertLessEqual(set(value), set(SCHEMA["properties"]))
        self.assertIsInstance(value["answer"], str)
        self.assertLessEqual(len(value["answer"]), SCHEMA["properties"]["answer"]["maxLength"])
        self.assertIsInstance(value["certain"], bool)
        self.assertIn(value.get("kind", "other"), SCHEMA["properties"]["kind"]["enum"])


if __name__ == "__main__":
    for path in (MODEL, texts.WIKITEXT, texts.SQUAD):
        if not path.exists():
            print(f"skipped: no {path} (hint: scripts/published brings the models; the texts are those of {texts.SHARED})")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
