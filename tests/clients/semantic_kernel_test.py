#!/usr/bin/env python3
"""Semantic Kernel's agent, which chooses the functions of a plugin, and an answer as an object.

usage: semantic_kernel_test.py PANDO [ADDRESS]
"""
import asyncio

import openai
import pydantic
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.functions import KernelArguments, kernel_function

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Tools:
    @kernel_function(description="Tells the weather in a city.")
    def weather(self, city: str) -> str:
        return weather(city)

    @kernel_function(description="Adds two integers.")
    def add(self, a: int, b: int) -> int:
        return add(a, b)


class Person(pydantic.BaseModel):
    name: str
    age: int


class SemanticKernel(PublishedTest):
    def ask(self, question, plugins=(), **fields):
        async def run():
            service = OpenAIChatCompletion("demo", async_client=openai.AsyncOpenAI(base_url=self.base_url, api_key=KEY))
            settings = OpenAIChatPromptExecutionSettings(temperature=0, max_tokens=100, **fields)
            agent = ChatCompletionAgent(service=service, name="Helper", plugins=list(plugins),
                                        arguments=KernelArguments(settings=settings))
            return str(await agent.get_response(question))
        return asyncio.run(run())

    def test_functions(self):
        self.check_weather(self.ask(QUESTION, [Tools()]))

    def test_object(self):
        answer = self.ask("Velina is 41 years old. Who is she?", response_format=Person)
        self.assertEqual(Person.model_validate_json(answer), Person(name="Velina", age=41))


if __name__ == "__main__":
    published.main()
