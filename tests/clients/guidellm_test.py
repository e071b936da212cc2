#!/usr/bin/env python3
"""A benchmark by guidellm, as its users begin: synthetic prompts, a few requests at a time. Every request is answered,
and the benchmark counts the tokens that it asked for.

usage: guidellm_test.py PANDO
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from server import random_model, server

PANDO = sys.argv[1]
GUIDELLM = pathlib.Path(sys.prefix) / "guidellm" / "bin" / "guidellm"
N_REQUESTS, N_ANSWER = 20, 8
# Few processes, and few prompts made ahead.
SMALL = {"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1"}
LOADER = "kind=pytorch,num_workers=1,prefetch_factor=8"


class GuideLlm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        random_model(PANDO, cls.folder / "model")
        cls.address = cls.enterClassContext(server(PANDO, str(cls.folder / "model")))

    def benchmark(self, backend):
        out = self.folder / "out.json"
        run = subprocess.run(
            [GUIDELLM, "run", "--backend", f"kind=openai_http,target={self.address}{backend}",
             "--profile", "kind=concurrent,streams=2", "--constraint", f"kind=max_requests,count={N_REQUESTS}",
             "--tokenizer", f"kind=huggingface_auto,model={self.folder / 'model'}",
             "--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={N_ANSWER}", "--data-loader", LOADER,
             "--output", f"kind=json,path={out}", "--disable-console"],
            cwd=self.folder, env=os.environ | SMALL, capture_output=True, text=True, timeout=600)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(out.read_text())["benchmarks"][0]["metrics"]

    def test_chat(self):
        self.check(self.benchmark(""))

    def test_completions(self):
        self.check(self.benchmark(",request_format=/v1/completions"))

    def check(self, metrics):
        totals = metrics["request_totals"]
        self.assertEqual((totals["successful"], totals["errored"]), (N_REQUESTS, 0))
        answer = metrics["output_token_count"]["successful"]
        self.assertEqual((answer["min"], answer["max"]), (N_ANSWER, N_ANSWER))
        self.assertGreaterEqual(metrics["prompt_token_count"]["successful"]["min"], 32)


if __name__ == "__main__":
    if not (GUIDELLM.parents[1] / "installed.txt").exists():
        print("skipped: no guidellm (hint: scripts/clients-test installs it)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
