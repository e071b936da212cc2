"""Questions about one text, from Python: answered together, streamed, and scored.

usage: answer.py [MODEL]
"""

import sys

import pando

CONTEXT = "Velina works as a tailor. The Mofti lamp costs $12.40."
QUESTIONS = ["What is the profession of Velina?", "What does the Mofti lamp cost?"]

with pando.Engine(sys.argv[1] if len(sys.argv) > 1 else None) as engine:  # None: the demo model
    for question, answer in zip(QUESTIONS, engine.answer(CONTEXT, QUESTIONS, max_tokens=16)):
        print(question + answer.text)

    with engine.stream(CONTEXT, QUESTIONS) as stream:
        for event in stream:
            print(f"question {event.question} goes on with {event.text!r}")

    tokens, logprobs = engine.prompt_logprobs(CONTEXT)
    print(f"ln p of {len(tokens)} tokens: {logprobs.sum():.1f}, least likely {logprobs.min():.1f}")
