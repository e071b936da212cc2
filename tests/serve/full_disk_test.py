#!/usr/bin/env python3
"""A server whose state is on a disk that is full: it refuses with an error what it cannot keep, keeps what it promised,
and goes on once there is room. The disk is a small tmpfs in a mount namespace of its own. Exit code 77: there can be none.

usage: full_disk_test.py PANDO
"""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from batches_test import BOUNDARY, PANDO, Server, form, results

DISK_BYTES = 8 << 20
ROOM_BYTES = 128 << 10  # for a batch to begin, and less than its results take
N_LINES = 20
IN_NAMESPACE = "PANDO_HAS_MOUNTS"


def lines():
    """Their results are larger than their disk has room for while it is full."""
    bodies = [{"prompt": f"Text and question {i} " + "x" * 100, "max_tokens": 8, "temperature": 0, "ignore_eos": True,
               "echo": True, "logprobs": 5} for i in range(N_LINES)]
    return "\n".join(json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": body})
                     for i, body in enumerate(bodies)).encode()


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.state = self.folder / "state"
        self.state.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.state], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", self.state], check=True))
        self.model = self.folder / "model"
        subprocess.run([PANDO, "make-model", "--shape", "tiny-qwen3", "--out", self.model], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server = Server(self.model, self.state)
        self.addCleanup(lambda: self.server.process.poll() is None and self.server.kill())

    def fill(self):
        with open(self.state / "filler", "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def stuck_batch(self, file):
        """A batch that has begun, and whose results fill the disk."""
        self.fill()
        filler = self.state / "filler"
        os.truncate(filler, filler.stat().st_size - ROOM_BYTES)
        batch = self.server.create(file)
        for _ in range(6000):
            room = os.statvfs(self.state)  # a result that was cut off is taken back
            if room.f_bfree * room.f_bsize < ROOM_BYTES / 4:
                break
            time.sleep(0.01)
        else:
            self.fail("the results have not filled the disk")
        self.fill()
        return batch

    def free(self):
        (self.state / "filler").unlink()

    def refused(self, path, body, kind="application/json"):
        """The error of a request, whose status is 500."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            response = connection.getresponse()
            answer = json.loads(response.read())
            self.assertEqual(response.status, 500, answer)
            return answer["error"]
        finally:
            connection.close()

    def test_the_promised_is_kept(self):
        server = self.server
        data = lines()
        file = server.upload(data)
        expected = results(server, server.wait(server.create(file)))
        response = json.dumps({"input": "P", "max_output_tokens": 4})
        stored = json.loads(server.ask("POST", "/v1/responses", response))["id"]
        batch = self.stuck_batch(file)
        error = self.refused("/v1/files", form(os.urandom(1 << 20)), f"multipart/form-data; boundary={BOUNDARY}")
        self.assertEqual(error["code"], "io", error)
        error = self.refused("/v1/responses", response)
        self.assertEqual(error["code"], "io", error)
        self.assertEqual(server.ask("GET", f"/v1/files/{file}/content"), data)
        self.assertEqual(server.get(f"/v1/responses/{stored}")["id"], stored)
        self.assertEqual(len(server.get("/v1/files")["data"]), 2)  # the input and its results
        server.ask("POST", "/v1/completions", json.dumps({"prompt": "P", "max_tokens": 4}))
        time.sleep(1)  # the batch tries again and again
        self.assertIn(server.get(f"/v1/batches/{batch}")["status"], ("validating", "in_progress", "finalizing"))
        self.free()
        done = server.wait(batch)
        self.assertEqual(done["status"], "completed")
        self.assertEqual(self.without_ids(results(server, done)), self.without_ids(expected))
        self.assertIn("id", json.loads(server.ask("POST", "/v1/responses", response)))
        server.upload(os.urandom(1 << 20))

    def test_a_kill_on_a_full_disk(self):
        file = self.server.upload(lines())
        batch = self.stuck_batch(file)
        self.server.kill()
        try:
            self.server = Server(self.model, self.state)
        except RuntimeError as refused:  # it says why it does not start
            self.assertIn("full", str(refused))
            self.free()
            self.server = Server(self.model, self.state)
        else:
            self.free()
        done = self.server.wait(batch)
        self.assertEqual([done["status"], done["request_counts"]["completed"]], ["completed", N_LINES])

    @staticmethod
    def without_ids(outputs):
        """Each batch has requests and a time of its own."""
        plain = []
        for output in outputs:
            for line in map(json.loads, output):
                body = line["response"]["body"]
                plain.append((line["custom_id"], line["response"]["status_code"], body["choices"]))
        return plain


if __name__ == "__main__":
    if IN_NAMESPACE not in os.environ:
        own = ["unshare", "--mount"] + ([] if os.getuid() == 0 else ["--user", "--map-root-user"])
        if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
            print("skipped: this system gives no mount namespace")
            sys.exit(77)
        os.environ[IN_NAMESPACE] = "1"
        os.execvp(own[0], [*own, sys.executable, *sys.argv])
    unittest.main(argv=sys.argv[:1])
