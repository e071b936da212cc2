#!/usr/bin/env python3
"""AutoGen's assistant with two tools, streamed too, and with an answer as an object.

usage: autogen_test.py PANDO [ADDRESS]
"""
import asyncio

import pydantic
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Person(pydantic.BaseModel):
    name: str
    age: int


class AutoGen(PublishedTest):
    def run_agent(self, question, **fields):
        async def run():
            client = OpenAIChatCompletionClient(
                model="demo", base_url=self.base_url, api_key=KEY, temperature=0, max_tokens=100,
                model_info={"vision": False, "function_calling": True, "json_output": True, "structured_output": True,
                            "family": "unknown"})
            agent = AssistantAgent("helper", client, **{"system_message": "Use the tools."} | fields)
            found = await agent.run(task=question)
            await client.close()
            return found.messages[-1].content
        return asyncio.run(run())

    def test_tools(self):
        for streams in (False, True):
            published.calls.clear()
            self.check_weather(self.run_agent(QUESTION, tools=[weather, add], reflect_on_tool_use=True,
                                              model_client_stream=streams))

    def test_object(self):
        self.assertEqual(self.run_agent("Velina is 41 years old. Who is she?", output_content_type=Person,
                                        system_message=None), Person(name="Velina", age=41))


if __name__ == "__main__":
    published.main()
