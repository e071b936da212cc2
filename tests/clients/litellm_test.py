#!/usr/bin/env python3
"""litellm's routes to OpenAI's and Anthropic's servers, with tools and schemas.

usage: litellm_test.py PANDO [ADDRESS]
"""
import json

import pydantic

import published
from published import KEY, QUESTION, PublishedTest, weather

import litellm  # isort: skip: reads the environment

TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "Tells the weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


class Person(pydantic.BaseModel):
    name: str
    age: int


class LiteLlm(PublishedTest):
    def routes(self):
        return {"openai/demo": self.base_url, "hosted_vllm/demo": self.base_url, "anthropic/demo": self.address}

    def ask(self, model, messages, **fields):
        return litellm.completion(model=model, api_base=self.routes()[model], api_key=KEY, messages=messages,
                                  temperature=0, max_tokens=100, max_retries=0, **fields)

    def test_tool(self):
        for model in self.routes():
            published.calls.clear()
            messages = [{"role": "user", "content": QUESTION}]
            first = self.ask(model, messages, tools=TOOLS).choices[0]
            self.assertEqual(first.finish_reason, "tool_calls", model)
            [call] = first.message.tool_calls
            messages += [first.message.model_dump(exclude_none=True),
                         {"role": "tool", "tool_call_id": call.id,
                          "content": weather(**json.loads(call.function.arguments))}]
            self.check_weather(self.ask(model, messages, tools=TOOLS).choices[0].message.content)

    def test_tool_in_a_stream(self):
        for model in self.routes():
            chunks = list(self.ask(model, [{"role": "user", "content": QUESTION}], tools=TOOLS, stream=True))
            [call] = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls
            self.assertEqual(json.loads(call.function.arguments), {"city": "Paris"}, model)

    def test_schema(self):
        litellm.enable_json_schema_validation = True
        answer = self.ask("openai/demo", [{"role": "user", "content": "Velina is 41 years old. Who is she?"}],
                          response_format=Person)
        self.assertEqual(Person.model_validate_json(answer.choices[0].message.content), Person(name="Velina", age=41))

    def test_response(self):
        answer = litellm.responses(model="openai/demo", api_base=self.base_url, api_key=KEY, input=QUESTION,
                                   max_output_tokens=100, temperature=0,
                                   tools=[{"type": "function"} | TOOLS[0]["function"]])
        [call] = [item for item in answer.output if item.type == "function_call"]
        self.assertEqual(json.loads(call.arguments), {"city": "Paris"})


if __name__ == "__main__":
    published.main()
