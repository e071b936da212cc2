#!/usr/bin/env python3
"""Clients of embeddings and rankings get the right vectors and scores from all-MiniLM-L6-v2 and a tiny random
cross-encoder. The expected values come from sentence-transformers 6.2.0 and transformers 5.24.

usage: encoder_clients_test.py PANDO [MINILM]    MINILM: a folder with the published model
"""
import asyncio
import json
import os
import pathlib
import sys
import unittest
import unittest.mock

os.environ.update(ANONYMIZED_TELEMETRY="False", HAYSTACK_TELEMETRY_ENABLED="False", LANGSMITH_TRACING="false",
                  HF_TOKEN="none")

import chromadb
import numpy as np
import openai
import tiktoken
from chromadb.config import Settings
from chromadb.utils import embedding_functions
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.embedders.huggingface_api import HuggingFaceAPIDocumentEmbedder
from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker
from huggingface_hub import AsyncInferenceClient, InferenceClient
from langchain_huggingface.embeddings import HuggingFaceEndpointEmbeddings
from langchain_openai import OpenAIEmbeddings
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

from server import server

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PANDO = sys.argv[1]
MINILM = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "build" / "published" / "minilm")
RERANKER = SOURCE / "tests" / "task" / "data" / "classifiers" / "xlm-roberta-pairs"
TEXTS = ["An aspen is a tree.", "A poplar grows by the river.", "The red car needs fuel.", "Oak groves are full of birds."]
# Products of the first text's vector with all vectors, and its first values.
SIMILARITIES = [1.0, 0.2846078872680664, 0.0363822877407074, 0.3996827006340027]
VALUES = [0.061703361570835114, 0.011755701154470444, 0.037253644317388535, 0.08471379429101944]


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = cls.enterClassContext(server(PANDO, MINILM, "--weights", "f32", "--any-model-name"))
        cls.client = openai.OpenAI(base_url=cls.address + "/v1", api_key="none", max_retries=0)

    def check(self, vectors):
        vectors = np.asarray(vectors, np.float64)
        self.assertEqual(vectors.shape, (len(TEXTS), 384))
        np.testing.assert_allclose(vectors @ vectors[0], SIMILARITIES, atol=2e-5)
        np.testing.assert_allclose(vectors[0][:4], VALUES, atol=2e-5)

    def test_openai(self):
        def vectors(**fields):
            return [one.embedding for one in self.client.embeddings.create(model="demo", input=TEXTS, **fields).data]

        self.check(vectors())  # the client asks for base64, and decodes it
        self.check(vectors(encoding_format="float"))
        few = np.array(vectors(dimensions=64))
        whole = np.array(vectors())[:, :64]
        np.testing.assert_allclose(few, whole / np.linalg.norm(whole, axis=1, keepdims=True), atol=1e-6)
        with self.assertRaises(openai.BadRequestError) as refused:
            vectors(dimensions=385)
        self.assertIn("384", str(refused.exception))

    def test_langchain_openai(self):
        embeddings = OpenAIEmbeddings(base_url=self.address + "/v1", api_key="none", model="demo",
                                      check_embedding_ctx_length=False)
        self.check(embeddings.embed_documents(TEXTS))
        self.check(asyncio.run(embeddings.aembed_documents(TEXTS)))

    def test_langchain_endpoint(self):
        embeddings = HuggingFaceEndpointEmbeddings(model="demo", huggingfacehub_api_token="none")
        embeddings.client = InferenceClient(model=self.address, token="none")
        embeddings.async_client = AsyncInferenceClient(model=self.address, token="none")
        self.check(embeddings.embed_documents(TEXTS))
        self.check([embeddings.embed_query(text) for text in TEXTS])
        self.check(asyncio.run(embeddings.aembed_documents(TEXTS)))

    def test_llama_index(self):
        for embeddings in (OpenAILikeEmbedding(model_name="demo", api_base=self.address + "/v1", api_key="none"),
                           TextEmbeddingsInference(model_name="demo", base_url=self.address)):
            self.check(embeddings.get_text_embedding_batch(TEXTS))
            self.check([embeddings.get_query_embedding(text) for text in TEXTS])

    def test_chromadb(self):
        client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        functions = {"tei": embedding_functions.HuggingFaceEmbeddingServer(url=self.address + "/embed"),
                     "openai": embedding_functions.OpenAIEmbeddingFunction(api_key="none", api_base=self.address + "/v1",
                                                                           model_name="demo")}
        for name, function in functions.items():
            self.check(function(TEXTS))
            collection = client.create_collection(name, embedding_function=function)
            collection.add(ids=list("0123"), documents=TEXTS)
            self.assertEqual(collection.query(query_texts=["Which vehicle is red?"], n_results=1)["ids"], [["2"]])

    def test_haystack(self):
        embedder = HuggingFaceAPIDocumentEmbedder(api_type="text_embeddings_inference", api_params={"url": self.address},
                                                  token=Secret.from_token("none"), progress_bar=False, normalize=True)
        self.check([document.embedding for document in embedder.run([Document(content=text) for text in TEXTS])["documents"]])

    def test_token_ids(self):
        def embedded(ids):
            return self.client.embeddings.create(model="demo", input=[ids]).data[0].embedding

        # [CLS] an aspen is a tree. [SEP]
        np.testing.assert_allclose(embedded([101, 2019, 18567, 2003, 1037, 3392, 1012, 102])[:4], VALUES, atol=2e-5)
        with self.assertRaises(openai.BadRequestError) as refused:
            embedded([101, 30522, 102])
        self.assertIn("30522", str(refused.exception))

    def test_token_ids_of_another_tokenizer_are_refused(self):
        """Without the switch langchain's client sends ids of OpenAI's tokenizer. The model has these ids too."""
        ranks = {bytes([i]): 1000 + i for i in range(256)}
        encoding = tiktoken.Encoding("test", pat_str=".", mergeable_ranks=ranks, special_tokens={})
        plain = OpenAIEmbeddings(base_url=self.address + "/v1", api_key="none", model="demo")
        with unittest.mock.patch.object(tiktoken, "get_encoding", return_value=encoding), \
                self.assertRaises(openai.BadRequestError) as refused:
            plain.embed_documents(TEXTS)
        self.assertIn("expected ids of this model's tokenizer, from 101 to 102", str(refused.exception))


