#!/usr/bin/env python3
"""A server that finds less and less memory: whatever it is asked it answers, with an error where there is no room, or
it closes the connection. It never ends, and when there is memory again its answers have the same bits.

usage: memory_limits_test.py PANDO
"""
import http.client
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

PANDO = str(pathlib.Path(sys.argv[1]).resolve())
MIB = 1 << 20
ROOM = [0, 1, 2, 4, 6, 9, 13, 20, 30, 45, 70, 100, 150, 220, 330, 500]  # MiB beyond what it has
PROBE = ("/v1/completions", {"prompt": "Probe", "max_tokens": 8, "temperature": 0, "logprobs": 5, "ignore_eos": True})
TEXT = "all the words of a long text "
REQUESTS = [
    ("/tokenize", {"prompt": TEXT * (10 * MIB // len(TEXT))}),
    ("/tokenize", {"prompt": TEXT * (MIB // len(TEXT)), "return_token_strs": True}),
    ("/detokenize", {"tokens": list(range(60, 120)) * 20000}),
    ("/v1/completions", {"prompt": list(range(60, 120)) * 20000}),
    ("/v1/completions", {"prompt": TEXT * 16, "echo": True, "logprobs": 20, "max_tokens": 8}),
    ("/v1/completions", {"prompt": "P", "max_tokens": 200, "n": 16, "logprobs": 20, "stream": True, "ignore_eos": True}),
    ("/v1/embeddings", {"input": [f"text {i}" for i in range(500)]}),
    ("/v1/rerank", {"query": "q", "documents": [f"text {i}" for i in range(200)]}),
    ("/v1/answers", {"context": TEXT * 4, "questions": [f"What is {i}?" for i in range(64)], "max_tokens": 4}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": TEXT * 8}]}] * 4,
                              "max_tokens": 4}),
    ("/v1/completions", [[[[1, 2, {"a": [3]}]]] * 50000]),
    ("/embed", {"inputs": [f"text {i}" for i in range(500)]}),
    ("/generate_stream", {"inputs": TEXT * 4, "parameters": {"max_new_tokens": 100, "top_n_tokens": 5, "ignore_eos": True}}),
    ("/api/chat", {"messages": [{"role": "user", "content": TEXT * 16}], "options": {"num_predict": 50}}),
    ("/v2/chat", {"messages": [{"role": "user", "content": TEXT * 16}], "max_tokens": 50, "stream": True}),
    ("/v2/embed", {"texts": [TEXT] * 200, "embedding_types": ["float", "base64"]}),
    ("/completion", {"prompt": TEXT * 16, "n_predict": 50, "return_tokens": True}),
]


class Server:
    def __init__(self, folder):
        model = folder / "model"
        subprocess.run([PANDO, "make-model", "--shape", "tiny-qwen3", "--out", model], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen([PANDO, "serve", "--model", model, "--port", "0", "--threads", "1", "--policy",
                                         "fcfs", "--kv-memory", "64MiB", "--log", "none"],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"http://\S+:(\d+)", line):
                self.port = int(found[1])
                return
        raise RuntimeError("the server said no address")

    def ask(self, path, body):
        """The status and the bytes, or None where the connection was closed. Where an allocation takes a system call, a
        long answer takes its time: nobody waits for it here."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        except (http.client.HTTPException, ConnectionError, TimeoutError):
            return None
        finally:
            connection.close()

    def limit(self, n_bytes):
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (n_bytes, resource.RLIM_INFINITY))

    def address_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmSize:\s*(\d+) kB", status)[1]) << 10

    def end(self):
        self.limit(resource.RLIM_INFINITY)
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class MemoryLimits(unittest.TestCase):
    def test_nothing_ends_the_server(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder))
            try:
                seen = self.squeeze(server)
                self.assertEqual(server.end(), 0)
            finally:
                if server.process.poll() is None:
                    server.process.kill()
        print("answers by status:", dict(sorted(seen.items(), key=str)))
        self.assertGreater(seen.get(200, 0), 0)
        self.assertGreater(seen.get(429, 0) + seen.get("closed", 0), 0, "no limit was felt")

    def squeeze(self, server):
        def probe():
            return json.loads(server.ask(*PROBE)[1])["choices"]

        before = probe()
        seen = {}
        for room in ROOM:
            server.limit(server.address_bytes() + room * MIB)
            for path, body in REQUESTS:
                answer = server.ask(path, body)
                self.assertIsNone(server.process.poll(), f"ended at {path} with {room} MiB to spare")
                status = answer[0] if answer else "closed"
                seen[status] = seen.get(status, 0) + 1
                self.assertIn(status, ("closed", 200, 400, 413, 429, 500), f"{path} with {room} MiB to spare")
            server.limit(resource.RLIM_INFINITY)
            self.assertEqual(probe(), before, f"after {room} MiB to spare")
        return seen


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
