#!/usr/bin/env python3
"""DSPy: signatures by its adapters for chats and for JSON, over chats and responses, and ReAct with two tools.

usage: dspy_test.py PANDO [ADDRESS]
"""
import dspy

import published
from published import KEY, QUESTION, PublishedTest, add, weather


class Extract(dspy.Signature):
    """Find the person in the note."""

    note: str = dspy.InputField()
    name: str = dspy.OutputField()
    age: int = dspy.OutputField()


class Dspy(PublishedTest):
    def model(self, **fields):
        return dspy.LM("openai/demo", api_base=self.base_url, api_key=KEY, temperature=0, max_tokens=200, cache=False,
                       num_retries=0, **fields)

    def test_signature(self):
        for kind in ("chat", "responses"):
            with dspy.context(lm=self.model(model_type=kind)):
                found = dspy.Predict(Extract)(note="Velina is 41 years old.")
            self.assertEqual((found.name, found.age), ("Velina", 41))
            with dspy.context(lm=self.model(model_type=kind), adapter=dspy.JSONAdapter()):
                found = dspy.Predict("question -> answer")(question="What is the capital of France?")
            self.assertEqual(found.answer, "Paris")

    def test_tools(self):
        with dspy.context(lm=self.model()):
            found = dspy.ReAct("question -> answer", tools=[weather, add], max_iters=3)(question=QUESTION)
        self.check_weather(found.answer)


if __name__ == "__main__":
    published.main()
