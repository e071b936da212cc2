#!/usr/bin/env python3
"""Anthropic's Python client: messages, tools, streams, parsed answers, its runner of tools, and counts of tokens.

usage: anthropic_test.py PANDO [ADDRESS]
"""
import anthropic
import pydantic

import published
from published import KEY, QUESTION, PublishedTest, weather

TOOLS = [{"name": "weather", "description": "Tells the weather in a city.",
          "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]


class Person(pydantic.BaseModel):
    name: str
    age: int


class Anthropic(PublishedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = anthropic.Anthropic(base_url=cls.address, api_key=KEY, max_retries=0)

    def asked(self, messages, **fields):
        return dict(model="demo", max_tokens=100, messages=messages, extra_body={"temperature": 0}) | fields

    def test_message(self):
        asked = self.asked([{"role": "user", "content": "Say hello to Velina."}], system="Answer with one sentence.")
        answer = self.client.messages.create(**asked)
        self.assertEqual(answer.stop_reason, "end_turn")
        self.assertIn("Velina", answer.content[0].text)
        with self.client.messages.stream(**asked) as stream:
            self.assertEqual("".join(stream.text_stream), answer.content[0].text)
            self.assertEqual(stream.get_final_message().usage.output_tokens, answer.usage.output_tokens)
        del asked["max_tokens"], asked["extra_body"]
        self.assertEqual(self.client.messages.count_tokens(**asked).input_tokens,
                         answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0))

    def test_tool(self):
        messages = [{"role": "user", "content": QUESTION}]
        first = self.client.messages.create(**self.asked(messages, tools=TOOLS))
        self.assertEqual(first.stop_reason, "tool_use")
        call = first.content[-1]
        messages += [{"role": "assistant", "content": first.content},
                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id,
                                                   "content": weather(**call.input)}]}]
        self.check_weather(self.client.messages.create(**self.asked(messages, tools=TOOLS)).content[0].text)

    def test_tool_choice(self):
        answer = self.client.messages.create(**self.asked([{"role": "user", "content": "Hello!"}], tools=TOOLS,
                                                          tool_choice={"type": "any"}))
        self.assertEqual((answer.content[-1].name, list(answer.content[-1].input)), ("weather", ["city"]))

    def test_tool_in_a_stream(self):
        with self.client.messages.stream(**self.asked([{"role": "user", "content": QUESTION}], tools=TOOLS)) as stream:
            kinds = {event.type for event in stream}
            answer = stream.get_final_message()
        self.assertLessEqual({"input_json", "content_block_stop", "message_stop"}, kinds)
        self.assertEqual(answer.content[-1].input, {"city": "Paris"})

    def test_runner_of_tools(self):
        runner = self.client.beta.messages.tool_runner(**self.asked(
            [{"role": "user", "content": QUESTION}], tools=[anthropic.beta_tool(weather)]))
        self.check_weather(runner.until_done().content[0].text)

    def test_parse(self):
        answer = self.client.messages.parse(**self.asked(
            [{"role": "user", "content": "Velina is 41 years old. Who is she?"}], output_format=Person))
        self.assertEqual(answer.parsed_output, Person(name="Velina", age=41))

    def test_errors(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**self.asked([{"role": "user", "content": "Q"}], model="other"))
        with self.assertRaises(anthropic.BadRequestError) as refused:
            self.client.messages.create(**self.asked([{"role": "user", "content": "Q"}], extra_body={"temperature": -1}))
        self.assertIn("temperature", str(refused.exception))


if __name__ == "__main__":
    published.main()
