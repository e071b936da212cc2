#!/usr/bin/env python3
"""The openai Python client with tools, parsed answers and responses.

usage: openai_tools_test.py PANDO [ADDRESS]
"""
import json
import typing

import openai
import pydantic

import published
from published import KEY, QUESTION, PublishedTest, weather

FUNCTION = {"name": "weather", "description": "Tells the weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                           "additionalProperties": False}}
TOOLS = [{"type": "function", "function": FUNCTION}]
FLAT_TOOLS = [{"type": "function", "strict": True} | FUNCTION]


class Weather(pydantic.BaseModel):
    """Tells the weather in a city."""
    city: str


class Person(pydantic.BaseModel):
    name: str
    age: int
    job: typing.Literal["tailor", "baker", "smith"]


NOTE = "Velina is 41 years old and bakes bread for a living. Who is she?"


class OpenAi(PublishedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.base_url, api_key=KEY, max_retries=0)

    def chat(self, messages, **fields):
        return self.client.chat.completions.create(model="demo", messages=messages, temperature=0, max_tokens=100,
                                                   **fields)

    def test_chat_with_a_tool(self):
        messages = [{"role": "user", "content": QUESTION}]
        first = self.chat(messages, tools=TOOLS).choices[0]
        self.assertEqual(first.finish_reason, "tool_calls")
        [call] = first.message.tool_calls
        messages += [first.message, {"role": "tool", "tool_call_id": call.id,
                                     "content": weather(**json.loads(call.function.arguments))}]
        self.check_weather(self.chat(messages, tools=TOOLS).choices[0].message.content)

    def test_tool_choice(self):
        hello = [{"role": "user", "content": "Hello!"}]
        for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
            answer = self.chat(hello, tools=TOOLS, tool_choice=choice).choices[0]
            self.assertEqual(answer.message.tool_calls[0].function.name, "weather", choice)
            self.assertEqual(list(json.loads(answer.message.tool_calls[0].function.arguments)), ["city"])
        self.assertIsNone(self.chat(hello, tools=TOOLS, tool_choice="none").choices[0].message.tool_calls)

    def test_chat_stream(self):
        with self.client.chat.completions.stream(
                model="demo", messages=[{"role": "user", "content": QUESTION}], temperature=0, max_tokens=100,
                tools=[openai.pydantic_function_tool(Weather)]) as stream:
            kinds = {event.type for event in stream}
            answer = stream.get_final_completion().choices[0]
        self.assertIn("tool_calls.function.arguments.done", kinds)
        self.assertEqual(answer.message.tool_calls[0].function.parsed_arguments, Weather(city="Paris"))
        self.assertEqual(answer.finish_reason, "tool_calls")

    def test_chat_parse(self):
        answer = self.client.chat.completions.parse(
            model="demo", messages=[{"role": "user", "content": NOTE}], response_format=Person, temperature=0,
            max_tokens=100).choices[0].message
        self.assertEqual(answer.parsed, Person(name="Velina", age=41, job="baker"))

    def test_chat_parses_calls(self):
        answer = self.client.chat.completions.parse(
            model="demo", messages=[{"role": "user", "content": QUESTION}], temperature=0, max_tokens=100,
            tools=[openai.pydantic_function_tool(Weather)]).choices[0].message
        self.assertEqual(answer.tool_calls[0].function.parsed_arguments, Weather(city="Paris"))

    def respond(self, asked, **fields):
        return self.client.responses.create(model="demo", input=asked, temperature=0, max_output_tokens=100, **fields)

    def test_response(self):
        first = self.respond("Say hello to Velina.", instructions="Answer with one sentence.")
        self.assertEqual(first.status, "completed")
        self.assertIn("Velina", first.output_text)
        second = self.respond("To whom did you say hello?", previous_response_id=first.id)
        self.assertIn("Velina", second.output_text)
        self.assertEqual(self.client.responses.retrieve(second.id).output_text, second.output_text)
        self.client.responses.delete(second.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(second.id)

    def test_response_with_a_tool(self):
        asked = [{"role": "user", "content": QUESTION}]
        first = self.respond(asked, tools=FLAT_TOOLS)
        [call] = [item for item in first.output if item.type == "function_call"]
        result = {"type": "function_call_output", "call_id": call.call_id,
                  "output": weather(**json.loads(call.arguments))}
        whole = self.respond(asked + first.output + [result], tools=FLAT_TOOLS)
        self.check_weather(whole.output_text)
        chained = self.respond([result], tools=FLAT_TOOLS, previous_response_id=first.id)
        self.assertEqual(chained.output_text, whole.output_text)

    def test_response_parse(self):
        answer = self.client.responses.parse(model="demo", input=NOTE, text_format=Person, temperature=0,
                                             max_output_tokens=100)
        self.assertEqual(answer.output_parsed, Person(name="Velina", age=41, job="baker"))

    def test_response_stream(self):
        for asked, done in ((QUESTION, "response.function_call_arguments.done"), (NOTE, "response.output_text.done")):
            with self.client.responses.stream(model="demo", input=asked, temperature=0, max_output_tokens=100,
                                              tools=FLAT_TOOLS if asked == QUESTION else []) as stream:
                kinds = [event.type for event in stream]
                answer = stream.get_final_response()
            self.assertIn(done, kinds)
            self.assertEqual(kinds[-1], "response.completed")
            self.assertEqual([item.type for item in answer.output],
                             ["function_call" if asked == QUESTION else "message"])


if __name__ == "__main__":
    published.main()
