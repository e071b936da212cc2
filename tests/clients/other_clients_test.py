#!/usr/bin/env python3
"""Clients of other servers, each doing what its users do first: litellm's routes of rankings and its
errors of prompts that are too long, a browser before a page's request, a harness that types its messages.

usage: other_clients_test.py PANDO
"""
import json
import os
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # from the package, not from the network

import litellm

from server import random_model, server

PANDO = sys.argv[1]
DOCUMENTS = ["an aspen", "a car", "an oak grove"]


class OtherClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model, "--cors-origin", "https://a.example"))
        cls.ranked = [(result["index"], result["relevance_score"]) for result in
                      cls.post("/v1/rerank", {"query": "trees", "documents": DOCUMENTS})["results"]]

    @classmethod
    def post(cls, path, body):
        request = urllib.request.Request(cls.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.loads(urllib.request.urlopen(request).read())

    def test_litellm_ranks(self):
        for model, path in (("cohere/demo", "/v2/rerank"), ("hosted_vllm/demo", ""), ("jina_ai/demo", "/v1/rerank"),
                            ("huggingface/demo", "")):
            found = litellm.rerank(model=model, api_base=self.address + path, api_key="none", query="trees",
                                   documents=DOCUMENTS, top_n=2)
            self.assertEqual([(one["index"], one["relevance_score"]) for one in found.results], self.ranked[:2], model)

    def test_litellm_knows_what_is_too_long(self):
        for prompt, n in (("word " * 2000, 4), ("short", 100000)):
            with self.assertRaises(litellm.ContextWindowExceededError):
                litellm.text_completion(model="text-completion-openai/demo", api_base=self.address + "/v1", api_key="none",
                                        prompt=prompt, max_tokens=n)

    def test_a_browser_asks_first(self):
        def preflight(origin):
            return urllib.request.urlopen(urllib.request.Request(
                self.address + "/v1/completions", method="OPTIONS",
                headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                         "Access-Control-Request-Headers": "authorization,content-type"}))

        answer = preflight("https://a.example")
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://a.example")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            preflight("https://b.example")
        self.assertEqual(refused.exception.code, 403)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
