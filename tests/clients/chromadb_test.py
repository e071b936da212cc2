#!/usr/bin/env python3
"""chromadb with its functions for text-embeddings-inference, OpenAI's and Ollama's embeddings: documents are found again.

usage: chromadb_test.py PANDO
"""
import sys
import tempfile
import unittest

import chromadb
from chromadb.config import Settings
from chromadb.utils import embedding_functions

from server import random_model, server

PANDO = sys.argv[1]
DOCUMENTS = ["an aspen in the wind", "a red car", "an oak grove"]


class Chroma(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model))
        cls.client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))

    def found(self, name, function):
        collection = self.client.create_collection(name, embedding_function=function)
        collection.add(ids=["0", "1", "2"], documents=DOCUMENTS)
        return [collection.query(query_texts=[text], n_results=1)["ids"] for text in DOCUMENTS]

    def test_each_document_finds_itself(self):
        functions = {
            "tei": embedding_functions.HuggingFaceEmbeddingServer(url=self.address + "/embed"),
            "openai": embedding_functions.OpenAIEmbeddingFunction(api_key="none", api_base=self.address + "/v1",
                                                                  model_name="demo")}
        for name, function in functions.items():
            self.assertEqual(self.found(name, function), [[["0"]], [["1"]], [["2"]]], name)

    def test_vectors_are_the_same(self):
        tei = embedding_functions.HuggingFaceEmbeddingServer(url=self.address + "/embed")(DOCUMENTS)
        openai = embedding_functions.OpenAIEmbeddingFunction(api_key="none", api_base=self.address + "/v1",
                                                             model_name="demo")(DOCUMENTS)
        for one, other in zip(tei, openai, strict=True):
            self.assertTrue((one == other).all())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")
