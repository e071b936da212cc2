"""A server of a test's own."""
import contextlib
import re
import signal
import subprocess
import sys
import threading


@contextlib.contextmanager
def server(pando, model, *options):
    """The address of a server that ends with the block, or with a SIGTERM for this process. model: None for several models."""
    command = [pando, "serve", "--port", "0", *options]
    defaults = [("--threads", "1")]
    if model is not None:
        command += ["--model", model, "--model-name", "demo"]
        defaults.append(("--kv-memory", "64MiB"))
    for name, value in defaults:
        if name not in options:
            command += [name, value]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # by way of the `finally`
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    drain = None
    try:
        for line in process.stderr:
            if found := re.search(r"http://\S+", line):
                drain = threading.Thread(target=process.stderr.read, daemon=True)  # a full pipe would stop the server
                drain.start()
                yield found[0]
                break
        else:
            raise RuntimeError("the server said no address")
    finally:
        process.terminate()
        try:
            if process.wait(60) != 0:
                raise RuntimeError(f"the server ended with status {process.returncode}")
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            if drain:
                drain.join()
            process.stderr.close()


def random_model(pando, out, shape="tiny-qwen3"):
    subprocess.run([pando, "make-model", "--shape", shape, "--out", out, "--seed", "3"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
