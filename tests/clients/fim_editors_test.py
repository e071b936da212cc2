#!/usr/bin/env python3
"""Editors that complete code in a gap. Each request has the fields that the editor's public source sends, and each answer
is read as that source reads it: llama.vim, Tabby, Twinny, Continue.

usage: fim_editors_test.py PANDO [ADDRESS]
"""
import json
import pathlib
import sys
import unittest
import urllib.error
import urllib.request

from server import server

MODEL = pathlib.Path(__file__).resolve().parents[2] / "build" / "published" / "qwen2.5-coder-0.5b.gguf"
BEFORE = "def area(width, height):\n    return "
BEHIND = "\n\nprint(area(3, 4))\n"
GAP = f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{BEHIND}<|fim_middle|>"
LLAMA_VIM = {"id_slot": 0, "input_prefix": BEFORE, "input_suffix": BEHIND, "prompt": "", "stream": False,
             "cache_prompt": True, "input_extra": [{"text": "# areas", "time": 1.5, "filename": "notes.py"}]}
TIMINGS = ["prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_n", "predicted_ms",
           "predicted_per_token_ms", "predicted_per_second"]


class FimEditors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = sys.argv[2] if len(sys.argv) > 2 else cls.enterClassContext(
            server(sys.argv[1], MODEL, "--kv-memory", "256MiB", "--threads", "2"))

    def open(self, path, body):
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json", "Authorization": "Bearer none"})
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{path}: {refused.read().decode()}") from refused

    def post(self, path, body):
        return json.loads(self.open(path, body).read())

    def events(self, path, body):
        """The data of server-sent events."""
        for line in self.open(path, body):
            if line.startswith(b"data:") and b"[DONE]" not in line:
                yield json.loads(line[5:])

    def check(self, text):
        self.assertEqual(text.split("\n")[0].strip(), "width * height")

    def test_llama_vim(self):
        fields = ["content", *(f"timings/{name}" for name in TIMINGS), "truncated", "tokens_cached"]
        found = self.post("/infill", {**LLAMA_VIM, "n_predict": 128, "stop": [], "n_indent": 4, "top_k": 40, "top_p": 0.9,
                                      "samplers": ["top_k", "top_p", "infill"], "t_max_prompt_ms": 500,
                                      "t_max_predict_ms": 1000, "response_fields": fields, "temperature": 0})
        self.check(found["content"])
        self.assertGreater(found["timings/prompt_n"], 0)
        self.assertLessEqual(set(found), set(fields))

    def test_llama_vim_warms_the_cache(self):
        body = {**LLAMA_VIM, "input_prefix": "", "input_suffix": "", "n_predict": 0, "temperature": 0, "samplers": [],
                "t_max_prompt_ms": 1, "t_max_predict_ms": 1, "response_fields": [""]}
        self.assertEqual(self.post("/infill", body), {})

    def test_tabby(self):
        sampling = {"temperature": 0.1, "presence_penalty": 0, "stream": True}
        text = ""
        for chunk in self.events("/completion", {"seed": 7, "prompt": GAP, "n_predict": 64, "penalty_last_n": 0, **sampling}):
            text += chunk["content"]
            if chunk["stop"]:
                break
        self.check(text)
        text = ""
        for chunk in self.events("/v1/completions", {"model": "demo", "prompt": BEFORE, "suffix": BEHIND, "max_tokens": 64,
                                                     **sampling}):
            text += chunk["choices"][0]["text"]
        self.check(text)
        text = ""
        for chunk in self.events("/v1/fim/completions", {"model": "demo", "prompt": BEFORE, "suffix": BEHIND, "max_tokens": 64,
                                                         "temperature": 0.1, "stream": True, "random_seed": 7}):
            text += chunk["choices"][0]["delta"]["content"]
            if chunk["choices"][0]["finish_reason"]:
                break
        self.check(text)

    def test_twinny(self):
        base = {"prompt": GAP, "stream": True, "stop": ["<|fim_pad|>", "<|endoftext|>"]}
        text = "".join(event["content"] for event in self.events("/completion", {**base, "temperature": 0.2,
                                                                                 "max_tokens": 64}))
        self.check(text)
        text = "".join(event["choices"][0]["text"] for event in self.events(
            "/v1/completions", {**base, "model": "demo", "temperature": 0.2, "max_tokens": 64}))
        self.check(text)
        body = {"model": "demo:latest", "prompt": GAP, "stream": True, "keep_alive": "5m", "raw": True,
                "options": {"temperature": 0.2, "num_predict": 64, "stop": base["stop"]}}
        self.check("".join(json.loads(line)["response"] for line in self.open("/api/generate", body)))

    def test_continue(self):
        self.assertIn(".Suffix", self.post("/api/show", {"name": "demo"})["template"])
        body = {"model": "demo", "prompt": BEFORE, "suffix": BEHIND, "raw": True, "keep_alive": 1800, "stream": True,
                "options": {"temperature": 0.01, "num_predict": 64, "stop": ["\n\n", "/src/"], "num_ctx": 4096}}
        self.check("".join(json.loads(line)["response"] for line in self.open("/api/generate", body)))
        body = {"prompt": GAP, "stream": True, "n_predict": 64, "frequency_penalty": 0, "presence_penalty": 0,
                "stop": ["\n\n"], "temperature": 0.01}
        self.check("".join(event["content"] for event in self.events("/completion", body)))
        with urllib.request.urlopen(self.address + "/info") as info:
            self.assertGreater(json.loads(info.read())["max_client_batch_size"], 1)
        self.assertEqual(len(self.post("/embed", {"inputs": [BEFORE, BEHIND]})), 2)
        ranked = self.post("/rerank", {"query": "width", "return_text": False, "raw_scores": False,
                                       "texts": [BEFORE, BEHIND], "truncation_direction": "Right", "truncate": True})
        self.assertEqual(sorted(one["index"] for one in ranked), [0, 1])
        text = "".join(event["token"]["text"] for event in self.events("/generate_stream", {
            "inputs": GAP, "parameters": {"max_new_tokens": 64, "best_of": 1, "temperature": 0.01, "stop": ["\n\n"]}}))
        self.check(text)


if __name__ == "__main__":
    if len(sys.argv) < 3 and not MODEL.exists():
        print(f"skipped: no {MODEL.name} (hint: scripts/published --fetch {MODEL.stem})")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
