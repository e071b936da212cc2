#!/usr/bin/env python3
"""`pando` with a hub on the loopback interface, which behaves as the hub does and then misbehaves.

usage: hub_test.py PANDO SOURCE_DIR
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import pty
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from loopback_hub import TOKEN, LoopbackHub, commit_of  # noqa: E402

PANDO, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
BIG = random.Random(7).randbytes(300_000)
GOOD = {"config.json": b'{"a": 1}', "tokenizer.json": b"{}", "README.md": b"x", "model.safetensors": BIG,
        "pytorch_model.bin": b"z", "onnx/model.onnx": b"q", "picture.png": b"p", "vocab.txt": b""}
SHARDED = {"config.json": b"{}", "tokenizer.json": b"{}", "1_Pooling/config.json": b"{}", "consolidated.safetensors": BIG,
           "additional_chat_templates/tool.jinja": b"t", "model-00001-of-00002.safetensors": BIG[:70_000],
           "model-00002-of-00002.safetensors": BIG[70_000:],
           "model.safetensors.index.json": json.dumps({"weight_map": {
               "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}).encode()}
GGUF = {"config.json": b"{}", "x-Q4_K_M.gguf": BIG[:50_000], "q8/x-Q8_0-00001-of-00002.gguf": BIG[:9],
        "q8/x-Q8_0-00002-of-00002.gguf": BIG[9:99], "mmproj-Q8_0.gguf": b"m", "x.imatrix.gguf": b"i"}
# Repositories that misbehave (loopback_hub.py), and a part of the message; None: all comes in the end.
MISBEHAVE = {
    "flaky": None, "busy": None, "renamed": None, "same-host": None, "wrong-once": None, "storage-busy": None,
    "expired": None, "no-range": None, "cut": None, "cut-often": None, "no-length": None,
    "down": "answers with status 503", "long-wait": "asks to wait 3600 s, expected at most 120",
    "loop": "redirects more than 10 times", "to-file": "redirects to no URL of http or https",
    "no-json": "not JSON", "entry-gone": "'org/entry-gone/model.safetensors' is not on http://127.0.0.1",
    "other-commit": f"is of commit '{'0' * 40}', expected ", "bad-etag": "has the etag '../../../evil', expected the digits",
    "huge": "but 'org/huge' needs 35.2 TB more", "absurd": f"has the size '{'9' * 30}', expected bytes",
    "too-short": "is longer than the hub says, expected 299993 bytes", "too-long": "ends at 300000 bytes, expected 300007",
    "wrong-hash": f"expected {hashlib.sha256(BIG).hexdigest()}", "storage-down": "answers with status 503",
    "bad-range": "came with the range 'bytes 40001-299999/300000', expected bytes from 40000 on",
    "cut-first": "bytes remaining to read", "gated": "is not open to users without a token",
    "private": "(hint: a private model needs a token in HF_TOKEN)", "nowhere": "'org/nowhere' is not on http://127.0.0.1"}


def demo_files():
    return {path.name: path.read_bytes() for path in (SOURCE / "models/demo").iterdir()}


class HubTest(unittest.TestCase):
    def setUp(self):
        files = {f"org/{name}": GOOD for name in (*MISBEHAVE, "good", "slow") if name != "nowhere"}
        files |= {"org/sharded": SHARDED, "org/quants": GGUF, "org/demo": demo_files()}
        self.hub = LoopbackHub(files)
        self.home = pathlib.Path(tempfile.mkdtemp())
        self.cache = self.home / "cache"

    def tearDown(self):
        self.hub.__exit__()
        shutil.rmtree(self.home)

    def environment(self, cache=None, **more):
        known = {"PATH": os.environ["PATH"], "HOME": str(self.home), "HF_ENDPOINT": self.hub.endpoint + "/",
                 "HF_HUB_CACHE": str(cache or self.cache)}
        return known | more

    def pando(self, *arguments, code=0, says="", cache=None, **environment):
        done = subprocess.run([PANDO, *arguments], env=self.environment(cache, **environment), capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertIn(says, done.stderr)
        return done.stdout

    def folder(self, name, cache=None):
        return (cache or self.cache) / f"models--org--{name}"

    def snapshot(self, name, cache=None):
        return self.folder(name, cache) / "snapshots" / commit_of(self.hub.files[f"org/{name}"])

    def names(self, snapshot):
        return sorted(str(p.relative_to(snapshot)) for p in snapshot.rglob("*") if p.is_file())

    def expect_whole(self, name, names, cache=None):
        """The snapshot has exactly these files, as links to the right blobs, and nothing is left beside them."""
        snapshot, files = self.snapshot(name, cache), self.hub.files[f"org/{name}"]
        self.assertEqual(self.names(snapshot), sorted(names))
        for file in names:
            self.assertEqual((snapshot / file).read_bytes(), files[file])
            self.assertFalse(os.path.isabs(os.readlink(snapshot / file)))
            self.assertEqual((snapshot / file).resolve().parent, self.folder(name, cache).resolve() / "blobs")
        self.assertEqual((self.folder(name, cache) / "refs/main").read_text(), snapshot.name)
        self.assertEqual([p for p in self.folder(name, cache).rglob("*") if "incomplete" in p.name or ".pando-" in p.name], [])
        listing = self.folder(name, cache) / ".pando" / f"{snapshot.name}.json"
        self.assertEqual(json.loads(listing.read_text()), sorted(files))

    NEEDED = ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt"]

    def test_fetches_what_a_model_needs(self):
        self.assertEqual(self.pando("pull", "org/good"), f"{self.snapshot('good')}\n")
        self.expect_whole("good", self.NEEDED)
        self.pando("pull", "org/sharded")
        self.expect_whole("sharded", set(SHARDED) - {"consolidated.safetensors"})
        n = len(self.hub.requests)
        self.pando("pull", "org/good")  # asks for the revision alone
        self.assertEqual([r["method"] for r in self.hub.requests[n:]], ["GET"])

    def test_chooses_one_gguf_file(self):
        self.assertEqual(self.pando("pull", "org/quants:q4_k_m"), f"{self.snapshot('quants')}/x-Q4_K_M.gguf\n")
        self.expect_whole("quants", ["x-Q4_K_M.gguf"])
        first = "q8/x-Q8_0-00001-of-00002.gguf"
        for id in ("org/quants:Q8_0", f"org/quants:{first}"):
            self.assertEqual(self.pando("pull", id), f"{self.snapshot('quants')}/{first}\n")
        self.expect_whole("quants", ["x-Q4_K_M.gguf", first, first.replace("00001-of", "00002-of")])
        self.pando("pull", "org/quants", code=2, says="'org/quants' has several GGUF files, expected one of them")
        self.pando("pull", "org/quants:Q2_K", code=1, says="has no GGUF file 'Q2_K', expected one of q8/x-Q8_0")
        self.pando("pull", "org/good:Q8_0", code=1, says="'org/good' has no GGUF file")
        self.assertEqual(self.pando("list").split("\t")[:3], ["org/quants", "main", "3 files"])
        self.assertEqual(self.pando("remove", "org/quants:Q8_0"), "removed 2 files, 99 B\n")
        self.expect_whole("quants", ["x-Q4_K_M.gguf"])

    def test_a_misbehaving_hub(self):
        def run(name):
            cache = self.home / name
            if MISBEHAVE[name] is None:
                self.pando("pull", f"org/{name}", cache=cache)
                served = "good" if name == "renamed" else name
                self.assertEqual(self.names(next((self.folder(name, cache) / "snapshots").iterdir())), self.NEEDED, served)
            else:
                self.pando("pull", f"org/{name}", code=1, says=MISBEHAVE[name], cache=cache)
                self.assertFalse((self.folder(name, cache) / "refs").exists())
            outside = [p for p in cache.rglob("*") if "evil" in p.name]
            self.assertEqual(outside, [])

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(run, MISBEHAVE))
        # A file that was cut went on where it ended.
        ranges = {r["range"] for r in self.hub.asked(path="/storage/org/cut/model.safetensors")}
        self.assertEqual(ranges, {None} | {f"bytes={at}-" for at in range(40_000, 300_000, 40_000)})

    def test_the_token_goes_to_the_hub_alone(self):
        self.pando("pull", "org/private", HF_TOKEN=f" {TOKEN}\n")
        self.expect_whole("private", self.NEEDED)
        port = int(self.hub.endpoint.rsplit(":", 1)[1])
        self.assertEqual({r["authorization"] for r in self.hub.asked(port=port)}, {f"Bearer {TOKEN}"})
        elsewhere = [r for r in self.hub.requests if r["port"] != port]
        self.assertEqual({r["authorization"] for r in elsewhere}, {None})
        self.assertTrue(elsewhere)
        for where, environment in {"token": {"HF_HOME": str(self.home)}, "own": {"HF_TOKEN_PATH": str(self.home / "own")},
                                   ".cache/huggingface/token": {}}.items():
            (self.home / where).parent.mkdir(parents=True, exist_ok=True)
            (self.home / where).write_text(TOKEN + "\n")
            self.pando("pull", "org/gated", cache=self.home / f"by-{pathlib.Path(where).name}-{len(environment)}", **environment)
            (self.home / where).unlink()
        self.pando("pull", "org/gated", HUGGING_FACE_HUB_TOKEN=TOKEN)
        self.pando("pull", "org/good", code=2, says="the hub's token holds a space", HF_TOKEN="a\r\nX: y")

    def test_names_that_lead_elsewhere(self):
        evil = {"../evil.gguf": b"e"}
        index = json.dumps({"weight_map": {"a": "../../evil.safetensors"}}).encode()
        self.hub.files["org/dots"] = evil
        self.hub.files["org/root"] = {"/evil.gguf": b"e"}
        self.hub.files["org/index"] = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors.index.json": index}
        for name in ("dots", "root"):
            self.pando("pull", f"org/{name}", code=1, says="expected a path inside it")
        self.pando("pull", "org/index", code=1, says="expected a path inside the repository")
        for bad in ("org/dots:../evil.gguf", "../dots", "org/..", "org/a/b", "org", "org/dots:/evil.gguf"):
            self.pando("pull", bad, code=2, says=f"'{bad}' is no id of a model")
        self.pando("pull", "org/good", "--revision", "../../x", code=2, says="expected a branch, a tag or a commit")

    def test_links_that_lead_elsewhere(self):
        outside = self.home / "outside"
        outside.mkdir()
        snapshot = self.snapshot("sharded")
        snapshot.mkdir(parents=True)
        (snapshot / "1_Pooling").symlink_to(outside)
        self.pando("pull", "org/sharded", code=1, says="is behind a link that leads out of the snapshot")
        self.assertEqual(list(outside.iterdir()), [])
        (self.folder("good") / "blobs").mkdir(parents=True)
        sha256 = hashlib.sha256(BIG).hexdigest()
        (self.folder("good") / "blobs" / f"{sha256}.incomplete").symlink_to(outside / "file")
        self.pando("pull", "org/good", code=1, says="Too many levels of symbolic links")
        self.assertEqual(list(outside.iterdir()), [])

    def test_goes_on_after_a_kill(self):
        part = self.folder("slow") / "blobs" / f"{hashlib.sha256(BIG).hexdigest()}.incomplete"
        for _ in range(2):
            began = part.stat().st_size if part.exists() else 0
            self.hub.slow_end = began + 100_000  # it never comes to the end
            process = subprocess.Popen([PANDO, "pull", "org/slow"], env=self.environment(), stderr=subprocess.DEVNULL)
            while not part.exists() or part.stat().st_size < began + 50_000:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertFalse((self.folder("slow") / "refs").exists())
        size = part.stat().st_size
        self.hub.slow_piece = self.hub.slow_end = 1 << 20
        self.pando("pull", "org/slow")
        self.expect_whole("slow", self.NEEDED)
        asked = self.hub.asked(path="/storage/org/slow/model.safetensors")
        self.assertEqual((asked[0]["range"], asked[-1]["range"]), (None, f"bytes={size}-"))

    def test_two_processes_fetch_once(self):
        self.hub.slow_piece = 20_000
        command = [PANDO, "pull", "org/slow"]
        both = [subprocess.Popen(command, env=self.environment(), stderr=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([process.wait() for process in both], [0, 0])
        self.expect_whole("slow", self.NEEDED)
        self.assertEqual(len(self.hub.asked(path="/storage/org/slow/model.safetensors")), 1)
        self.assertEqual(len(self.hub.asked(path=f"/org/slow/resolve/{self.snapshot('slow').name}/config.json", method="GET")), 1)

    def test_a_full_disk(self):
        self.cache.mkdir()
        script = ('mount -t tmpfs -o size=200k none "$HF_HUB_CACHE" || exit 77; "$0" pull org/good; code=$?; '
                  'find "$HF_HUB_CACHE" -name main; exit $code')
        done = subprocess.run(["unshare", "-rm", "bash", "-c", script, PANDO], env=self.environment(), capture_output=True,
                              text=True)
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("no tmpfs for this user")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("but 'org/good' needs 300 kB more", done.stderr)

    def test_a_disk_that_fills_up(self):
        done = subprocess.run(["bash", "-c", 'ulimit -f 100; trap "" XFSZ; "$0" pull org/good', PANDO],
                              env=self.environment(), capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(".incomplete: File too large", done.stderr)
        self.pando("pull", "org/good")
        self.expect_whole("good", self.NEEDED)
        self.assertEqual(self.hub.asked(path="/storage/org/good/model.safetensors")[-1]["range"], "bytes=102400-")

    def test_revisions(self):
        self.pando("pull", "org/good", "--revision", "refs/pr/1")
        commit = self.snapshot("good").name
        self.assertEqual((self.folder("good") / "refs/refs/pr/1").read_text(), commit)
        self.pando("pull", "org/good", "--revision", commit)
        self.assertFalse((self.folder("good") / "refs/main").exists())
        self.pando("pull", "org/good", "--revision", "v2", code=1, says="'org/good (v2)' has no such revision on")
        self.pando("pull", "org/good")
        old, self.hub.files["org/good"] = commit, GOOD | {"config.json": b'{"a": 2}'}
        self.pando("pull", "org/good")
        self.expect_whole("good", self.NEEDED)
        self.assertEqual([line.split("\t")[1] for line in sorted(self.pando("list").splitlines(), key=lambda l: old not in l)],
                         ["refs/pr/1", "main"])
        # Weights of both stand in the cache once.
        self.assertEqual(self.pando("remove", "org/good", "--revision", "refs/pr/1"), "removed 1 file, 8 B\n")
        self.expect_whole("good", self.NEEDED)
        self.assertIn("removed 4 files, 300 kB", self.pando("remove", "org/good"))
        self.assertEqual(self.pando("list", says=f"no models in {self.cache}"), "")
        self.pando("remove", "org/good", code=1, says="'org/good' is not in the local hub cache")

    def test_removing_follows_no_link(self):
        self.pando("pull", "org/good")
        outside = self.home / "outside"
        outside.mkdir()
        (outside / "x-Q8_0.gguf").write_bytes(b"x")
        (self.folder("good") / "snapshots/other").symlink_to(outside)
        (self.folder("good") / "refs/other").write_text("other")
        self.pando("remove", "org/good:Q8_0", code=1, says="'org/good:Q8_0' is not in the local hub cache")
        self.pando("remove", "org/good")
        self.assertTrue((outside / "x-Q8_0.gguf").exists())

    def test_without_a_cache(self):
        ours = self.home / "models--org--good/blobs/x"
        ours.parent.mkdir(parents=True)
        ours.write_text("x")
        for command in (["pull", "org/good"], ["list"], ["remove", "org/good"]):
            done = subprocess.run([PANDO, *command], env={"PATH": os.environ["PATH"]}, cwd=self.home, capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn("there is no folder for the hub's cache, expected HOME", done.stderr)
        self.assertTrue(ours.exists())

    def test_a_command_fetches_and_then_asks_no_more(self):
        expected = self.pando("tokenize", "--model", str(SOURCE / "models/demo"), "Hello there.")
        tokens = lambda *more, **environment: self.pando("tokenize", "--model", "org/demo", *more, "Hello there.", **environment)
        self.assertEqual(tokens(), expected)
        self.assertNotIn("model.safetensors", self.names(self.snapshot("demo")))
        run = ["run", "--model", "org/demo", "--threads", "1", "--kv-memory", "64MiB", "--max-tokens", "4", "--quiet",
               "--input", str(self.home / "in.jsonl")]
        (self.home / "in.jsonl").write_text('{"prompt": "Once upon"}\n')
        answers = self.pando(*run)
        self.assertIn("model.safetensors", self.names(self.snapshot("demo")))
        n = len(self.hub.requests)
        self.assertEqual(self.pando(*run), answers)
        self.assertEqual(tokens(), expected)
        self.assertEqual(tokens(HF_HUB_OFFLINE="1"), expected)
        self.assertEqual(len(self.hub.requests), n)
        (self.snapshot("demo") / "model.safetensors").unlink()
        self.pando(*run, code=1, says="has no weights", HF_HUB_OFFLINE="yes")
        self.assertEqual(self.pando(*run), answers)  # the blob was there

    def test_a_snapshot_that_another_program_began(self):
        modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                   {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
        width = json.loads(demo_files()["config.json"])["hidden_size"]
        pooling = {"word_embedding_dimension": width, "pooling_mode_cls_token": True}
        files = demo_files() | {"modules.json": json.dumps(modules).encode(), "1_Pooling/config.json": json.dumps(pooling).encode()}
        self.hub.files["org/pooled"] = files
        for name, data in files.items():
            path = self.home / "whole" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        # As by a library that reads no modules.
        snapshot = self.snapshot("pooled")
        snapshot.mkdir(parents=True)
        (self.folder("pooled") / "refs").mkdir()
        (self.folder("pooled") / "refs/main").write_text(snapshot.name)
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            (snapshot / name).write_bytes(files[name])
        (self.home / "in.jsonl").write_text('{"text": "Hello there."}\n')
        embed = lambda model, **more: self.pando("embed", "--model", model, "--threads", "1", "--kv-memory", "64MiB", "--quiet",
                                                 "--input", str(self.home / "in.jsonl"), **more)
        right = embed(str(self.home / "whole"))
        for reason, environment in {"HF_HUB_OFFLINE is set": {"HF_HUB_OFFLINE": "1"},
                                    "cannot be reached": {"HF_ENDPOINT": "http://127.0.0.1:9"}}.items():
            self.assertNotEqual(embed("org/pooled", says=reason, **environment), right)
            embed("org/pooled", says="using what the cache has of it, of which no list of files is kept, so that some may be missing",
                  **environment)
        self.assertEqual(embed("org/pooled"), right)
        self.assertEqual(self.names(snapshot), sorted(set(files) - {"README.md"}))
        self.assertEqual(self.hub.asked(path="/storage/org/pooled/model.safetensors"), [])
        # The list of files is kept.
        n = len(self.hub.requests)
        self.assertEqual(embed("org/pooled"), right)
        self.assertEqual(len(self.hub.requests), n)
        (snapshot / "1_Pooling/config.json").unlink()
        self.pando("tokenize", "--model", "org/pooled", "a", HF_HUB_OFFLINE="1")
        self.pando("embed", "--model", "org/pooled", "--input", str(self.home / "in.jsonl"), "--quiet", code=2,
                   says="using what the cache has of it, without 1_Pooling/config.json", HF_HUB_OFFLINE="1")
        self.assertEqual(embed("org/pooled"), right)

    def test_a_path_comes_first(self):
        shutil.copytree(SOURCE / "models/demo", self.home / "org/demo")
        here = lambda *arguments: subprocess.run([PANDO, "tokenize", "--model", *arguments, "a"], env=self.environment(),
                                                 cwd=self.home, capture_output=True, text=True)
        self.assertEqual(here("org/demo").returncode, 0)
        self.assertEqual(self.hub.requests, [])
        self.assertIn("'org/demo' is a path, expected the id of a model", here("org/demo", "--revision", "main").stderr)
        self.assertIn("org/nowhere: no such path, and 'org/nowhere' is not on http://", here("org/nowhere").stderr)
        self.assertIn("org/demo/absent/x: no such directory or file, expected a model's directory, a GGUF file or the id of a "
                      "model on the hub, such as org/name", here("org/demo/absent/x").stderr)

    def test_a_hub_out_of_reach(self):
        dead = {"HF_ENDPOINT": "http://127.0.0.1:9"}
        self.pando("tokenize", "--model", "org/demo", "a", code=1, says="org/demo: no such path, and org/demo: http://127.0.0.1:9 "
                   "cannot be reached", **dead)
        self.pando("pull", "org/demo", code=1, says="'org/demo' cannot be fetched: HF_HUB_OFFLINE is set", HF_HUB_OFFLINE="1")
        self.pando("tokenize", "--model", "org/demo", "a", code=1, says="neither a path nor whole in the local hub cache",
                   HF_HUB_OFFLINE="1")
        self.pando("pull", "org/demo", code=2, says="HF_ENDPOINT is 'ftp://x', expected a URL", HF_ENDPOINT="ftp://x")

    def test_through_a_proxy(self):
        self.pando("pull", "org/good", HF_ENDPOINT="http://hub.invalid", http_proxy=self.hub.endpoint)
        self.expect_whole("good", self.NEEDED)
        self.assertIn("hub.invalid", {r["host"] for r in self.hub.requests})

    def test_https(self):
        certificate, key = str(self.home / "certificate.pem"), str(self.home / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", certificate], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        with LoopbackHub({"org/same-host": GOOD, "org/good": GOOD}, tls) as hub:
            known = {"HF_ENDPOINT": hub.endpoint, "SSL_CERT_FILE": certificate}
            self.pando("pull", "org/same-host", **known)
            self.assertEqual(self.names(self.snapshot("same-host")), self.NEEDED)
            self.pando("pull", "org/good", code=1, says="redirects from https to http://127.0.0.1", **known)
            self.pando("pull", "org/good", code=1, says="cannot be reached: SSL", HF_ENDPOINT=hub.endpoint)

    def test_progress_on_a_terminal(self):
        self.hub.slow_piece = 4_000
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(PANDO, [PANDO, "pull", "org/slow"], self.environment())
        said = b""
        try:
            while piece := os.read(terminal, 4096):
                said += piece
        except OSError:  # the end of a terminal
            pass
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertIn(b"pando: fetching 3 files of org/slow (", said)
        self.assertRegex(said, rb"\r\x1b\[K3 of 4 files, [0-9.]+ kB of 300 kB; [0-9.]+ k?B/s; about \d+ s left")
        os.close(terminal)
        self.assertEqual(subprocess.run([PANDO, "pull", "org/good", "--quiet"], env=self.environment(),
                                        capture_output=True, check=True).stderr, b"")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
