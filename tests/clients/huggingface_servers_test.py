#!/usr/bin/env python3
"""huggingface_hub's InferenceClient as its users ask text-generation-inference and text-embeddings-inference.

usage: huggingface_servers_test.py PANDO
"""
import asyncio
import sys
import tempfile
import unittest

import huggingface_hub
from huggingface_hub.errors import HfHubHTTPError, ValidationError

from server import random_model, server

PANDO = sys.argv[1]
ASKED = {"max_new_tokens": 8, "stop": ["\n\n"]}


class HuggingFaceServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model, "--any-model-name"))
        cls.client = huggingface_hub.InferenceClient(cls.address, token="none")

    def test_text_generation(self):
        text = self.client.text_generation("Once upon", **ASKED)
        whole = self.client.text_generation("Once upon", **ASKED, details=True)
        self.assertEqual(whole.generated_text, text)
        self.assertEqual([whole.details.finish_reason, whole.details.generated_tokens], ["length", 8])
        self.assertEqual(len(whole.details.tokens), 8)
        self.assertEqual(self.client.text_generation("Once upon", **ASKED, return_full_text=True), "Once upon" + text)

    def test_streams(self):
        whole = self.client.text_generation("Once upon", **ASKED, details=True)
        self.assertEqual("".join(self.client.text_generation("Once upon", **ASKED, stream=True)), whole.generated_text)
        parts = list(self.client.text_generation("Once upon", **ASKED, stream=True, details=True))
        self.assertEqual([part.token.id for part in parts], [token.id for token in whole.details.tokens])
        self.assertEqual([part.token.logprob for part in parts], [token.logprob for token in whole.details.tokens])
        self.assertEqual(parts[-1].generated_text, whole.generated_text)
        self.assertEqual(parts[-1].details.generated_tokens, 8)

    def test_sampling(self):
        fields = dict(ASKED, do_sample=True, seed=7, temperature=0.8, top_k=20, top_p=0.9, repetition_penalty=1.1,
                      top_n_tokens=2, details=True)
        first, second = (self.client.text_generation("Once upon", **fields) for _ in range(2))
        self.assertEqual(first.generated_text, second.generated_text)
        self.assertEqual([len(tops) for tops in first.details.top_tokens], [2] * 8)

    def test_chat(self):
        messages = [{"role": "user", "content": "A word, please."}]
        whole = self.client.chat_completion(messages, max_tokens=8, temperature=0)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in self.client.chat_completion(
            messages, max_tokens=8, temperature=0, stream=True))
        self.assertEqual(text, whole.choices[0].message.content)

    def test_feature_extraction(self):
        both = self.client.feature_extraction(["One", "Another"])
        self.assertEqual(both.shape[0], 2)
        one = self.client.feature_extraction("Another", normalize=True, truncate=True, truncation_direction="right")
        self.assertEqual(one.reshape(-1).tolist(), both[1].tolist())

    def test_errors(self):
        with self.assertRaises((HfHubHTTPError, ValidationError)) as refused:
            self.client.text_generation("Once upon", max_new_tokens=4, top_p=7)
        self.assertIn("top_p", str(refused.exception))

    def test_async(self):
        async def ask():
            client = huggingface_hub.AsyncInferenceClient(self.address, token="none")
            return "".join([part async for part in await client.text_generation("Once upon", **ASKED, stream=True)])

        self.assertEqual(asyncio.run(ask()), self.client.text_generation("Once upon", **ASKED))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")
