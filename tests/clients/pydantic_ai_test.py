#!/usr/bin/env python3
"""pydantic-ai in its default mode (the Responses API) and over chats: two tools, and answers as objects.

usage: pydantic_ai_test.py PANDO [ADDRESS]
"""
import pydantic
from pydantic_ai import Agent, NativeOutput, PromptedOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Person(pydantic.BaseModel):
    name: str
    age: int


class Report(pydantic.BaseModel):
    city: str
    weather: str


NOTE = "Velina is 41 years old. Who is she?"
SETTINGS = {"temperature": 0, "max_tokens": 100}


class PydanticAi(PublishedTest):
    def models(self):
        provider = OpenAIProvider(base_url=self.base_url, api_key=KEY)
        return [OpenAIResponsesModel("demo", provider=provider), OpenAIChatModel("demo", provider=provider)]

    def test_tools_by_default(self):
        # The address and the key come from the environment.
        agent = Agent("openai:demo", tools=[weather, add], model_settings=SETTINGS)
        self.check_weather(agent.run_sync(QUESTION).output)

    def test_tools(self):
        for model in self.models():
            published.calls.clear()
            agent = Agent(model, tools=[weather, add], model_settings=SETTINGS)
            self.check_weather(agent.run_sync(QUESTION).output)

    def test_tools_and_an_object(self):
        for model in self.models():
            published.calls.clear()
            agent = Agent(model, tools=[weather], output_type=Report, model_settings=SETTINGS)
            self.check_weather(agent.run_sync(QUESTION).output.weather)

    def test_stream(self):
        for model in self.models():
            published.calls.clear()
            agent = Agent(model, tools=[weather, add], model_settings=SETTINGS)
            self.check_weather(agent.run_stream_sync(QUESTION).get_output())

    def test_objects(self):
        for model in self.models():
            for output in (Person, NativeOutput(Person), PromptedOutput(Person)):
                agent = Agent(model, output_type=output, model_settings=SETTINGS)
                self.assertEqual(agent.run_sync(NOTE).output, Person(name="Velina", age=41), output)


if __name__ == "__main__":
    published.main()
