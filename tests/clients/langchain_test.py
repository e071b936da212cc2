#!/usr/bin/env python3
"""LangChain with OpenAI's API: tools, an agent, and answers as objects by each of its methods.

usage: langchain_test.py PANDO [ADDRESS]
"""
import pydantic
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Person(pydantic.BaseModel):
    """A person."""

    name: str = pydantic.Field(description="The first name")
    age: int = pydantic.Field(description="In years")


VELINA = Person(name="Velina", age=41)


class LangChain(PublishedTest):
    def chat(self, **fields):
        return ChatOpenAI(base_url=self.base_url, api_key=KEY, model="demo", temperature=0, max_tokens=100,
                          max_retries=0, **fields)

    def test_bind_tools(self):
        [call] = self.chat().bind_tools([weather, add]).invoke(QUESTION).tool_calls
        self.assertEqual((call["name"], call["args"]), ("weather", {"city": "Paris"}))
        chunks = list(self.chat().bind_tools([weather, add]).stream(QUESTION))
        whole = sum(chunks[1:], chunks[0])
        self.assertEqual([call["args"] for call in whole.tool_calls], [{"city": "Paris"}])
        forced = self.chat().bind_tools([weather, add], tool_choice="add").invoke("What is 17 plus 25?")
        self.assertEqual(forced.tool_calls[0]["args"], {"a": 17, "b": 25})

    def test_agent(self):
        for fields in ({}, {"use_responses_api": True}):
            published.calls.clear()
            agent = create_agent(self.chat(**fields), [weather, add], system_prompt="Use the tools.")
            found = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
            self.check_weather(found["messages"][-1].text)

    def test_agent_answers_with_an_object(self):
        agent = create_agent(self.chat(), [], response_format=Person)
        found = agent.invoke({"messages": [{"role": "user", "content": "Velina is 41 years old. Who is she?"}]})
        self.assertEqual(found["structured_response"], VELINA)

    def test_structured_output(self):
        for method in ("json_schema", "function_calling", "json_mode"):
            asked = "Velina is 41 years old. Who is she?"
            if method == "json_mode":
                asked += ' Answer with JSON like {"name": "Ada", "age": 30}.'
            for strict in (None, True) if method != "json_mode" else (None,):
                chat = self.chat().with_structured_output(Person, method=method, strict=strict)
                self.assertEqual(chat.invoke(asked), VELINA, method)


if __name__ == "__main__":
    published.main()
