#!/usr/bin/env python3
"""Compares vectors of Pando in f32 with those of llama.cpp inside the package xllamacpp, without flash attention:

    pip install xllamacpp==2026.10.11549
    tools/llama_cpp_vectors.py PANDO MODEL.gguf [TEXTS.jsonl]

Without TEXTS.jsonl random token ids below 61 are embedded, for tiny files without a vocabulary. With it, both programs make
the tokens of its lines {"text"}. Vectors have length 1.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import xllamacpp

LENGTHS, N_VOCAB = (1, 7, 40, 90), 61


def llama_vectors(file, inputs, n_context):
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.embedding = True
    params.warmup = False
    params.verbosity = -1
    params.n_ctx = params.n_batch = params.n_ubatch = n_context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    vectors = []
    for one in inputs:
        answer = server.handle_embeddings({"input": one, "model": "m"})
        if "data" not in answer:
            raise SystemExit(f"{file}: llama.cpp says {answer}")
        vectors.append(answer["data"][0]["embedding"])
    return np.array(vectors)


def pando_vectors(pando, file, lines):
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
        source.write_text("".join(json.dumps(dict(line, id=i)) + "\n" for i, line in enumerate(lines)))
        subprocess.run([pando, "embed", "--model", file, "--weights", "f32", "--input", source, "--output", output,
                        "--ordered", "--quiet"], check=True)
        return np.array([json.loads(line)["embedding"] for line in output.read_text().splitlines()])


def random_ids():
    random = np.random.default_rng(5)
    return [random.integers(3, N_VOCAB, n).tolist() for n in LENGTHS]


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    pando, file = sys.argv[1:3]
    if sys.argv[3:]:
        texts = [json.loads(line)["text"] for line in pathlib.Path(sys.argv[3]).read_text().splitlines()]
        ours = pando_vectors(pando, file, [{"text": text} for text in texts])
        theirs = llama_vectors(file, texts, 512)
    else:
        inputs = random_ids()
        ours = pando_vectors(pando, file, [{"tokens": ids} for ids in inputs])
        theirs = llama_vectors(file, inputs, 128)
    cosines = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    print(f"{pathlib.Path(file).name}: {len(ours)} vectors, largest difference of a number {np.abs(ours - theirs).max():.2g}, "
          f"smallest cosine {cosines.min():.8f}")


if __name__ == "__main__":
    main()