class Scores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = cls.enterClassContext(server(PANDO, RERANKER, "--weights", "f32"))

    def ranker(self, **fields):
        return HuggingFaceTEIRanker(url=self.address, token=Secret.from_token("none"), top_k=4, **fields)

    def test_scores_are_those_of_transformers(self):
        lines = map(json.loads, (RERANKER / "expected.jsonl").read_text().splitlines())
        pairs = [line for line in lines if line["text"] and line.get("text_pair")]
        self.assertTrue(pairs)
        for pair in pairs:
            for fields, expected in (({}, pair["scores"][0]), ({"raw_scores": True}, pair["logits"][0])):
                [ranked] = self.ranker(**fields).run(query=pair["text"],
                                                     documents=[Document(content=pair["text_pair"])])["documents"]
                self.assertAlmostEqual(ranked.score, expected, places=5)

    def test_rankers_agree(self):
        query = "Which tree grows by the river?"
        ranked = self.ranker().run(query=query,
                                   documents=[Document(content=text, id=str(i)) for i, text in enumerate(TEXTS)])
        nodes = TextEmbeddingInference(base_url=self.address, top_n=4).postprocess_nodes(
            [NodeWithScore(node=TextNode(text=text, id_=str(i))) for i, text in enumerate(TEXTS)], QueryBundle(query))
        self.assertEqual([(node.node.id_, node.score) for node in nodes],
                         [(document.id, document.score) for document in ranked["documents"]])


if __name__ == "__main__":
    if not (MINILM / "model.safetensors").exists():
        print(f"skipped: no {MINILM} (hint: scripts/published --fetch minilm)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], warnings="ignore")
