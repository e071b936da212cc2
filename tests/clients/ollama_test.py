#!/usr/bin/env python3
"""The ollama Python client: chats, generations, embeddings, lists, tools, streams and errors.

usage: ollama_test.py PANDO
"""
import asyncio
import sys
import tempfile
import unittest

import ollama

from server import random_model, server

PANDO = sys.argv[1]
MESSAGES = [{"role": "user", "content": "A word, please."}]
OPTIONS = {"temperature": 0, "num_predict": 8, "num_ctx": 2048}
SCHEMA = {"type": "object", "properties": {"is_short": {"type": "boolean"}}, "required": ["is_short"],
          "additionalProperties": False}


def weather(city: str) -> str:
    """Tells the weather in a city.

    Args:
        city: The name of the city.
    """
    return f"It snows in {city}."


class Ollama(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model))
        cls.client = ollama.Client(host=cls.address)

    def test_chat(self):
        whole = self.client.chat("demo", MESSAGES, options=OPTIONS, keep_alive="5m")
        self.assertEqual([whole.message.role, whole.done, whole.done_reason, whole.eval_count],
                         ["assistant", True, "length", 8])
        parts = list(self.client.chat("demo", MESSAGES, options=OPTIONS, stream=True))
        self.assertEqual("".join(part.message.content for part in parts), whole.message.content)
        self.assertEqual([part.done for part in parts], [False] * (len(parts) - 1) + [True])
        self.assertEqual(parts[-1].prompt_eval_count, whole.prompt_eval_count)

    def test_generate(self):
        whole = self.client.generate("demo", "A word, please.", options=OPTIONS)
        self.assertEqual(whole.response, self.client.chat("demo", MESSAGES, options=OPTIONS).message.content)
        parts = self.client.generate("demo", "A word, please.", options=OPTIONS, stream=True)
        self.assertEqual("".join(part.response for part in parts), whole.response)
        raw = self.client.generate("demo", "Once upon", raw=True, options=OPTIONS)
        self.assertEqual(raw.eval_count, 8)

    def test_format(self):
        whole = self.client.chat("demo", MESSAGES, format=SCHEMA, options={"temperature": 0})
        self.assertIn(whole.message.content, ('{"is_short":true}', '{"is_short":false}', '{"is_short": true}',
                                              '{"is_short": false}'))

    def test_embed(self):
        both = self.client.embed("demo", ["One", "Another"])
        self.assertEqual(len(both.embeddings), 2)
        self.assertGreater(both.prompt_eval_count, 0)
        self.assertEqual(self.client.embed("demo", "Another").embeddings[0], both.embeddings[1])
        self.assertEqual(self.client.embeddings("demo", "Another").embedding, both.embeddings[1])
        self.assertEqual(len(self.client.embed("demo", "One", dimensions=4).embeddings[0]), 4)

    def test_models(self):
        [listed] = self.client.list().models
        self.assertEqual(listed.model, "demo")
        self.assertGreater(listed.size, 0)
        for name in ("demo", "demo:latest"):
            shown = self.client.show(name)
            self.assertEqual(shown.details.family, listed.details.family)
            self.assertIn("completion", shown.capabilities)
            self.assertIn(f"{listed.details.family}.context_length", shown.modelinfo)
        self.assertEqual(self.client.generate("demo:latest", "P", options=OPTIONS).response,
                         self.client.generate("demo", "P", options=OPTIONS).response)

    def test_tools(self):
        """A random model calls nothing; the client understands an answer of the model all the same."""
        answer = self.client.chat("demo", MESSAGES, tools=[weather], options=OPTIONS)
        self.assertFalse(answer.message.tool_calls)
        call = {"function": {"name": "weather", "arguments": {"city": "Paris"}}}
        messages = [*MESSAGES, {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "content": weather("Paris"), "tool_name": "weather"}]
        self.assertTrue(self.client.chat("demo", messages, tools=[weather], options=OPTIONS).done)

    def test_errors(self):
        with self.assertRaises(ollama.ResponseError) as refused:
            self.client.chat("other", MESSAGES)
        self.assertEqual(refused.exception.status_code, 404)
        self.assertIn("'other' is not served", refused.exception.error)
        for ask in (lambda: self.client.pull("demo"), lambda: self.client.delete("demo"),
                    lambda: self.client.copy("demo", "other")):
            with self.assertRaises(ollama.ResponseError) as refused:
                ask()
            self.assertEqual(refused.exception.status_code, 404)
            self.assertIn("there is nothing at '/api/", refused.exception.error)

    def test_async(self):
        async def ask():
            client = ollama.AsyncClient(host=self.address)
            return [part.message.content async for part in await client.chat("demo", MESSAGES, stream=True, options=OPTIONS)]

        whole = self.client.chat("demo", MESSAGES, options=OPTIONS)
        self.assertEqual("".join(asyncio.run(ask())), whole.message.content)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
