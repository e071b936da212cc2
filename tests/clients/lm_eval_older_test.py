#!/usr/bin/env python3
"""Checks the same as lm_eval_test.py, with a version of the evaluation harness whose requests differ, and its
conversations: every message of them has a type.

usage: lm_eval_older_test.py PANDO
"""
import pathlib
import sys

VERSION = "0.4.11"
FOLDER = pathlib.Path(sys.prefix) / f"lm_eval-{VERSION}"
if not (FOLDER / "installed.txt").exists():
    print(f"skipped: no lm_eval {VERSION} (hint: scripts/clients-test installs it)")
    sys.exit(77)
sys.path.insert(0, str(FOLDER))

import importlib.metadata
import tempfile
import unittest

from lm_eval_test import PANDO, WEIGHTS, LmEval  # noqa: F401: the same test, found here
from server import random_model, server


class Conversations(unittest.TestCase):
    def test_is_the_older_one(self):
        import lm_eval
        self.assertEqual(importlib.metadata.version("lm_eval"), VERSION)
        self.assertTrue(lm_eval.__file__.startswith(str(FOLDER)))

    def test_answers_a_conversation(self):
        from lm_eval.api.instance import Instance
        from lm_eval.models.openai_completions import LocalChatCompletion
        with tempfile.TemporaryDirectory() as folder:
            random_model(PANDO, folder + "/model")
            with server(PANDO, folder + "/model") as address:
                model = LocalChatCompletion(model="demo", base_url=address + "/v1/chat/completions", max_retries=1)
                prompts = [model.apply_chat_template([{"role": "user", "content": text}]) for text in ("One", "Two")]
                self.assertTrue(any('"type"' in str(prompt) or "'type'" in str(prompt) for prompt in prompts))
                answers = model.generate_until([
                    Instance("generate_until", {}, (prompt, {"until": [], "max_gen_toks": 4}), i)
                    for i, prompt in enumerate(prompts)])
        self.assertEqual(len(answers), 2)
        self.assertTrue(all(isinstance(answer, str) and answer for answer in answers))


if __name__ == "__main__":
    if not WEIGHTS.exists():
        print(f"skipped: no {WEIGHTS.name}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
