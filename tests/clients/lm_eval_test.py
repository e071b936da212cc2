#!/usr/bin/env python3
"""The evaluation harness over `pando serve` finds what it finds with the transformers library on the same weights
(lm_eval/golden.json, by tools/lm_eval_golden.py): the figures of each task, and of each request the log-likelihood
and whether greedy decoding would give it.

usage: lm_eval_test.py PANDO
"""
import json
import pathlib
import sys
import tempfile
import unittest

import lm_eval_stories
from server import server

PANDO = str(pathlib.Path(sys.argv[1]).resolve())
WEIGHTS = lm_eval_stories.FOLDER.parents[3] / "shared" / "data" / "weights" / "stories260K.bin"
GOLDEN = json.loads((lm_eval_stories.FOLDER / "golden.json").read_text())


class LmEval(unittest.TestCase):
    def test_is_as_with_transformers(self):
        with tempfile.TemporaryDirectory() as folder:
            lm_eval_stories.convert(WEIGHTS, folder)
            with server(PANDO, folder, "--kv-dtype", "f32") as address:
                for batch_size, n_at_once in ((1, 1), (8, 4)):
                    found = lm_eval_stories.evaluate("local-completions", {
                        "model": "demo", "base_url": address + "/v1/completions", "max_length": 512,
                        "batch_size": batch_size, "num_concurrent": n_at_once, "custom_prefix_token_id": 1})
                    self.compare(found)

    def compare(self, found):
        furthest = 0
        for task, golden in GOLDEN.items():
            requests = found[task]["requests"]
            self.assertEqual(len(requests), len(golden["requests"]))
            for i, (request, expected) in enumerate(zip(requests, golden["requests"])):
                furthest = max(furthest, abs(request[0] - expected[0]))
                self.assertAlmostEqual(request[0], expected[0], delta=1e-4, msg=f"{task}, request {i}")
                self.assertEqual(request[1:], expected[1:], msg=f"{task}, request {i}")
            for name, value in golden["metrics"].items():
                self.assertAlmostEqual(found[task]["metrics"][name] / value, 1, delta=1e-5, msg=f"{task}, {name}")
        print("largest difference of a log-likelihood:", furthest)


if __name__ == "__main__":
    if not WEIGHTS.exists():
        print(f"skipped: no {WEIGHTS.name}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
