#!/usr/bin/env python3
"""Several published models in one server, with memory for two of three, asked by OpenAI's client from 8 threads: every
answer is that of a server of its model alone.

usage: models_trial.py PANDO MODEL.gguf MODEL.gguf MODEL.gguf    (needs the package `openai`)
"""
import concurrent.futures
import pathlib
import random
import sys
import time

from trial_server import Server, server_of_models

PANDO, FILES = sys.argv[1], [pathlib.Path(name).resolve() for name in sys.argv[2:]]
KV_MEMORY = 128 << 20
N_REQUESTS = 48
PROMPTS = ["The capital of France is", "def fibonacci(n):", "Water boils at", "Once upon a time", "1, 2, 3, 4,",
           "The largest planet is"]


def answer(client, name, prompt):
    completion = client.completions.create(model=name, prompt=prompt, max_tokens=24, temperature=0)
    return completion.choices[0].text


def main():
    names = [path.stem for path in FILES]
    expected = {}
    for name, path in zip(names, FILES):
        with Server(PANDO, "--model", str(path), "--model-name", name, "--kv-memory", str(KV_MEMORY)) as server:
            for prompt in PROMPTS:
                expected[name, prompt] = answer(server.client, name, prompt)
    sizes = [path.stat().st_size + KV_MEMORY for path in FILES]
    memory = sum(sizes) - min(sizes) // 2  # for any two, and not for three
    with server_of_models(PANDO, dict(zip(names, FILES)), KV_MEMORY, "--memory", str(memory)) as server:
        asked = [(random.choice(names), random.choice(PROMPTS)) for _ in range(N_REQUESTS)]
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda pair: answer(server.client, *pair), asked))
        seconds = time.monotonic() - begin
        states = {model.id: model.status["value"] for model in server.client.models.list()}
    wrong = [pair for pair, text in zip(asked, found) if text != expected[pair]]
    loads = sum("is loaded" in line for line in server.said)
    print(f"{N_REQUESTS} requests in {seconds:.1f} s, {loads} loads, {len(wrong)} wrong answers; {states}")
    if wrong or list(states.values()).count("loaded") > 2 or loads < 3:
        sys.exit(f"wrong: {wrong[:3]}\n" + "".join(server.said))


main()
