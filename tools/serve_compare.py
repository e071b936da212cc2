#!/usr/bin/env python3
"""Requests per second of servers that speak the OpenAI API, in turn on one machine.

    tools/serve_compare.py pando=http://127.0.0.1:8000 other=http://127.0.0.1:8080

Prompts are token ids that share a beginning, one token is asked for. Each server gets them one at a
time and all at once, and is kept as it is between: start it with the options that are to be compared.
The same server may be named twice with other options, on another port; only one works at a time.
The last lines are how often faster the first server's better way is than each other's better way.
"""

import argparse
import http.client
import json
import random
import statistics
import sys
import threading
import time
import urllib.parse


class Failed(Exception):
    pass


def complete(connection, model, tokens):
    """Sends one prompt, [int], and checks that one token came back."""
    body = json.dumps({"model": model, "prompt": tokens, "max_tokens": 1, "temperature": 0})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read().decode()
    if response.status != 200:
        raise Failed(f"status {response.status}: {text[:300]}")
    n_tokens = json.loads(text).get("usage", {}).get("completion_tokens")
    if n_tokens != 1:
        raise Failed(f"{n_tokens} tokens, expected 1: {text[:300]}")


def connect(url):
    parts = urllib.parse.urlsplit(url)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=1800)


def model_of(url):
    connection = connect(url)
    connection.request("GET", "/v1/models")
    return json.loads(connection.getresponse().read())["data"][0]["id"]


def one_at_a_time(url, model, prompts):
    connection = connect(url)
    for tokens in prompts:
        complete(connection, model, tokens)
    connection.close()


def all_at_once(url, model, prompts):
    errors = []

    def ask(tokens):
        try:
            complete(connect(url), model, tokens)
        except (Failed, OSError, ValueError) as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(tokens,)) for tokens in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Failed(f"{len(errors)} of {len(prompts)} requests: {errors[0]}")


WAYS = {"one at a time": one_at_a_time, "all at once": all_at_once}


def prompts_of(args, seed):
    draw = random.Random(seed)
    tokens = lambda n: [draw.randrange(args.first_token, args.vocab) for _ in range(n)]
    shared = tokens(args.shared)
    return [shared + tokens(args.own) for _ in range(args.requests)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=URL")
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--shared", type=int, default=512, help="tokens that all prompts begin with")
    parser.add_argument("--own", type=int, default=64, help="tokens behind those")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--vocab", type=int, default=32000, help="tokens are below this")
    parser.add_argument("--first-token", type=int, default=1000, help="and at least this")
    args = parser.parse_args()
    servers = [server.split("=", 1) for server in args.servers]
    if any(len(server) != 2 for server in servers):
        parser.error(f"expected NAME=URL, found {args.servers}")

    rates = {(name, way): [] for name, _ in servers for way in WAYS}
    for repetition in range(args.repetitions + 1):  # the first does not count
        turns = [(name, url, way) for name, url in servers for way in WAYS]
        random.Random(repetition).shuffle(turns)
        for turn, (name, url, way) in enumerate(turns):
            prompts = prompts_of(args, repetition * 1000 + turn)  # new to every cache
            try:
                model = model_of(url)
                start = time.monotonic()
                WAYS[way](url, model, prompts)
            except (Failed, OSError, ValueError, LookupError) as error:
                sys.exit(f"{name}, {way}: {error}")
            if repetition > 0:
                rates[name, way].append(len(prompts) / (time.monotonic() - start))

    print(f"| server | {' | '.join(WAYS)} |\n|{'---|' * (len(WAYS) + 1)}")
    for name, _ in servers:
        cells = [f"{statistics.median(rates[name, way]):.3g}" for way in WAYS]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\nRequests per second, medians of {args.repetitions}: {args.requests} prompts of {args.shared} shared"
          f" and {args.own} own tokens, one token asked for.\n")
    best = {name: max(statistics.median(rates[name, way]) for way in WAYS) for name, _ in servers}
    ours = servers[0][0]
    for name, _ in servers[1:]:
        print(f"{ours} / {name}: {best[ours] / best[name]:.2f}")


if __name__ == "__main__":
    main()
