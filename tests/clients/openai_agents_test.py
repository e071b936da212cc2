#!/usr/bin/env python3
"""OpenAI's agents in their default mode (the Responses API) and over chats: a tool, a hand-off, an answer as an object.

usage: openai_agents_test.py PANDO [ADDRESS]
"""
import agents
import pydantic

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Person(pydantic.BaseModel):
    name: str
    age: int


class Report(pydantic.BaseModel):
    city: str
    weather: str


SETTINGS = agents.ModelSettings(temperature=0, max_tokens=100)


class OpenAiAgents(PublishedTest):
    def models(self):
        client = agents.AsyncOpenAI(base_url=self.base_url, api_key=KEY, max_retries=0)
        return ["demo",  # the address and the key come from the environment
                agents.OpenAIChatCompletionsModel(model="demo", openai_client=client)]

    def agent(self, model, **fields):
        return agents.Agent(name="Helper", model=model, **{"model_settings": SETTINGS} | fields)

    def test_tools(self):
        for model in self.models():
            published.calls.clear()
            agent = self.agent(model, tools=[agents.function_tool(weather), agents.function_tool(add)])
            self.check_weather(agents.Runner.run_sync(agent, QUESTION).final_output)

    def test_hand_off(self):
        for model in self.models():
            published.calls.clear()
            # A choice holds for the first call of each agent.
            settings = agents.ModelSettings(temperature=0, max_tokens=100, tool_choice="required")
            expert = agents.Agent(name="Weather expert", model=model, model_settings=settings,
                                  tools=[agents.function_tool(weather)])
            first = self.agent(model, model_settings=settings, handoffs=[expert],
                               instructions="Hand every question about the weather to the weather expert.")
            found = agents.Runner.run_sync(first, QUESTION)
            self.assertEqual(found.last_agent.name, "Weather expert")
            self.check_weather(found.final_output)

    def test_tools_and_an_object(self):
        for model in self.models():
            published.calls.clear()
            agent = self.agent(model, tools=[agents.function_tool(weather)], output_type=Report)
            self.check_weather(agents.Runner.run_sync(agent, QUESTION).final_output.weather)

    def test_object(self):
        for model in self.models():
            found = agents.Runner.run_sync(self.agent(model, output_type=Person), "Velina is 41 years old. Who is she?")
            self.assertEqual(found.final_output, Person(name="Velina", age=41))


if __name__ == "__main__":
    published.main()
