#!/usr/bin/env python3
"""An evaluation by Inspect, with its models `openai/` and `openai-api/`: a tool, and answers as objects.

usage: inspect_test.py PANDO [ADDRESS]
"""
import json
import tempfile

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool
from inspect_ai.util import json_schema

import pydantic

import published
from published import KEY, QUESTION, PublishedTest


@tool(name="weather")
def weather():
    async def execute(city: str) -> str:
        """Tells the weather in a city.

        Args:
            city: The name of the city.
        """
        return published.weather(city)

    return execute


class Person(pydantic.BaseModel):
    name: str
    age: int


class Inspect(PublishedTest):
    def evaluate(self, model, sample, solver, **config):
        task = inspect_ai.Task(dataset=[sample], solver=solver, scorer=includes(),
                               config=GenerateConfig(temperature=0, max_tokens=100, **config))
        model = get_model(model, base_url=self.base_url, api_key=KEY, memoize=False)
        with tempfile.TemporaryDirectory() as folder:
            [log] = inspect_ai.eval(task, model=model, display="none", log_dir=folder)
            self.assertEqual(log.status, "success", log.error)
            self.assertEqual(log.results.scores[0].metrics["accuracy"].value, 1)
            return log.samples[0].output.completion

    def test_tool(self):
        for model in ("openai/demo", "openai-api/pando/demo"):
            published.calls.clear()
            sample = Sample(input=QUESTION, target="snow")
            self.check_weather(self.evaluate(model, sample, [use_tools(weather()), generate()]))

    def test_object(self):
        form = ResponseSchema(name="person", json_schema=json_schema(Person))
        sample = Sample(input="Velina is 41 years old. Who is she?", target="Velina")
        answer = self.evaluate("openai/demo", sample, generate(), response_schema=form)
        self.assertEqual(json.loads(answer), {"name": "Velina", "age": 41})


if __name__ == "__main__":
    published.main()
