#!/usr/bin/env python3
"""Writes tests/task/data/sentence-transformers.json: the vectors of the library sentence-transformers for the tiny
embedding model of retrieval_golden.py, with other files beside it. Needs tools/requirements-golden.txt and
sentence-transformers 6.2.

    python3 tools/sentence_golden.py tests/task/data
"""
import argparse
import json
import pathlib
import shutil
import tempfile

import torch
from sentence_transformers import SentenceTransformer

QUESTION = "What is the capital of China?"
LONG = "Gravity attracts bodies, and a text of more tokens than the files let it have loses its end"
MEAN = {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_lasttoken": False},
        "config_sentence_transformers.json": {"prompts": {"query": "Query: ", "document": ""}}}
BEHIND = {**MEAN, "1_Pooling/config.json": {**MEAN["1_Pooling/config.json"], "include_prompt": False}}
BY_DEFAULT = {**BEHIND, "config_sentence_transformers.json": {"prompts": {"query": "Query: "}, "default_prompt_name": "query"}}
LEFT = {"truncation": {"direction": "Left", "max_length": 5, "strategy": "LongestFirst", "stride": 0}}


def length(n):
    return {"sentence_bert_config.json": {"max_seq_length": n, "do_lower_case": False}}


# Additional fields of files, the text, and the name of its prompt.
CASES = [
    (MEAN, QUESTION, "query"), (BEHIND, QUESTION, "query"), (BEHIND, QUESTION, "document"), (BEHIND, QUESTION, None),
    (BY_DEFAULT, QUESTION, None), (BEHIND, "", "query"),
    ({**BEHIND, **length(12)}, LONG, None), ({**BEHIND, **length(12)}, LONG, "query"), (length(12), LONG, "query"),
    ({**BEHIND, **length(12), "tokenizer.json": LEFT}, LONG, "query"),
    ({**length(12), "tokenizer.json": LEFT, "tokenizer_config.json": {"truncation_side": "right"}}, LONG, None),
    ({**length(None), "tokenizer_config.json": {"model_max_length": 9}}, LONG, None),
    ({"tokenizer_config.json": {"model_max_length": 1e30}, "config.json": {"max_position_embeddings": 16}}, LONG, None),
    ({**length(20), "tokenizer_config.json": {"model_max_length": 9}}, LONG, None),
]


def vector(model, files, text, prompt_name):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "m"
        shutil.copytree(model, copy)
        for name, fields in files.items():
            path = copy / name
            content = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps({**content, **fields}))
        library = SentenceTransformer(str(copy), device="cpu", model_kwargs={"dtype": torch.float32})
        return [float(f"{value:.7g}") for value in library.encode(text, prompt_name=prompt_name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, help="folder with qwen3-embedding, where the file is written")
    data = parser.parse_args().data
    cases = [{"files": files, "text": text, "prompt": prompt, "vector": vector(data / "qwen3-embedding", files, text, prompt)}
             for files, text, prompt in CASES]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (data / "sentence-transformers.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
