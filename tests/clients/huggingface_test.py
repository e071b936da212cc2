#!/usr/bin/env python3
"""huggingface_hub's InferenceClient: chats, tools, and a schema as the `value` of its response format.

usage: huggingface_test.py PANDO [ADDRESS]
"""
import json

import huggingface_hub

import published
from published import KEY, QUESTION, PublishedTest, weather

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "Tells the weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]


class HuggingFace(PublishedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = huggingface_hub.InferenceClient(base_url=cls.base_url, api_key=KEY)

    def ask(self, messages, **fields):
        return self.client.chat_completion(messages, model="demo", temperature=0, max_tokens=100, **fields)

    def test_tool(self):
        messages = [{"role": "user", "content": QUESTION}]
        first = self.ask(messages, tools=TOOLS).choices[0].message
        [call] = first.tool_calls
        messages += [first, {"role": "tool", "tool_call_id": call.id,
                             "content": weather(**json.loads(call.function.arguments))}]
        self.check_weather(self.ask(messages, tools=TOOLS).choices[0].message.content)

    def test_tool_in_a_stream(self):
        chunks = list(self.ask([{"role": "user", "content": QUESTION}], tools=TOOLS, tool_choice="required", stream=True))
        calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
        self.assertEqual(json.loads("".join(call.function.arguments for call in calls)), {"city": "Paris"})

    def test_schema(self):
        asked = [{"role": "user", "content": "Velina is 41 years old. Who is she?"}]
        for form in ({"type": "json", "value": SCHEMA},
                     {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}):
            answer = self.ask(asked, response_format=form).choices[0].message.content
            self.assertEqual(json.loads(answer), {"name": "Velina", "age": 41})


if __name__ == "__main__":
    published.main()
