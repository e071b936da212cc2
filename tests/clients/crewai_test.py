#!/usr/bin/env python3
"""A crew of CrewAI: an agent with two tools, and a task with an object as its answer.

usage: crewai_test.py PANDO [ADDRESS]
"""
import os
import tempfile

import pydantic

import published
from published import KEY, PublishedTest, add, weather

os.environ["CREWAI_STORAGE_DIR"] = tempfile.mkdtemp()

import crewai  # isort: skip: reads the environment
from crewai.tools import tool


class Person(pydantic.BaseModel):
    name: str
    age: int


class CrewAi(PublishedTest):
    def run_crew(self, question, expected, tools=(), **fields):
        model = crewai.LLM("openai/demo", base_url=self.base_url, api_key=KEY, temperature=0, max_tokens=200)
        agent = crewai.Agent(role="Helper", goal="Call tools", backstory="You call tools.", llm=model, tools=list(tools),
                             max_iter=3)
        task = crewai.Task(description=question, expected_output=expected, agent=agent, **fields)
        return crewai.Crew(agents=[agent], tasks=[task]).kickoff()

    def test_tools(self):
        found = self.run_crew("Call a tool to find the weather in Paris.", "The weather",
                              [tool("weather")(weather), tool("add")(add)])
        self.check_weather(found.raw)

    def test_object(self):
        found = self.run_crew("Velina is 41 years old. Who is she?", "Her name and age.", output_pydantic=Person)
        self.assertEqual(found.pydantic, Person(name="Velina", age=41))


if __name__ == "__main__":
    published.main()
