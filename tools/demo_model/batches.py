"""Tensors of documents and their questions: see Tree in model.py."""
import dataclasses

import torch

import data
from model import Tree


@dataclasses.dataclass
class Item:
    """One document with questions, as tokens."""
    document: list
    branches: list  # of (kind, prompt tokens, answer tokens with the end)


@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor   # [B, D + R * T] i64
    tree: Tree
    wanted: torch.Tensor   # [n] i64: flat indices of tokens whose successors are learned or checked
    targets: torch.Tensor  # [n] i64
    weights: torch.Tensor  # [n] f32
    branch: torch.Tensor   # [n] i64: the branch a target belongs to
    kinds: list            # of branches


class Encoder:
    """Text to tokens; documents in pieces, which gives what the whole would (tokenizer.py)."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.eos = tokenizer.token_to_id("<|endoftext|>")

    def encode(self, text):
        return self.tokenizer.encode(text).ids

    def item(self, rng, mix, n_tokens, n_questions, test=False):
        document = data.Document(rng, mix, test).fill(n_tokens, lambda text: len(self.encode(text)))
        branches = [(q.kind, self.encode(data.PROMPT.format(question=q.text)), self.encode(" " + q.answer) + [self.eos])
                    for q in document.questions(n_questions)]
        return Item(self.encode(document.text()), branches)


def _packed(branches, row_len):
    """Branches in rows, first fit, longest first: [[(index, start)]]"""
    rows, free = [], []
    for index in sorted(range(len(branches)), key=lambda i: -branches[i]):
        n = branches[index]
        row = next((r for r, left in enumerate(free) if left >= n), None)
        if row is None:
            row = len(rows)
            rows.append([])
            free.append(row_len)
        rows[row].append((index, row_len - free[row]))
        free[row] -= n
    return rows


def collate(items, pad, prompt_weight=0.0):
    """A batch; `prompt_weight` is the weight of predicting the questions themselves."""
    B, D = len(items), max(len(item.document) for item in items)
    # The last token of an answer is predicted, never read.
    lengths = [[len(prompt) + len(answer) - 1 for _, prompt, answer in item.branches] for item in items]
    T = max(64, max(map(max, lengths)))
    packed = [_packed(n, T) for n in lengths]
    R = max(map(len, packed))
    tokens = torch.full((B, D + R * T), pad)
    positions = torch.zeros(B, D + R * T, dtype=torch.long)
    doc_bias = torch.zeros(B, 1, 1, 1, D)
    owner = torch.full((B, R, T), -1)  # branch of a token
    wanted, targets, weights, branch, kinds = [], [], [], [], []
    for b, item in enumerate(items):
        n = len(item.document)
        tokens[b, :n] = torch.tensor(item.document)
        positions[b, :n] = torch.arange(n)
        doc_bias[b, ..., n:] = -torch.inf
        for r, row in enumerate(packed[b]):
            for index, start in row:
                kind, prompt, answer = item.branches[index]
                sequence, at = prompt + answer, D + r * T + start
                n_read = len(sequence) - 1
                tokens[b, at:at + n_read] = torch.tensor(sequence[:-1])
                positions[b, at:at + n_read] = torch.arange(n, n + n_read)
                owner[b, r, start:start + n_read] = index
                first = len(prompt) - 1 if prompt_weight == 0 else 0
                base = b * (D + R * T) + at
                wanted += range(base + first, base + n_read)
                targets += sequence[first + 1:]
                weights += [prompt_weight] * (len(prompt) - 1 - first) + [1.0] * len(answer)
                branch += [len(kinds)] * (n_read - first)
                kinds.append(kind)
    same = (owner[..., :, None] == owner[..., None, :]) & torch.ones(T, T, dtype=torch.bool).tril()
    row_bias = torch.where(same, 0.0, -torch.inf)[:, :, None]
    return Batch(tokens, Tree(positions, doc_bias, row_bias, D), torch.tensor(wanted), torch.tensor(targets),
                 torch.tensor(weights), torch.tensor(branch), kinds)


def correct(batch, logits):
    """Of each branch, whether all tokens of its answer and its end are the likeliest ones."""
    wrong = (logits.argmax(-1) != batch.targets) & (batch.weights >= 1)
    errors = torch.zeros(len(batch.kinds)).index_add_(0, batch.branch, wrong.float())
    return (errors == 0).tolist()
