#!/usr/bin/env python3
"""LlamaIndex with OpenAILike: an agent that calls functions, and answers as objects.

usage: llama_index_test.py PANDO [ADDRESS]
"""
import asyncio

import pydantic
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Person(pydantic.BaseModel):
    """A person."""

    name: str
    age: int


class LlamaIndex(PublishedTest):
    def model(self, **fields):
        return OpenAILike(model="demo", api_base=self.base_url, api_key=KEY, is_chat_model=True,
                          is_function_calling_model=True, context_window=16384, temperature=0, max_tokens=100,
                          max_retries=0, **fields)

    def test_agent(self):
        async def run(streams):
            agent = FunctionAgent(tools=[weather, add], llm=self.model(), system_prompt="Use the tools.",
                                  streaming=streams)
            return await agent.run(QUESTION)

        for streams in (True, False):
            published.calls.clear()
            self.check_weather(asyncio.run(run(streams)))

    def test_objects(self):
        # By calls of a tool, and by a schema.
        for by_schema in (False, True):
            model = self.model(should_use_structured_outputs=by_schema).as_structured_llm(Person)
            found = model.chat([ChatMessage(role="user", content="Velina is 41 years old. Who is she?")])
            self.assertEqual(found.raw, Person(name="Velina", age=41))


if __name__ == "__main__":
    published.main()
