#!/usr/bin/env python3
"""Makes the fixtures of tests/task/data: a tiny random embedding model and a tiny random reranker in the form of
Qwen3-Embedding and Qwen3-Reranker, and what the transformers library computes from them by the recipes of their cards.
Needs tools/requirements-golden.txt.

    python3 tools/retrieval_golden.py tests/task/data
"""
import argparse
import json
import pathlib

import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from golden_transformers import randomise

END = "<|endoftext|>"
SPECIAL = [END, "<|im_start|>", "<|im_end|>"]
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
QUERIES = ["What is the capital of China?", "explain gravity", " a query  with  spaces "]
DOCUMENTS = ["The capital of China is Beijing.", "Gravity attracts bodies:\n\nwith F = G m1 m2 / r^2.", "na\u00efve \u6f22\u5b57 ",
             "x"]
PREFIX = ('<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct '
          'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n')
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def made_tokenizer(ends_texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False)
    tokenizer.train_from_iterator([PREFIX + SUFFIX + INSTRUCTION] + QUERIES + DOCUMENTS + ["yes", "no"] * 50, trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    tokenizer.add_tokens([AddedToken(text, special=False) for text in ("<think>", "</think>")])
    bytes_only = processors.ByteLevel(trim_offsets=False)
    end = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, tokenizer.token_to_id(END))])
    tokenizer.post_processor = processors.Sequence([bytes_only, end]) if ends_texts else bytes_only
    return tokenizer


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")


def made_model(folder, seed, ends_texts):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = made_tokenizer(ends_texts)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    write(folder, {"tokenizer_config.json": {
        "add_bos_token": False, "add_prefix_space": False, "bos_token": None, "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>", "pad_token": END, "tokenizer_class": "Qwen2Tokenizer"}})
    end = tokenizer.token_to_id(END)
    config = transformers.Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, intermediate_size=72, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=1024, tie_word_embeddings=True,
        bos_token_id=end, eos_token_id=end, pad_token_id=end)
    model = transformers.Qwen3ForCausalLM(config)
    randomise(model, torch.Generator().manual_seed(seed))
    model.to(torch.bfloat16)
    return tokenizer, model


def rounded(values):
    return [float(f"{value:.7g}") for value in values]


def make_embedding(folder):
    tokenizer, model = made_model(folder, 60, ends_texts=True)
    model.model.save_pretrained(folder)  # without the head and its prefix, as it is published
    path = folder / "config.json"
    path.write_text(path.read_text().replace("Qwen3Model", "Qwen3ForCausalLM"))
    prefix = "sentence_transformers.models."
    write(folder, {
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": prefix + "Transformer"},
                         {"idx": 1, "name": "1", "path": "1_Pooling", "type": prefix + "Pooling"},
                         {"idx": 2, "name": "2", "path": "2_Normalize", "type": prefix + "Normalize"}],
        "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_cls_token": False,
                                  "pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True,
                                  "include_prompt": True},
        "config_sentence_transformers.json": {
            "prompts": {"query": f"Instruct: {INSTRUCTION}\nQuery:", "document": ""}, "default_prompt_name": None,
            "similarity_fn_name": "cosine"}})
    model = transformers.Qwen3Model.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    texts = []
    for kind, instruction, of_kind in (("query", INSTRUCTION, QUERIES), ("document", None, DOCUMENTS),
                                       ("query", "Find proofs", QUERIES)):
        for text in of_kind:
            asked = text if instruction is None else f"Instruct: {instruction}\nQuery:{text}"
            tokens = tokenizer.encode(asked).ids
            with torch.no_grad():
                last = model(torch.tensor([tokens])).last_hidden_state[0, -1]
            texts.append({"type": kind, "instruction": instruction, "text": text, "tokens": tokens,
                          "vector": rounded(torch.nn.functional.normalize(last, p=2, dim=0).tolist())})
    (folder / "golden.json").write_text(json.dumps(texts, indent=None).replace('{"type"', '\n{"type"') + "\n")


def make_reranker(folder):
    tokenizer, model = made_model(folder, 61, ends_texts=False)
    model.save_pretrained(folder)
    yes, no = tokenizer.token_to_id("yes"), tokenizer.token_to_id("no")
    module = "sentence_transformers."
    write(folder, {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": module + "base.modules.transformer.Transformer"},
            {"idx": 1, "name": "1", "path": "1_LogitScore", "type": module + "cross_encoder.modules.logit_score.LogitScore"}],
        "1_LogitScore/config.json": {"true_token_id": yes, "false_token_id": no},
        "config_sentence_transformers.json": {"prompts": {"query": INSTRUCTION}, "default_prompt_name": "query"}})
    model = transformers.Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    before, behind = (tokenizer.encode(text, add_special_tokens=False).ids for text in (PREFIX, SUFFIX))
    pairs = []
    for instruction in (INSTRUCTION, "Find proofs"):
        for query in QUERIES:
            for document in DOCUMENTS:
                body = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
                tokens = before + tokenizer.encode(body, add_special_tokens=False).ids + behind
                with torch.no_grad():
                    logits = model(torch.tensor([tokens])).logits[0, -1]
                both = torch.log_softmax(torch.stack([logits[no], logits[yes]]), dim=0)
                pairs.append({"instruction": instruction, "query": query, "document": document, "tokens": tokens,
                              "score": rounded([both[1].exp().item()])[0]})
    (folder / "golden.json").write_text(json.dumps(pairs).replace('{"instruction"', '\n{"instruction"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per model")
    out = parser.parse_args().out
    make_embedding(out / "qwen3-embedding")
    make_reranker(out / "qwen3-reranker")
    for path in out.glob("*/generation_config.json"):
        path.unlink()


if __name__ == "__main__":
    main()
