#!/usr/bin/env python3
"""The openai Python client over every endpoint it knows, with streams and errors, against `pando serve`.

usage: openai_client_test.py PANDO
"""
import base64
import struct
import sys
import tempfile
import unittest

import openai

from server import random_model, server

KEY = "a-key-for-the-tests"
PANDO = sys.argv[1]


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = cls.enterClassContext(tempfile.NamedTemporaryFile("w", suffix=".keys"))
        keys.write(f"tests:{KEY}\n")
        keys.flush()
        model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
        random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model, "--api-key-file", keys.name))
        cls.client = openai.OpenAI(base_url=cls.address + "/v1", api_key=KEY, max_retries=0)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["demo"])
        self.assertEqual(self.client.models.retrieve("demo").owned_by, "pando")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("other")

    def test_completions(self):
        request = dict(model="demo", prompt=["Once upon a time", "The"], max_tokens=8, temperature=0, logprobs=2)
        whole = self.client.completions.create(**request)
        self.assertEqual([choice.index for choice in whole.choices], [0, 1])
        self.assertEqual(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens)
        texts, logprobs = ["", ""], [[], []]
        for chunk in self.client.completions.create(**request, stream=True):
            for choice in chunk.choices:
                texts[choice.index] += choice.text
                if choice.logprobs:
                    logprobs[choice.index] += choice.logprobs.token_logprobs
        self.assertEqual(texts, [choice.text for choice in whole.choices])
        self.assertEqual(logprobs, [choice.logprobs.token_logprobs for choice in whole.choices])

    def test_warnings_of_a_schema(self):
        schema = {"type": "string", "maxLength": 2, "maxlength": 3}
        request = dict(model="demo", messages=[{"role": "user", "content": "A word, please."}], max_tokens=8,
                       response_format={"type": "json_schema", "json_schema": {"name": "word", "schema": schema}})
        whole = self.client.chat.completions.create(**request)
        self.assertIn("'#/maxlength'", whole.model_extra["warnings"][0])
        chunks = list(self.client.chat.completions.create(**request, stream=True))
        self.assertEqual(chunks[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertEqual(chunks[-1].model_extra["warnings"], whole.model_extra["warnings"])
        self.assertFalse(any("warnings" in (chunk.model_extra or {}) for chunk in chunks[:-1]))

    def test_param_of_a_schema(self):
        schema = {"type": "integer", "minimum": 5, "maximum": 3}
        with self.assertRaises(openai.BadRequestError) as refused:
            self.client.chat.completions.create(
                model="demo", messages=[{"role": "user", "content": "A number."}],
                response_format={"type": "json_schema", "json_schema": {"name": "number", "schema": schema}})
        self.assertEqual(refused.exception.param, "response_format")

    def test_logprobs_of_a_prompt(self):
        answer = self.client.completions.create(
            model="demo", prompt=[[5, 6, 7, 8]], max_tokens=1, temperature=0, echo=True, logprobs=1, seed=1234)
        lists = answer.choices[0].logprobs
        self.assertEqual(len(lists.token_logprobs), 5)
        self.assertIsNone(lists.token_logprobs[0])
        self.assertEqual(lists.token_logprobs[-1], max(lists.top_logprobs[-1].values()))

    def test_chat(self):
        request = dict(model="demo", messages=[{"role": "user", "content": "A story, please."}], n=2, seed=1,
                       max_completion_tokens=8, logprobs=True, top_logprobs=1)
        whole = self.client.chat.completions.create(**request)
        self.assertEqual(len(whole.choices), 2)
        texts, usage = ["", ""], None
        for chunk in self.client.chat.completions.create(**request, stream=True,
                                                         stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
        self.assertEqual(texts, [choice.message.content for choice in whole.choices])
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_responses(self):
        request = dict(model="demo", input="A story, please.", max_output_tokens=8, temperature=0)
        whole = self.client.responses.create(**request, instructions="Be brief.")
        self.assertEqual(whole.usage.total_tokens, whole.usage.input_tokens + whole.usage.output_tokens)
        self.assertEqual(whole.incomplete_details.reason, "max_output_tokens")
        type(whole).model_validate(whole.model_dump())
        with self.client.responses.stream(**request, instructions="Be brief.") as stream:
            events = list(stream)
        self.assertEqual("".join(event.delta for event in events if event.type == "response.output_text.delta"),
                         whole.output_text)
        self.assertEqual(events[-1].type, "response.incomplete")
        self.assertEqual(events[-1].response.output_text, whole.output_text)
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))

    def test_stored_responses(self):
        first = self.client.responses.create(model="demo", input="One.", max_output_tokens=4)
        second = self.client.responses.create(model="demo", input=[{"role": "user", "content": "Two."}],
                                              previous_response_id=first.id, max_output_tokens=4)
        self.assertEqual(self.client.responses.retrieve(second.id), second)
        items = list(self.client.responses.input_items.list(second.id, order="asc", limit=1))
        self.assertEqual([item.content[0].text for item in items], ["Two."])
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError) as refused:
            self.client.responses.create(model="demo", input="Three.", previous_response_id=second.id)
        self.assertEqual(refused.exception.param, "previous_response_id")

    def test_parsed_responses(self):
        import pydantic

        class Word(pydantic.BaseModel):
            is_short: bool

        request = dict(model="demo", input="A word.", text_format=Word)
        self.assertIsInstance(self.client.responses.parse(**request).output_parsed, Word)
        with self.client.responses.stream(**request) as stream:
            self.assertIsInstance(stream.get_final_response().output_parsed, Word)

    def test_embeddings(self):
        # The client asks for base64 where nothing else is said, and decodes it.
        vectors = self.client.embeddings.create(model="demo", input=["One", "Another"]).data
        numbers = self.client.embeddings.create(model="demo", input="Another", encoding_format="float").data[0]
        self.assertEqual(len(vectors), 2)
        as_floats = struct.unpack(f"{len(numbers.embedding)}f", struct.pack(f"{len(numbers.embedding)}f",
                                                                           *numbers.embedding))
        self.assertEqual(list(as_floats), [float(value) for value in vectors[1].embedding])
        coded = self.client.embeddings.create(model="demo", input="A", encoding_format="base64").data[0].embedding
        if isinstance(coded, str):
            self.assertEqual(len(base64.b64decode(coded)), 4 * len(numbers.embedding))
        for form in ("float", "base64"):
            few = self.client.embeddings.create(model="demo", input="A", dimensions=4, encoding_format=form).data[0].embedding
            self.assertEqual(len(few) if isinstance(few, list) else len(base64.b64decode(few)) // 4, 4)

    def test_errors(self):
        chat = dict(model="demo", messages=[{"role": "user", "content": "Q"}])
        with self.assertRaises(openai.NotFoundError) as raised:
            self.client.completions.create(model="other", prompt="P")
        self.assertEqual(raised.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as raised:
            self.client.chat.completions.create(**chat, tools=[{"type": "function", "function": {}}])
        self.assertIn("tools", str(raised.exception))
        with self.assertRaises(openai.BadRequestError):
            self.client.completions.create(model="demo", prompt="P", temperature=-1)
        with self.assertRaises(openai.AuthenticationError):
            openai.OpenAI(base_url=self.address + "/v1", api_key="wrong", max_retries=0).models.list()

    def test_a_stream_that_is_left(self):
        stream = self.client.completions.create(model="demo", prompt="Once", max_tokens=200, n=8, stream=True)
        next(iter(stream))
        stream.close()
        self.assertEqual(self.client.completions.create(model="demo", prompt="The", max_tokens=1).object,
                         "text_completion")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
