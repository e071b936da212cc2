#!/usr/bin/env python3
"""Trains the demo model on one core.

    python tools/demo_model/train.py --out run [--tokens 14e6]

The folder gets tokenizer.json, log.txt and checkpoint.pt; the same command goes on from a checkpoint.
Documents grow from stage to stage; a stage ends when enough answers are right. The documents
of a step depend on the seed, the step's number and its stage alone.
"""
import argparse
import ctypes
import dataclasses
import pathlib
import random
import time

import torch
from tokenizers import Tokenizer
from torch.nn import functional as F

import batches
import data
import model
import tokenizer

RIGHT_TO_MOVE_ON = 0.8  # share of answers about facts
PEAK_RATE, WARM_UP, CLIP = 2e-3, 100, 1.0
TEST_LENGTHS = (64, 256, 1024)


@dataclasses.dataclass
class Stage:
    n_tokens: int         # of a document
    mix: data.Mix
    prompt_weight: float  # of predicting the questions themselves
    n_layers: int = 4
    shorter: float = 0.4  # share of steps with shorter documents, by any factor


STAGES = [
    Stage(64, data.Mix(kinds=1, prose=0.1, choice=0, null=0.1, known_null=0, recite=0.4), 0.3),
    Stage(96, data.Mix(kinds=3, prose=0.2, choice=0.1, null=0.1, known_null=0, recite=0.3), 0.2),
    Stage(192, data.Mix(kinds=3, prose=0.25, choice=0.2, null=0.12, recite=0.15), 0.1),
    Stage(384, data.Mix(kinds=6, choice=0.2, recite=0.05), 0.0),
    Stage(1024, data.Mix(kinds=6, choice=0.2), 0.0, n_layers=5, shorter=0.5),
]


