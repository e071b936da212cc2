"""`pando serve` in trials that are run by hand, asked by OpenAI's client (needs the package `openai`)."""
import concurrent.futures
import contextlib
import re
import signal
import subprocess
import tempfile

import openai


class Server:
    """A server on a free port, ended with SIGTERM. `said`: its lines, all of them once it ended."""

    def __init__(self, pando, *options):
        self.process = subprocess.Popen([pando, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"serving .* at (http://\S+)", line):
                break
        else:
            raise RuntimeError("".join(self.said))
        self.rest = concurrent.futures.ThreadPoolExecutor(1).submit(self.process.stderr.readlines)
        self.client = openai.OpenAI(base_url=found[1] + "/v1", api_key="none", max_retries=0, timeout=1200)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.said += self.rest.result()


@contextlib.contextmanager
def server_of_models(pando, models, kv_memory, *options):
    """A server of several models, {name: path}, with so many bytes for keys and values each."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        for name, path in models.items():
            file.write(f'[models."{name}"]\nmodel = "{path}"\nkv-memory = "{kv_memory}"\n')
        file.flush()
        with Server(pando, "--models", file.name, *options) as server:
            yield server
