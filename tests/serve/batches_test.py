#!/usr/bin/env python3
"""A server that is killed (SIGKILL) at random points of uploads and batches: each line of a batch is answered once, with
the bytes of a run that nothing disturbed, and files are there whole or not at all. 10 kills, or 200 with
PANDO_SLOW_TESTS=1.

usage: batches_test.py PANDO
"""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PANDO = str(pathlib.Path(sys.argv[1]).resolve())
N_KILLS = 200 if os.environ.get("PANDO_SLOW_TESTS") == "1" else 10
KILLS_PER_BATCH = 5
N_LINES = 80
SEED = int(os.environ.get("PANDO_SEED", random.randrange(1 << 32)))
BOUNDARY = "a-boundary-of-the-test"


def form(data):
    return (f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n"
            "Content-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\r\n").encode() + data + \
        f"\r\n--{BOUNDARY}--\r\n".encode()


def lines(random_source):
    """Requests that share beginnings; some sample without a seed, some fail."""
    made = []
    for i in range(N_LINES):
        body = {"prompt": f"Text {random_source.randrange(4)} and question {i}", "max_tokens": random_source.randrange(1, 40),
                "temperature": random_source.choice([0, 0.8]), "ignore_eos": True, "logprobs": 2}
        if random_source.random() < 0.05:
            body["top_p"] = 7
        made.append(json.dumps({"custom_id": f"line {i}", "method": "POST", "url": "/v1/completions", "body": body}))
    return "\n".join(made).encode()


class Server:
    def __init__(self, model, state):
        self.process = subprocess.Popen([PANDO, "serve", "--model", model, "--port", "0", "--threads", "1", "--policy", "fcfs",
                                         "--kv-memory", "64MiB", "--log", "none",
                                         "--state", state], stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if found := re.search(r"http://\S+:(\d+)", line):
                self.port = int(found[1])
                return
        raise RuntimeError("the server said no address: " + "".join(said))

    def ask(self, method, path, body=None, kind="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": kind} if body is not None else {})
            response = connection.getresponse()
            data = response.read()
            if response.status != 200:
                raise RuntimeError(f"{method} {path}: {response.status} {data}")
            return data
        finally:
            connection.close()

    def get(self, path):
        return json.loads(self.ask("GET", path))

    def upload(self, data):
        return json.loads(self.ask("POST", "/v1/files", form(data), f"multipart/form-data; boundary={BOUNDARY}"))["id"]

    def create(self, file):
        return json.loads(self.ask("POST", "/v1/batches", json.dumps(
            {"input_file_id": file, "endpoint": "/v1/completions", "completion_window": "24h"})))["id"]

    def wait(self, batch):
        for _ in range(6000):
            found = self.get(f"/v1/batches/{batch}")
            if found["status"] not in ("validating", "in_progress", "finalizing"):
                return found
            time.sleep(0.02)
        raise RuntimeError(f"the batch does not end: {found}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        self.process.stderr.close()


def results(server, batch):
    """The lines of both outputs, without counts that depend on what was cached."""
    outputs = []
    for name in ("output_file_id", "error_file_id"):
        data = server.ask("GET", f"/v1/files/{batch[name]}/content") if batch[name] else b""
        made = [json.loads(line) for line in data.splitlines()]
        for line in made:
            line["response"]["body"].get("usage", {}).pop("prompt_tokens_details", None)
        outputs.append([json.dumps(line) for line in made])
    return outputs


class Uploads:
    """A file that is being uploaded when the server is killed."""

    def __init__(self):
        self.data = os.urandom(3 << 20)
        self.known = set()  # ids that the server has said

    def begin(self, server):
        def upload():
            try:
                self.known.add(server.upload(self.data))
            except (OSError, http.client.HTTPException, RuntimeError):
                pass
        self.thread = threading.Thread(target=upload)
        self.thread.start()

    def end(self):
        self.thread.join()

    def check(self, test, server, inputs):
        """Whatever was said is there, whatever is there is whole; it is then deleted."""
        listed = {file["id"] for file in server.get("/v1/files?purpose=batch")["data"]} - inputs
        test.assertLessEqual(self.known, listed)
        for file in listed:
            test.assertEqual(server.ask("GET", f"/v1/files/{file}/content"), self.data)
            server.ask("DELETE", f"/v1/files/{file}")
        self.known.clear()


class Killed(unittest.TestCase):
    def setUp(self):
        print(f"PANDO_SEED={SEED}")
        self.random = random.Random(SEED)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model"
        subprocess.run([PANDO, "make-model", "--shape", "tiny-qwen3", "--out", self.model], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server = None
        self.addCleanup(lambda: self.server and self.server.process.poll() is None and self.server.kill())

    def start(self, state):
        self.server = Server(self.model, state)
        return self.server

    def undisturbed(self, state, batch):
        """Runs the same batch in a copy of the state."""
        copy = self.folder / "copy"
        shutil.copytree(state, copy)
        server = self.start(copy)
        begun = time.monotonic()
        expected = results(server, server.wait(batch))
        seconds = time.monotonic() - begun
        server.kill()
        shutil.rmtree(copy)
        return expected, seconds

    def test_nothing_is_lost_or_doubled(self):
        state, inputs, uploads = self.folder / "state", set(), Uploads()
        n_kills = n_in_batches = 0
        # More kills where all of them found their batch over, as on a machine that stood still.
        while n_kills < N_KILLS or (n_in_batches == 0 and n_kills < 10 * N_KILLS):
            server = self.start(state)
            file = server.upload(lines(self.random))
            inputs.add(file)
            batch = server.create(file)
            server.kill()
            n_kills += 1
            expected, seconds = self.undisturbed(state, batch)
            self.assertEqual(sum(map(len, expected)), N_LINES)
            for _ in range(min(KILLS_PER_BATCH, max(N_KILLS - n_kills, 1))):
                server = self.start(state)
                uploads.check(self, server, inputs)
                uploads.begin(server)
                time.sleep(self.random.uniform(0, seconds / 3))
                n_in_batches += server.get(f"/v1/batches/{batch}")["status"] == "in_progress"
                server.kill()
                uploads.end()
                n_kills += 1
            server = self.start(state)
            uploads.check(self, server, inputs)
            done = server.wait(batch)
            self.assertEqual(done["status"], "completed")
            self.assertEqual(results(server, done), expected)
            counts = done["request_counts"]
            self.assertEqual([counts["completed"], counts["failed"]], [len(output) for output in expected])
            server.kill()
        print(f"{n_kills} kills, {n_in_batches} of them in the middle of a batch")
        self.assertGreater(n_in_batches, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
