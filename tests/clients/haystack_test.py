#!/usr/bin/env python3
"""Haystack's generators for chats and for the Responses API, and its agent with two tools.

usage: haystack_test.py PANDO [ADDRESS]
"""
import json

import pydantic

import published
from published import KEY, QUESTION, PublishedTest, add, weather

from haystack.components.agents import Agent  # isort: skip: reads the environment
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret


class Person(pydantic.BaseModel):
    name: str
    age: int


class Haystack(PublishedTest):
    def generators(self, **fields):
        for generator, length in ((OpenAIChatGenerator, "max_tokens"), (OpenAIResponsesChatGenerator, "max_output_tokens")):
            yield generator(api_key=Secret.from_token(KEY), model="demo", api_base_url=self.base_url,
                            generation_kwargs={"temperature": 0, length: 100} | fields)

    def test_agent(self):
        for generator in self.generators():
            published.calls.clear()
            agent = Agent(chat_generator=generator, tools=[create_tool_from_function(weather),
                                                           create_tool_from_function(add)])
            found = agent.run(messages=[ChatMessage.from_user(QUESTION)])
            self.check_weather(found["last_message"].text)

    def test_object(self):
        [generator, _] = self.generators(response_format=Person)
        found = generator.run(messages=[ChatMessage.from_user("Velina is 41 years old. Who is she?")])
        self.assertEqual(json.loads(found["replies"][0].text), {"name": "Velina", "age": 41})


if __name__ == "__main__":
    published.main()
