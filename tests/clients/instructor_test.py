#!/usr/bin/env python3
"""instructor in its default mode, where each class is a tool that must be called: one class, one of two, several.

usage: instructor_test.py PANDO [ADDRESS]
"""
import pathlib
import sys

FOLDER = pathlib.Path(sys.prefix) / "structured"
if not (FOLDER / "installed.txt").exists():
    print("skipped: no instructor (hint: scripts/clients-test installs it)")
    sys.exit(77)
sys.path.insert(0, str(FOLDER))

import typing

import instructor
import openai
import pydantic

import published
from published import KEY, PublishedTest


class Person(pydantic.BaseModel):
    """A person."""

    name: str
    age: int


class Place(pydantic.BaseModel):
    """A place."""

    town: str
    country: str


class Instructor(PublishedTest):
    def ask(self, content, kind, **fields):
        client = instructor.from_openai(openai.OpenAI(base_url=self.base_url, api_key=KEY, max_retries=0), **fields)
        return client.chat.completions.create(
            model="demo", response_model=kind, messages=[{"role": "user", "content": content}], temperature=0,
            max_tokens=100, max_retries=0)

    def check(self, found):
        self.assertEqual(found.model_dump(), {"name": "Velina", "age": 41})

    def test_class(self):
        self.check(self.ask("Velina is 41 years old.", Person))
        client = instructor.from_provider("openai/demo", base_url=self.base_url, api_key=KEY)
        found = client.chat.completions.create(response_model=Person, temperature=0, max_tokens=100, max_retries=0,
                                               messages=[{"role": "user", "content": "Velina is 41 years old."}])
        self.check(found)

    def test_classes(self):
        found = self.ask("Velina is 41 years old.", typing.Union[Person, Place])
        self.assertIsInstance(found, (Person, Place))

    def test_list(self):
        found = list(self.ask("Velina is 41 years old. Brako is 8 years old.", typing.Iterable[Person]))
        self.assertEqual(found, [Person(name="Velina", age=41), Person(name="Brako", age=8)])

    def test_calls_of_two_classes(self):
        found = list(self.ask("Call both tools: Velina is 41 years old. Lyon is in France.",
                              typing.Iterable[typing.Union[Person, Place]], mode=instructor.Mode.PARALLEL_TOOLS))
        self.assertTrue(found)
        self.assertTrue(all(isinstance(one, (Person, Place)) for one in found))

    def test_response(self):
        client = instructor.from_openai(openai.OpenAI(base_url=self.base_url, api_key=KEY, max_retries=0),
                                        mode=instructor.Mode.RESPONSES_TOOLS)
        self.check(client.responses.create(model="demo", response_model=Person, input="Velina is 41 years old.",
                                           temperature=0, max_output_tokens=100, max_retries=0))


if __name__ == "__main__":
    published.main()
