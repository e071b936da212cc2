"""Servers and routers as programs, and requests to them: for route_test.py and scripts/route-trial."""
import http.client
import json
import re
import signal
import subprocess
import threading
import time


class Program:
    """A pando that serves; `prefix` goes before it, to run it elsewhere."""

    def __init__(self, pando, *arguments, prefix=(), host="127.0.0.1", port=0):
        self.host, self.lines = host, []
        self.process = subprocess.Popen([*prefix, pando, *arguments, "--host", host, "--port", str(port)],
                                        stderr=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r" at http://\S+:(\d+)$", line.strip()):
                self.port = int(found[1])
                break
        if self.port is None:
            raise RuntimeError("no address: " + "".join(self.lines))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, seconds=60):
        """The exit code after SIGTERM; None where it had ended before."""
        if self.process.poll() is not None:
            return None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)


def replica(pando, *arguments, kv_memory="64MiB", **where):
    return Program(pando, "serve", "--threads", "1", "--policy", "fcfs", "--kv-memory", kv_memory, "--log", "errors",
                   *arguments, **where)


def router(pando, urls, *arguments, **where):
    return Program(pando, "route", *(word for url in urls for word in ("--replica", url)), "--log", "errors", *arguments,
                   **where)


def ask(program, path, body=None, method=None, seconds=120):
    """Status, headers and text of an answer."""
    connection = http.client.HTTPConnection(program.host, program.port, timeout=seconds)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, data,
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read().decode()
    finally:
        connection.close()


class Asked:
    """A request on a thread of its own. `text`: its answer, or what was wrong."""

    def __init__(self, program, path, body, seconds=180):
        self.program, self.path, self.body, self.seconds = program, path, body, seconds
        self.begun = threading.Event()  # some bytes of a stream have come
        self.text, self.failure, self.first_s, self.replica = "", None, None, None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        start = time.monotonic()
        connection = http.client.HTTPConnection(self.program.host, self.program.port, timeout=self.seconds)
        try:
            connection.request("POST", self.path, json.dumps(self.body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.replica = response.headers.get("X-Pando-Routed-To")
            parts = []
            while piece := response.read1(65536):
                if not parts:
                    self.first_s = time.monotonic() - start
                    self.begun.set()
                parts.append(piece)
            self.text = b"".join(parts).decode()
            if response.status != 200:
                self.failure = f"status {response.status}: {self.text[:300]}"
        except (OSError, http.client.HTTPException) as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self.begun.set()
            connection.close()

    def join(self):
        self.thread.join(self.seconds + 10)
        return self


# Two equal answers differ in these: ids, times, and what was in a cache.
OWN = [(re.compile(r"\b([a-z]+[-_])[0-9a-f]{16}\b"), r"\1ID"), (re.compile(r'"(created|created_at|completed_at)":\d+'), r'"\1":0'),
       (re.compile(r'"(cached_tokens|cache_write_tokens|cache_read_input_tokens|cache_creation_input_tokens|input_tokens)":\d+'), r'"\1":0')]


def told(text):
    """An answer as it is compared. Answers of one stream may come in any order, each with its events in order."""
    for pattern, instead in OWN:
        text = pattern.sub(instead, text)
    if not text.startswith("data: "):
        return text
    blocks = text.split("\n\n")
    return "\n\n".join(sorted(blocks, key=choice_of))  # a stable order


def choice_of(block):
    """The number of the answer that a block is about; a high one where it is about none."""
    if not block.startswith("data: {"):
        return 1 << 30
    choices = json.loads(block[len("data: "):]).get("choices")
    return choices[0]["index"] if choices else 1 << 30


def bodies(n, n_tokens):
    """[n] paths and bodies whose answers do not depend on who answers: streams over all doors, some with several answers,
    penalties and stop texts; every fourth is no stream."""
    many = []
    for i in range(n):
        text = f"Velina works as a tailor. Number {i}: what is the profession of Velina?"
        common = {"model": "demo", "stream": i % 4 != 3, "temperature": 1.0}
        chat = {"messages": [{"role": "user", "content": text}], "seed": i, "ignore_eos": True, "max_tokens": n_tokens}
        kind = i % 5
        if kind == 0:
            many.append(("/v1/chat/completions", {**common, **chat, "n": 1 + i % 3,
                                                  "stream_options": {"include_usage": True}} if common["stream"]
                         else {**common, **chat}))
        elif kind == 1:
            many.append(("/v1/completions", {**common, "prompt": text, "seed": i, "ignore_eos": True, "logprobs": 2,
                                             "max_tokens": n_tokens, "presence_penalty": 0.5}))
        elif kind == 2:
            many.append(("/v1/completions", {**common, "prompt": [text, text[5:]], "seed": i, "ignore_eos": True,
                                             "max_tokens": n_tokens, "stop": ["zzqz"]}))
        elif kind == 3:
            many.append(("/v1/messages", {**common, "messages": chat["messages"], "temperature": 0.0, "ignore_eos": True,
                                          "max_tokens": n_tokens}))
        else:
            many.append(("/v1/responses", {**common, "input": text, "temperature": 0.0, "ignore_eos": True,
                                           "max_output_tokens": n_tokens}))
    return many


def differing(asked, expected):
    """Words about each answer that is lost or not the expected one."""
    for one, text in zip(asked, expected):
        if one.failure:
            yield f"{one.path} {one.body.get('seed')}: {one.failure}"
        elif told(one.text) != text:
            yield f"{one.path} {json.dumps(one.body)}\n  {told(one.text)[-600:]}\nexpected\n  {text[-600:]}"
