"""SmolLM2-135M-Instruct as the transformers library computes it: the GGUF file's weights widened to f32."""
import json
import math
import pathlib
import sys

import torch
import transformers

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = SOURCE / "build" / "published"
FILE = FOLDER / "SmolLM2-135M-Instruct.Q4_1.gguf"
DATA = SOURCE.parent / "shared" / "data"


def load():
    return transformers.AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE.name, dtype=torch.float32).eval()


def logits(model, tokens):
    """[len(tokens), vocab]"""
    with torch.inference_mode():
        return model(torch.tensor([tokens])).logits[0]


def perplexity(model, tokens, window, stride):
    """Of all tokens but the first, cut as `pando score --perplexity` cuts them: (perplexity, tokens scored)."""
    total, n, scored = 0.0, 0, 1
    while scored < len(tokens):
        end = min(len(tokens), window if scored == 1 else scored + stride)
        begin = max(0, end - window)
        rows = torch.log_softmax(logits(model, tokens[begin:end]).double(), dim=-1)
        for at in range(scored, end):
            total += rows[at - begin - 1, tokens[at]].item()
        n += end - scored
        scored = end
    return math.exp(-total / n), n


if __name__ == "__main__":  # perplexity over a text: reference.py TEXT WINDOW STRIDE < tokens as JSON
    value, count = perplexity(load(), json.load(sys.stdin), int(sys.argv[1]), int(sys.argv[2]))
    print(f"perplexity {value:.4f} over {count} tokens")
