#!/usr/bin/env python3
"""The cache that `pando pull` fills, read by the hub's own library; and the other way round.

usage: hub_cache_test.py PANDO
"""
import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import warnings

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/hub"))
from loopback_hub import TOKEN, LoopbackHub, commit_of  # noqa: E402

PANDO = sys.argv[1]
DEMO = {path.name: path.read_bytes() for path in (ROOT / "models/demo").iterdir()}
WEIGHTS = DEMO["model.safetensors"]
NEEDED = set(DEMO) - {"README.md"}
QUANTS = {"q4/x-Q4_K_M.gguf": WEIGHTS[:70_000], "x-Q8_0.gguf": WEIGHTS[:90_000], "README.md": b"r"}
# Each with a commit of its own: the library removes revisions by their commits.
FILES = {"org/quants": QUANTS, "org/demo": DEMO}
FILES |= {name: DEMO | {"README.md": name.encode()} for name in ("org/private", "org/half", "org/locked")}


def remove_beside(library, n_downloads):
    """Removes a model again and again while the library downloads it: a download fails, or its files are right."""
    over = threading.Event()

    def remove():
        while not over.is_set():
            subprocess.run([PANDO, "remove", "org/demo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        removals = threads.submit(remove)
        try:
            for _ in range(n_downloads):
                with contextlib.suppress(OSError):
                    for path in pathlib.Path(library.snapshot_download("org/demo")).iterdir():
                        with contextlib.suppress(OSError):
                            assert path.read_bytes() == DEMO[path.name], path
        finally:
            over.set()
        removals.result()
    path = pathlib.Path(library.snapshot_download("org/demo"))
    assert {one.name: one.read_bytes() for one in path.iterdir()} == DEMO


def main():
    home = pathlib.Path(tempfile.mkdtemp())
    cache = home / "hub"
    hub = LoopbackHub(FILES)
    os.environ.update(HF_ENDPOINT=hub.endpoint, HF_HOME=str(home), HF_TOKEN=TOKEN, HF_HUB_DISABLE_PROGRESS_BARS="1")
    os.environ.pop("HF_HUB_CACHE", None)
    os.environ.pop("HF_HUB_OFFLINE", None)
    import filelock
    import huggingface_hub as library  # reads the environment
    warnings.simplefilter("error")

    def pando(*arguments, **environment):
        done = subprocess.run([PANDO, *arguments], capture_output=True, text=True, env=os.environ | environment)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout.strip()

    def scanned():
        found = library.scan_cache_dir(cache)
        assert not found.warnings, found.warnings
        return {repo.repo_id: repo for repo in found.repos}

    # The library reads what pando fetched.
    path = pando("pull", "org/demo")
    assert library.snapshot_download("org/demo", local_files_only=True) == path
    assert library.hf_hub_download("org/demo", "config.json", local_files_only=True) == f"{path}/config.json"
    gguf = pando("pull", "org/quants:Q4_K_M")
    assert library.hf_hub_download("org/quants", "q4/x-Q4_K_M.gguf", local_files_only=True) == gguf
    pando("pull", "org/private", "--revision", "v1")
    repos = scanned()
    assert set(repos) == {"org/demo", "org/quants", "org/private"}, repos
    [revision] = repos["org/demo"].revisions
    assert revision.commit_hash == commit_of(DEMO) and revision.refs == {"main"}
    assert {file.file_name for file in revision.files} == NEEDED
    assert all(file.blob_path.parent.name == "blobs" for file in revision.files)
    assert repos["org/demo"].size_on_disk == sum(len(DEMO[name]) for name in NEEDED)
    assert next(iter(repos["org/private"].revisions)).refs == {"v1"}
    # It completes what pando began, without fetching weights again.
    n = len(hub.asked(path="/storage/org/demo/model.safetensors", method="GET"))
    assert library.snapshot_download("org/demo") == path
    assert (pathlib.Path(path) / "README.md").exists()
    assert len(hub.asked(path="/storage/org/demo/model.safetensors", method="GET")) == n == 1
    # It removes it.
    library.scan_cache_dir(cache).delete_revisions(revision.commit_hash).execute()
    assert set(scanned()) == {"org/quants", "org/private"}

    # pando reads what the library fetched. It asks the hub once, for the list of files.
    fetched = library.snapshot_download("org/demo")
    n = len(hub.requests)
    expected = pando("tokenize", "--model", str(ROOT / "models/demo"), "Hello there.")
    assert pando("tokenize", "--model", "org/demo", "Hello there.", HF_HUB_OFFLINE="1") == expected
    (home / "in.jsonl").write_text('{"prompt": "Once upon a time"}\n')
    run = ["run", "--threads", "1", "--kv-memory", "64MiB", "--max-tokens", "4", "--input", str(home / "in.jsonl")]
    for _ in range(2):
        assert pando(*run, "--model", "org/demo") == pando(*run, "--model", str(ROOT / "models/demo"))
    assert len(hub.requests) == n + 1
    assert "org/demo" in scanned()
    assert f"org/demo\tmain\t{len(DEMO)} files\t" in pando("list") and fetched in pando("list")
    # It completes what the library began.
    library.hf_hub_download("org/half", "model.safetensors")
    pando("pull", "org/half")
    assert len(hub.asked(path="/storage/org/half/model.safetensors", method="GET")) == 1
    assert library.snapshot_download("org/half", allow_patterns=list(NEEDED), local_files_only=True)
    # It waits for the library's locks.
    lock = cache / ".locks/models--org--locked"
    lock.mkdir(parents=True)
    etag = os.path.basename(os.readlink(pathlib.Path(fetched) / "model.safetensors"))
    with filelock.FileLock(lock / f"{etag}.lock"):
        process = subprocess.Popen([PANDO, "pull", "org/locked"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(3)
            raise AssertionError("did not wait for the lock")
        except subprocess.TimeoutExpired:
            pass
    assert process.wait(60) == 0
    remove_beside(library, 20)
    pando("remove", "org/demo")
    assert set(scanned()) == {"org/quants", "org/private", "org/half", "org/locked"}
    print(f"huggingface_hub {library.__version__}: one cache")


if __name__ == "__main__":
    main()
