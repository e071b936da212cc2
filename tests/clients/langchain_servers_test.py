#!/usr/bin/env python3
"""LangChain as its users ask text-generation-inference, text-embeddings-inference and OpenAI's embeddings.

usage: langchain_servers_test.py PANDO
"""
import pathlib
import sys

FOLDER = pathlib.Path(sys.prefix) / "langchain_huggingface"
if not (FOLDER / "installed.txt").exists():
    print("skipped: no langchain-huggingface (hint: scripts/clients-test installs it)")
    sys.exit(77)
sys.path.insert(0, str(FOLDER))

import asyncio
import tempfile
import unittest
import unittest.mock

import openai
import tiktoken
from huggingface_hub import AsyncInferenceClient, InferenceClient
from langchain_huggingface import HuggingFaceEndpoint
from langchain_huggingface.embeddings import HuggingFaceEndpointEmbeddings
from langchain_openai import OpenAIEmbeddings

from server import random_model, server

PANDO = sys.argv[1]
TEXTS = ["One", "Another"]


class LangChainServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model, "--any-model-name"))
        client = openai.OpenAI(base_url=cls.address + "/v1", api_key="none")
        cls.vectors = [one.embedding for one in client.embeddings.create(model="demo", input=TEXTS,
                                                                        encoding_format="float").data]

    def openai_embeddings(self, **fields):
        return OpenAIEmbeddings(base_url=self.address + "/v1", api_key="none", model="demo", **fields)

    def check(self, *vectors):
        for vector, expected in zip(vectors, self.vectors):
            self.assertEqual(len(vector), len(expected))
            for one, other in zip(vector, expected):
                self.assertAlmostEqual(one, other, places=6)

    def test_openai_embeddings(self):
        plain = self.openai_embeddings(check_embedding_ctx_length=False)
        self.check(*plain.embed_documents(TEXTS))
        self.check(plain.embed_query("One"))
        self.assertEqual(len(self.openai_embeddings(check_embedding_ctx_length=False, dimensions=4).embed_query("One")), 4)

    def test_token_ids_of_another_tokenizer_are_refused(self):
        """Without the switch the client sends ids of OpenAI's tokenizer."""
        ranks = {bytes([i]): 100000 + i for i in range(256)}
        encoding = tiktoken.Encoding("test", pat_str=".", mergeable_ranks=ranks, special_tokens={})
        with unittest.mock.patch.object(tiktoken, "get_encoding", return_value=encoding), \
                self.assertRaises(openai.BadRequestError) as refused:
            self.openai_embeddings().embed_documents(TEXTS)
        self.assertEqual(refused.exception.param, "input[0]")

    def test_endpoint_embeddings(self):
        embeddings = HuggingFaceEndpointEmbeddings(model="demo", huggingfacehub_api_token="none")
        embeddings.client = InferenceClient(model=self.address, token="none")
        embeddings.async_client = AsyncInferenceClient(model=self.address, token="none")
        self.check(*embeddings.embed_documents(TEXTS))
        self.check(embeddings.embed_query("One"))
        self.check(*asyncio.run(embeddings.aembed_documents(TEXTS)))

    def test_endpoint(self):
        model = HuggingFaceEndpoint(endpoint_url=self.address, huggingfacehub_api_token="none", max_new_tokens=8,
                                    temperature=0.8, seed=7)
        whole = model.invoke("Once upon")
        self.assertTrue(whole)
        self.assertEqual("".join(model.stream("Once upon")), whole)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")
