#!/usr/bin/env python3
"""Prometheus reads the metrics of a server, and promtool finds nothing wrong with them.

usage: prometheus_test.py PANDO
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from server import random_model, server

PANDO = sys.argv[1]
CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: pando
    static_configs: [{{targets: ["{}"]}}]
"""


def get(address):
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        random_model(PANDO, cls.folder / "model")
        cls.address = cls.enterClassContext(server(PANDO, cls.folder / "model"))
        for path, body in (("/v1/completions", {"prompt": "P", "max_tokens": 4}), ("/embed", {"inputs": ["P"]}),
                           ("/api/generate", {"prompt": "P", "options": {"num_predict": 4}})):
            get(urllib.request.Request(cls.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}))

    def test_promtool(self):
        checked = subprocess.run(["promtool", "check", "metrics"], input=get(self.address + "/metrics"), capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stderr.decode())
        self.assertEqual(checked.stderr.decode(), "")

    def test_scrape(self):
        config, port = self.folder / "prometheus.yml", free_port()
        config.write_text(CONFIG.format(urllib.parse.urlsplit(self.address).netloc))
        process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        try:
            for query in ('up{job="pando"} == 1', "pando_engine_requests_total >= 3", "pando_prompt_tokens_total > 0",
                          'pando_http_requests_total{path="/api/generate", status="200"} == 1'):
                self.wait_for(port, query)
        finally:
            process.terminate()
            process.wait(60)

    def wait_for(self, port, query):
        found = {}
        for _ in range(120):
            try:
                found = json.loads(get(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})))
                if found["data"]["result"]:
                    return
            except urllib.error.URLError:  # it starts
                pass
            time.sleep(0.5)
        self.fail(f"{query}: {found}")


if __name__ == "__main__":
    if shutil.which("prometheus") is None:
        print("skipped: no prometheus (hint: scripts/clients-test installs it)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
