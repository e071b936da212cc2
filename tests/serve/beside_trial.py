#!/usr/bin/env python3
"""Checks an embedding model beside a chat model in one server. OpenAI's client asks from 8 threads; every answer must
equal that of its model alone. Then prints the time between tokens of a chat, with and without embeddings of a long text.

usage: beside_trial.py PANDO CHAT EMBEDDING    (needs the package `openai`)

CHAT and EMBEDDING are GGUF files or directories. The long text goes to random weights in the shape of ModernBERT-base: 150
million parameters, 8,192 positions.
"""
import concurrent.futures
import random
import statistics
import subprocess
import sys
import tempfile
import time

from trial_server import Server, server_of_models

KV_MEMORY = 256 << 20
N_REQUESTS, N_TOKENS, N_LONG = 96, 96, 8192
PROMPTS = ["The capital of France is", "def fibonacci(n):", "Water boils at", "Once upon a time", "1, 2, 3, 4,"]
TEXTS = ["An aspen is a tree.", "A poplar grows by the river. " * 20, "The red car needs fuel.", "Oak groves", "x" * 400]


def answer(client, name, text):
    if name == "chat":
        completion = client.completions.create(model=name, prompt=text, max_tokens=24, temperature=0)
        return completion.choices[0].text
    return client.embeddings.create(model=name, input=text, encoding_format="float").data[0].embedding


def mixed(chat, embedding):
    asked = [("chat", text) for text in PROMPTS] + [("embedding", text) for text in TEXTS]
    expected = {}
    for name, path in (("chat", chat), ("embedding", embedding)):
        with Server(PANDO, "--model", path, "--model-name", name, "--kv-memory", str(KV_MEMORY)) as server:
            expected |= {pair: answer(server.client, *pair) for pair in asked if pair[0] == name}
    both = {"chat": chat, "embedding": embedding}
    with server_of_models(PANDO, both, KV_MEMORY) as server, concurrent.futures.ThreadPoolExecutor(8) as threads:
        chosen = [random.choice(asked) for _ in range(N_REQUESTS)]
        found = list(threads.map(lambda pair: answer(server.client, *pair), chosen))
    wrong = [pair for pair, one in zip(chosen, found) if one != expected[pair]]
    n_chats = sum(pair[0] == "chat" for pair in chosen)
    print(f"{n_chats} completions and {N_REQUESTS - n_chats} embeddings from 8 threads, {len(wrong)} wrong answers")
    if wrong:
        sys.exit(f"wrong: {wrong[:3]}")


def gaps(client, is_over=lambda: False, **fields):
    """Milliseconds between tokens of a stream, counted only until is_over() is true."""
    found, before = [], None
    stream = client.completions.create(model="chat", prompt="Once upon a time", max_tokens=N_TOKENS, temperature=0,
                                       stream=True, extra_body={"ignore_eos": True} | fields)
    for _ in stream:
        now = time.monotonic()
        if before is not None and not is_over():
            found.append(1000 * (now - before))
        before = now
    return found


def embed_long(client, ids):
    begin = time.monotonic()
    client.embeddings.create(model="long", input=[ids], extra_body={"add_special_tokens": False})
    return time.monotonic() - begin


def latency(chat, long):
    ids = random.Random(3).choices(range(1000, 20000), k=N_LONG)
    both = {"chat": chat, "long": long}
    classes = "--deadline-class", "quick=500,50"
    with (server_of_models(PANDO, both, KV_MEMORY, *classes) as server,
          concurrent.futures.ThreadPoolExecutor(1) as threads):
        gaps(server.client)
        print(f"the embedding of {N_LONG} tokens alone takes {embed_long(server.client, ids):.1f} s")
        for fields in 2 * ({}, {"deadline_class": "quick"}):
            report("alone", gaps(server.client, **fields), fields)
            long_one, measured = threads.submit(embed_long, server.client, ids), []
            while not long_one.done():
                measured += gaps(server.client, long_one.done, **fields)
            report(f"beside it, which takes {long_one.result():.1f} s", measured, fields)


def report(case, measured, fields):
    p95 = statistics.quantiles(measured, n=20)[-1]
    print(f"{fields.get('deadline_class', 'default'):8} {len(measured)} times between tokens, {case}: median "
          f"{statistics.median(measured):.1f} ms, p95 {p95:.1f} ms, longest {max(measured):.1f} ms")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    PANDO, CHAT, EMBEDDING = sys.argv[1:]
    mixed(CHAT, EMBEDDING)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PANDO, "make-model", "--shape", "modernbert-base", "--out", folder + "/long"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        latency(CHAT, folder + "/long")
