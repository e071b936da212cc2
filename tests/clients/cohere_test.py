#!/usr/bin/env python3
"""Cohere's Python client, version 2 of its API: embeddings, chats, rankings, streams and errors.

usage: cohere_test.py PANDO
"""
import base64
import struct
import sys
import tempfile
import unittest

import cohere

from server import random_model, server

PANDO = sys.argv[1]
DOCUMENTS = ["an aspen", "a car", "an oak grove"]
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "A word, please."}], "temperature": 0, "max_tokens": 8}
TOOL = {"type": "function", "function": {
    "name": "weather", "description": "Tells the weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class Cohere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model))
        cls.client = cohere.ClientV2(api_key="none", base_url=cls.address)

    def embed(self, texts, **fields):
        return self.client.embed(model="demo", texts=texts, input_type="search_document", **fields).embeddings

    def test_embed(self):
        both = self.embed(["One", "Another"], embedding_types=["float", "base64"])
        self.assertEqual(len(both.float_), 2)
        numbers = struct.unpack(f"{len(both.float_[0])}f", base64.b64decode(both.base64[0]))
        as_floats = struct.unpack(f"{len(numbers)}f", struct.pack(f"{len(numbers)}f", *both.float_[0]))
        self.assertEqual(numbers, as_floats)
        self.assertEqual(self.embed(["Another"], embedding_types=["float"]).float_[0], both.float_[1])
        self.assertEqual(len(self.embed(["One"], embedding_types=["float"], output_dimension=4).float_[0]), 4)

    def test_chat(self):
        whole = self.client.chat(**CHAT)
        self.assertEqual([whole.message.role, whole.finish_reason], ["assistant", "MAX_TOKENS"])
        self.assertEqual(whole.usage.tokens.output_tokens, 8)
        events = list(self.client.chat_stream(**CHAT))
        self.assertEqual([events[0].type, events[-1].type], ["message-start", "message-end"])
        text = "".join(event.delta.message.content.text for event in events if event.type == "content-delta")
        self.assertEqual(text, whole.message.content[0].text)
        self.assertEqual(events[-1].delta.usage.tokens.output_tokens, 8)

    def test_tools_and_documents(self):
        self.assertEqual(self.client.chat(**CHAT, tools=[TOOL]).finish_reason, "MAX_TOKENS")
        call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
        messages = [*CHAT["messages"], {"role": "assistant", "tool_calls": [call], "tool_plan": "I look."},
                    {"role": "tool", "tool_call_id": "a",
                     "content": [{"type": "document", "document": {"id": "1", "data": {"snow": "deep"}}}]}]
        self.assertEqual(self.client.chat(**{**CHAT, "messages": messages}, tools=[TOOL]).finish_reason, "MAX_TOKENS")
        documents = ["snow is white", {"id": "d", "data": {"text": "grass is green"}}]
        with self.assertRaises(cohere.BadRequestError) as refused:  # the template of this model has no documents
            self.client.chat(**CHAT, documents=documents)
        self.assertIn("the chat template never reads it", refused.exception.body["message"])

    def test_format(self):
        schema = {"type": "object", "properties": {"is_short": {"type": "boolean"}}, "required": ["is_short"],
                  "additionalProperties": False}
        asked = {**CHAT, "max_tokens": 64, "response_format": {"type": "json_object", "json_schema": schema}}
        self.assertRegex(self.client.chat(**asked).message.content[0].text, r'^\{\s*"is_short":\s*(true|false)\s*\}$')

    def test_rerank(self):
        found = self.client.rerank(model="demo", query="trees", documents=DOCUMENTS)
        self.assertEqual(sorted(one.index for one in found.results), [0, 1, 2])
        scores = [one.relevance_score for one in found.results]
        self.assertEqual(scores, sorted(scores, reverse=True))
        first = self.client.rerank(model="demo", query="trees", documents=DOCUMENTS, top_n=2)
        self.assertEqual([one.relevance_score for one in first.results], scores[:2])

    def test_errors(self):
        with self.assertRaises(cohere.NotFoundError) as refused:
            self.client.chat(**{**CHAT, "model": "other"})
        self.assertIn("'other' is not served", refused.exception.body["message"])
        with self.assertRaises(cohere.BadRequestError):
            self.client.chat(**{**CHAT, "p": 7})
        with self.assertRaises(cohere.BadRequestError):
            self.embed(["One"], embedding_types=["int8"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
