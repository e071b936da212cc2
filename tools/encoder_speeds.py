#!/usr/bin/env python3
"""Embeds passages of TREC with Pando and with another library, in turn, with two threads each. Prints the wall and
processor seconds of each, without start-up, and their ratios. Threads of the library do not spin while they wait.

    pip install -r tools/requirements-golden.txt sentence-transformers==6.2.0 onnx onnxscript onnxruntime==1.32.0
    tools/encoder_speeds.py onnx|torch PANDO MODEL TREC.jsonl.gz N [ROUNDS]

onnx: onnxruntime with the model exported by torch, the mean and the norm by numpy. torch: sentence-transformers. Both get
f32 weights, and the texts sorted by length in batches of 8, which is the fastest for them. Pando gets the texts as they come.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from sentence_peers import passages_of

BATCH, N_THREADS = 8, 2


class Seconds:
    """Wall seconds, and processor seconds of this process and of its finished children."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        times = os.times()
        return np.array([time.monotonic(), times.user + times.system + times.children_user + times.children_system])

    def taken(self):
        return self.now() - self.begin


class Pando:
    def __init__(self, pando, model, folder):
        self.command = [pando, "embed", "--model", model, "--weights", "f32", "--threads", str(N_THREADS), "--quiet"]
        self.folder = folder
        self.start = self.measure("one", ["one"])

    def measure(self, name, texts):
        source, output = self.folder / f"{name}.jsonl", self.folder / f"{name}.out.jsonl"
        source.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)))
        seconds = Seconds()
        subprocess.run([*self.command, "--input", source, "--output", output, "--overwrite"], check=True)
        return seconds.taken()

    def run(self, texts):
        return self.measure("all", texts) - self.start

    def vectors(self):
        lines = map(json.loads, (self.folder / "all.out.jsonl").read_text().splitlines())
        return np.array([line["embedding"] for line in sorted(lines, key=lambda line: line["id"])])


def exported(model, folder):
    """The encoder as an ONNX file, with free sizes of batch and text."""
    import torch
    import transformers
    encoder = transformers.AutoModel.from_pretrained(model, dtype=torch.float32, attn_implementation="sdpa").eval()

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids, attention_mask):
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    path = folder / "model.onnx"
    ids, mask = (torch.ones(2, 16, dtype=torch.int64) for _ in range(2))  # one tensor would become one input
    sizes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("tokens", max=512)}
    torch.onnx.export(Hidden().eval(), (ids, mask), path, input_names=["input_ids", "attention_mask"],
                      output_names=["hidden"], dynamic_shapes=(sizes, sizes), dynamo=True)
    return path


def batches_of(tokenizer, texts, most):
    """[(places of texts, ids, mask)], the longest first."""
    tokenizer.enable_truncation(most)
    tokenizer.no_padding()
    encoded = tokenizer.encode_batch(texts)
    order = sorted(range(len(texts)), key=lambda i: -len(encoded[i].ids))
    for first in range(0, len(order), BATCH):
        places = order[first:first + BATCH]
        ids = np.zeros((len(places), len(encoded[places[0]].ids)), np.int64)
        for row, i in enumerate(places):
            ids[row, :len(encoded[i].ids)] = encoded[i].ids
        yield places, ids, (np.arange(ids.shape[1]) < np.array([[len(encoded[i].ids)] for i in places])).astype(np.int64)


class Onnx:
    def __init__(self, model, folder):
        import onnxruntime
        from tokenizers import Tokenizer
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = N_THREADS
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(exported(model, folder), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(pathlib.Path(model) / "tokenizer.json"))
        limits = json.loads((pathlib.Path(model) / "sentence_bert_config.json").read_text())
        self.most = limits["max_seq_length"]

    def embed(self, texts):
        vectors = np.empty((len(texts), self.session.get_outputs()[0].shape[-1]), np.float32)
        for places, ids, mask in batches_of(self.tokenizer, texts, self.most):
            [hidden] = self.session.run(None, {"input_ids": ids, "attention_mask": mask})
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1)[:, None]
            vectors[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return vectors


class Torch:
    def __init__(self, model, _):
        import torch
        from sentence_transformers import SentenceTransformer
        torch.set_num_threads(N_THREADS)
        self.library = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": torch.float32})

    def embed(self, texts):
        return self.library.encode(texts, batch_size=BATCH, show_progress_bar=False)


def measured(peer, texts):
    seconds = Seconds()
    vectors = peer.embed(texts)
    return seconds.taken(), vectors


def main():
    if len(sys.argv) not in (6, 7):
        raise SystemExit(__doc__)
    kind, pando, model, trec, n = sys.argv[1:6]
    texts = passages_of(trec)[:int(n)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peer = {"onnx": Onnx, "torch": Torch}[kind](model, folder)
        peer.embed(texts[:BATCH])
        ours = Pando(pando, model, folder)
        rounds = []
        for i in range(int(sys.argv[6]) if sys.argv[6:] else 3):
            own = ours.run(texts)
            other, vectors = measured(peer, texts)
            rounds.append((own, other))
            print(f"round {i + 1}: pando {own[0]:.2f} s ({own[1]:.2f} s of processors), {kind} {other[0]:.2f} s "
                  f"({other[1]:.2f} s), load {os.getloadavg()[0]:.1f}", flush=True)
        distance = np.abs(vectors - ours.vectors()).max()
    own, other = np.median(np.array(rounds), axis=0)
    print(f"{len(texts)} passages: pando {own[0]:.2f} s ({own[1]:.2f} s of processors), start {ours.start[0]:.2f} s; {kind} "
          f"{other[0]:.2f} s ({other[1]:.2f} s); {kind} / pando {other[0] / own[0]:.2f} ({other[1] / own[1]:.2f}); largest "
          f"difference of a number {distance:.2g}")


if __name__ == "__main__":
    os.environ["OMP_WAIT_POLICY"] = "passive"  # read when torch starts
    main()
