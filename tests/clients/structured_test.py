#!/usr/bin/env python3
"""Answers as objects, by instructor and LangChain in their modes of JSON schemas: what comes back is what the class says,
whatever the model.

usage: structured_test.py PANDO [MODEL]    MODEL: a model to ask instead of a random one
"""
import pathlib
import sys

FOLDER = pathlib.Path(sys.prefix) / "structured"
if not (FOLDER / "installed.txt").exists():
    print("skipped: no instructor (hint: scripts/clients-test installs it)")
    sys.exit(77)
sys.path.insert(0, str(FOLDER))

import json
import tempfile
import typing
import unittest

import instructor
import langchain_openai
import openai
import pydantic

from server import random_model, server

PANDO = sys.argv[1]
NOTE = "The Mofti lamp costs 12 dollars at Velina's shop. It is in stock."


class Closed(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")  # or a random model goes on and on


class Maker(Closed):
    name: str = pydantic.Field(max_length=12)
    town: typing.Optional[str] = pydantic.Field(max_length=12)


class Article(Closed):
    """An article of a shop."""

    name: str = pydantic.Field(description="What it is called", min_length=1, max_length=12)
    kind: typing.Literal["lamp", "table", "chair"]
    price: int = pydantic.Field(ge=0, le=999)
    in_stock: bool
    colours: list[typing.Literal["red", "green", "blue"]] = pydantic.Field(max_length=2)
    maker: Maker


class Structured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if len(sys.argv) > 2:
            model = sys.argv[2]
        else:
            model = cls.enterClassContext(tempfile.TemporaryDirectory()) + "/model"
            random_model(PANDO, model)
        cls.address = cls.enterClassContext(server(PANDO, model, "--kv-memory", "512MiB")) + "/v1"

    def test_instructor(self):
        client = instructor.from_openai(openai.OpenAI(base_url=self.address, api_key="none", max_retries=0),
                                        mode=instructor.Mode.JSON_SCHEMA)
        for seed in range(4):
            article, completion = client.chat.completions.create_with_completion(
                model="demo", response_model=Article, messages=[{"role": "user", "content": NOTE}], seed=seed,
                temperature=1, max_tokens=400, max_retries=0)
            self.assertIsInstance(article, Article)
            self.assertEqual(completion.choices[0].finish_reason, "stop")
            written = json.loads(completion.choices[0].message.content)
            self.assertEqual(written, article.model_dump())
            self.assertEqual(list(written), list(Article.model_fields))

    def test_langchain(self):
        chat = langchain_openai.ChatOpenAI(base_url=self.address, api_key="none", model="demo", temperature=1,
                                           max_tokens=400, max_retries=0, seed=5)
        for strict in (None, True):
            asked = chat.with_structured_output(Article, method="json_schema", strict=strict, include_raw=True)
            answer = asked.invoke(NOTE)
            self.assertIsNone(answer["parsing_error"])
            self.assertIsInstance(answer["parsed"], Article)
        as_mapping = chat.with_structured_output(Article.model_json_schema(), method="json_schema").invoke(NOTE)
        Article.model_validate(as_mapping)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
