#!/usr/bin/env python3
"""Writes tests/task/data/bge-m3: the heads for tokens of a tiny bge-m3, and the results of the library FlagEmbedding's
formulas for them, on the encoder of tests/task/data/classifiers/xlm-roberta-pairs. Needs
tools/requirements-golden.txt.

    python3 tools/token_vectors_golden.py tests/task/data
"""
import argparse
import json
import pathlib

import torch
import transformers

TEXTS = ["What is a page?", "A page has 32 positions of all heads, and a page has rows.", "中文 <unk>"]
SPECIAL = ("<s>", "</s>", "<unk>", "<pad>")


def line(tokenizer, encoder, colbert, sparse, text):
    encoded = tokenizer(text, return_tensors="pt")
    tokens = encoded["input_ids"][0].tolist()
    with torch.no_grad():
        hidden = encoder(**encoded).last_hidden_state[0]
        vectors = torch.nn.functional.normalize(colbert(hidden[1:]), dim=-1)
        weights = torch.relu(sparse(hidden))[:, 0].tolist()
    unused = set(tokenizer.convert_tokens_to_ids(SPECIAL))
    highest = {}
    for token, weight in zip(tokens, weights):
        if token not in unused and weight > highest.get(token, 0):
            highest[token] = weight
    return {"text": text, "tokens": tokens, "weights": sorted(highest.items()),
            "vectors": [[float(f"{value:.7g}") for value in vector] for vector in vectors.tolist()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, help="folder with classifiers/, where bge-m3/ is written")
    data = parser.parse_args().data
    model, out = data / "classifiers/xlm-roberta-pairs", data / "bge-m3"
    out.mkdir(exist_ok=True)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(model / "tokenizer.json"), model_input_names=["input_ids", "attention_mask"],
        bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>", sep_token="</s>")
    encoder = transformers.XLMRobertaModel.from_pretrained(model, dtype=torch.float32).eval()
    torch.manual_seed(1)
    colbert, sparse = torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)
    for name, head in (("colbert_linear.pt", colbert), ("sparse_linear.pt", sparse)):
        torch.save(head.state_dict(), out / name)
    lines = [line(tokenizer, encoder, colbert, sparse, text) for text in TEXTS]
    (out / "expected.json").write_text(json.dumps(lines, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n")


if __name__ == "__main__":
    main()