def n_questions(n_tokens):
    return min(30, 4 + n_tokens // 32)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.out = pathlib.Path(args.out)
        self.out.mkdir(parents=True, exist_ok=True)
        if not (self.out / "tokenizer.json").exists():
            tokenizer.train().save(str(self.out / "tokenizer.json"))
        self.encoder = batches.Encoder(Tokenizer.from_file(str(self.out / "tokenizer.json")))
        self.model = model.Qwen3(model.Shape(), args.seed)
        self.optimizer = torch.optim.AdamW(_groups(self.model.parameters()), lr=PEAK_RATE, betas=(0.9, 0.98),
                                           fused=True)
        self.step, self.tokens, self.stage, self.seconds = 0, 0, 0, 0.0
        self.since = 0      # steps of this stage
        self.right = {}     # running share of right answers by kind
        if (self.out / "checkpoint.pt").exists():
            self._restore()

    def run(self):
        start, saved = time.time() - self.seconds, time.time()
        while self.tokens < self.args.tokens:
            loss = self._step()
            self.seconds = time.time() - start
            if self.step % 50 == 0:
                self._log(f"step {self.step} tokens {self.tokens / 1e6:.2f}M {self.seconds:.0f} s stage {self.stage} "
                          f"loss {loss:.3f} train " + _shares(self.right))
            if self.step % self.args.test_every == 0:
                self._log("test " + " | ".join(f"{n}: {_shares(self.test(n))}" for n in TEST_LENGTHS))
            if time.time() - saved > 120:
                self._save()
                saved = time.time()
        self._save()

    def test(self, n_tokens, n_documents=6):
        """Share of right answers by kind over unseen documents."""
        counts = {}
        mix = data.Mix(templates=self._mix().templates)
        for i in range(n_documents):
            item = self.encoder.item(random.Random(f"test/{n_tokens}/{i}"), mix, n_tokens, 30, test=True)
            batch = batches.collate([item], self.encoder.eos)
            with torch.no_grad():
                right = batches.correct(batch, self._logits(batch))
            for kind, ok in zip(batch.kinds, right):
                n, k = counts.get(kind, (0, 0))
                counts[kind] = (n + 1, k + ok)
        counts["all"] = tuple(map(sum, zip(*counts.values())))
        return {kind: k / n for kind, (n, k) in counts.items()}

    def _mix(self):
        return STAGES[self.stage].mix

    def _logits(self, batch):
        with torch.autocast("cpu", torch.bfloat16):
            return self.model(batch.tokens, batch.tree, batch.wanted).float()

    def _batch(self):
        """Of the stage's length or shorter."""
        rng, stage = random.Random(f"{self.args.seed}/{self.step}"), STAGES[self.stage]
        n_tokens = stage.n_tokens
        if self.stage > 0 and rng.random() < stage.shorter:
            n_tokens = int(64 * (n_tokens / 64) ** rng.random())
        items = [self.encoder.item(rng, stage.mix, n_tokens, n_questions(n_tokens))
                 for _ in range(max(1, 512 // n_tokens))]
        return batches.collate(items, self.encoder.eos, stage.prompt_weight), n_tokens == stage.n_tokens

    def _step(self):
        batch, full_length = self._batch()
        logits = self._logits(batch)
        losses = F.cross_entropy(logits, batch.targets, reduction="none")
        loss = (losses * batch.weights).sum() / batch.weights.sum()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        self.optimizer.step()
        self.step += 1
        self.since += 1
        self.tokens += batch.tokens.numel()
        if full_length:
            self._note(batch, batches.correct(batch, logits))
        return loss.item()

    def _rate(self):
        """Warm-up, constant, and linear decay over the last third of the tokens."""
        left = 1 - self.tokens / self.args.tokens
        return PEAK_RATE * min(1, (self.step + 1) / WARM_UP, max(0.02, 3 * left))

    def _note(self, batch, right):
        for kind in set(batch.kinds):
            of_kind = [ok for k, ok in zip(batch.kinds, right) if k == kind]
            share = sum(of_kind) / len(of_kind)
            self.right[kind] = share if kind not in self.right else 0.97 * self.right[kind] + 0.03 * share
        shares = [self.right.get(kind, 0) for kind in data.KINDS]
        right = sum(shares) / len(shares) > RIGHT_TO_MOVE_ON
        if self.since >= 100 and right and self.stage + 1 < len(STAGES):
            self._log(f"stage {self.stage} done at step {self.step}, {self.tokens / 1e6:.2f}M tokens: "
                      + _shares(self.right))
            self.stage, self.since = self.stage + 1, 0
            self._grow()
            self.right = {kind: share / 2 for kind, share in self.right.items()}

    def _grow(self):
        added = self.model.grow(STAGES[self.stage].n_layers, self.args.seed)
        for group in _groups(added) if added else []:
            self.optimizer.add_param_group(group)

    def _log(self, line):
        print(line, flush=True)
        with open(self.out / "log.txt", "a") as file:
            file.write(line + "\n")

    def _save(self):
        state = {name: getattr(self, name) for name in ("step", "tokens", "stage", "seconds", "since", "right")}
        state |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, self.out / "checkpoint.new")
        (self.out / "checkpoint.new").rename(self.out / "checkpoint.pt")

    def _restore(self):
        state = torch.load(self.out / "checkpoint.pt")
        self.stage = state["stage"]
        self._grow()
        self.model.load_state_dict(state.pop("model"))
        self.optimizer.load_state_dict(state.pop("optimizer"))
        for name, value in state.items():
            setattr(self, name, value)


def _groups(parameters):
    """Decay is for matrices."""
    parameters = list(parameters)
    return [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.05},
            {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]


def _shares(right):
    return " ".join(f"{kind} {share:.2f}" for kind, share in sorted(right.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of this training run")
    parser.add_argument("--tokens", type=float, default=14e6, help="to train on in all, padding included")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-every", type=int, default=500, help="steps")
    args = parser.parse_args()
    torch.set_num_threads(1)
    libc = ctypes.CDLL(None)  # keep freed memory: without this a fifth of the time goes to page faults
    libc.mallopt(-3, 2**30), libc.mallopt(-1, 2**31 - 1)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
    torch.manual_seed(args.seed)
    Trainer(args).run()


if __name__ == "__main__":
    main()
