#!/usr/bin/env python3
"""Writes tests/task/data/classifiers: tiny random classifiers of the transformers library, and what it says of texts.

Each folder is a checkpoint with its tokenizer. expected.jsonl has a line for a text, or a pair: the logits, and the
label and score of each label as a pipeline gives them; of classifiers of tokens the entities by each way of
aggregation. Lines with "limit" were cut to so many tokens.

    pip install -r tools/requirements-golden.txt -r tools/requirements-tokenizers.txt
    python tools/classifier_golden.py --tokenizers tests/text/data --out tests/task/data/classifiers
"""

import argparse
import json
import pathlib
import shutil

import torch
import transformers
from tokenizers import Tokenizer

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
         "max_position_embeddings": 64}
DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 64}
TEXTS = [
    "Alice Müller of Acme Corp. flew to New York in 2021.",
    "the steps of a model: rows, pages and plans!",
    "Tokens are (mostly) words; 中文 is not.",
    "unaffordable internationalisation of Łódź's tramways",
    "x",
]
PAIRS = [("What is a page?", "A page has 32 positions of all heads."),
         ("Which rows are computed?", "Nothing is known about the weather " + "of this long evening " * 12),
         ("", "an empty question")]
NAMES = {"entities": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], "three": ["bad", "neutral", "good"],
         "four": ["a", "b", "c", "d"]}


def labels(name):
    return {"id2label": dict(enumerate(NAMES[name])), "label2id": {n: i for i, n in enumerate(NAMES[name])}}


PAD = 390  # a token that is in no text: in RoBERTa it would have no position of its own
# name: seed, class, tokenizer, configuration
MODELS = {
    "bert-three": (1, "BertForSequenceClassification", "uncased", {**SIZES, **labels("three")}),
    "xlm-roberta-pairs": (2, "XLMRobertaForSequenceClassification", "map",
                          {**SIZES, "max_position_embeddings": 66 + PAD, "pad_token_id": PAD, "type_vocab_size": 1,
                           "num_labels": 1}),
    "distilbert-many": (3, "DistilBertForSequenceClassification", "cased",
                        {**DISTIL, **labels("four"), "problem_type": "multi_label_classification"}),
    "bert-tokens": (4, "BertForTokenClassification", "cased", {**SIZES, **labels("entities")}),
    "roberta-tokens": (5, "XLMRobertaForTokenClassification", "map",
                       {**SIZES, "max_position_embeddings": 66 + PAD, "pad_token_id": PAD, "type_vocab_size": 1,
                        **labels("entities")}),
    "modernbert-number": (6, "ModernBertForSequenceClassification", "uncased",
                          {**SIZES, "num_labels": 1, "problem_type": "regression", "classifier_pooling": "mean",
                           "local_attention": 16, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
                           "cls_token_id": 2, "sep_token_id": 3}),
    "qwen2-score": (7, "Qwen2ForSequenceClassification", "uncased",
                    {**SIZES, "num_key_value_heads": 1, "pad_token_id": 0, **labels("three")}),
}
WITH_TYPES = {"bert-three", "bert-tokens"}


def tokenizer_of(options, kind):
    path = options.tokenizers / ("unigram.jsonl" if kind == "map" else "wordpiece.jsonl")
    cases = {case["name"]: case["tokenizer"] for case in map(json.loads, path.read_text().splitlines())}
    document = {"version": "1.0", "truncation": None, "padding": None, **cases[kind]}
    if kind == "map":  # as XLM-RoBERTa has them
        document["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1],
                                      "trim_offsets": True, "add_prefix_space": True}
    return document


def saved(options, name):
    seed, kind, tokenizer, fields = MODELS[name]
    folder = options.out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    document = tokenizer_of(options, tokenizer)
    (folder / "tokenizer.json").write_text(json.dumps(document, separators=(",", ":")))
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<s>", "cls_token": "<s>",
               "sep_token": "</s>"} if tokenizer == "map" else {
        "unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if name in WITH_TYPES else ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": inputs, "model_max_length": 64, **special}))
    model_class = getattr(transformers, kind)
    size = Tokenizer.from_str(json.dumps(document)).get_vocab_size()
    torch.manual_seed(seed)
    model = model_class(model_class.config_class(vocab_size=size, **fields))
    with torch.no_grad():
        for parameter in model.parameters():
            centre = 1.0 if parameter.ndim == 1 and parameter.mean() > 0.5 else 0.0
            parameter.copy_(centre + torch.randn_like(parameter) * (0.2 if parameter.ndim == 1 else 0.3))
    model.eval()
    model.save_pretrained(folder)
    # A class of the library for the family would replace steps of the file.
    return model, transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"),
                                                       model_input_names=inputs, **special)


def scores(model, logits):
    problem, n = model.config.problem_type, logits.shape[-1]
    if problem == "regression":
        return logits
    return logits.sigmoid() if problem == "multi_label_classification" or n == 1 else logits.softmax(-1)


def text_line(model, tokenizer, first, second=None, limit=64):
    encoded = tokenizer(first, second, return_tensors="pt", truncation=True, max_length=limit)
    with torch.no_grad():
        logits = model(**encoded).logits[0]
    line = {"text": first, "ids": encoded["input_ids"][0].tolist(), "logits": logits.tolist(),
            "scores": scores(model, logits).tolist(), "labels": list(model.config.id2label.values())}
    if second is not None:
        line["text_pair"] = second
    return line | ({"limit": limit} if limit != 64 else {})


def token_line(model, tokenizer, text):
    line = {"text": text, "entities": {}}
    for way in ("none", "simple", "first", "average", "max"):
        pipeline = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer, device="cpu",
                                         aggregation_strategy=way)
        line["entities"][way] = [{"label": one["entity" if way == "none" else "entity_group"],
                                  "score": float(one["score"]), "start": one["start"], "end": one["end"]}
                                 for one in pipeline(text)]
    return line


def lines_of(name, model, tokenizer):
    if name.endswith("-tokens"):
        return [token_line(model, tokenizer, text) for text in TEXTS]
    lines = [text_line(model, tokenizer, text) for text in TEXTS]
    lines += [text_line(model, tokenizer, *pair) for pair in PAIRS if name != "qwen2-score"]
    return lines + [text_line(model, tokenizer, TEXTS[0], None, 9)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokenizers", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for name in options.names or MODELS:
        model, tokenizer = saved(options, name)
        lines = lines_of(name, model, tokenizer)
        (options.out / name / "expected.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
