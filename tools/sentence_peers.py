#!/usr/bin/env python3
"""Compares Pando in f32 with the library sentence-transformers on the queries and passages of TREC:

    pip install -r tools/requirements-golden.txt sentence-transformers==6.2.0 sentencepiece==0.2.3 protobuf==7.36.2
    tools/sentence_peers.py vectors PANDO MODEL TREC.jsonl.gz N     the vectors of the first N passages
    tools/sentence_peers.py ranking PANDO MODEL TREC.jsonl.gz       the candidates of every query, by their vectors
    tools/sentence_peers.py pairs PANDO MODEL TREC.jsonl.gz         these candidates, by a cross-encoder
    tools/sentence_peers.py make MODEL TREC.jsonl.gz                writes a random cross-encoder in the form of XLM-R

TREC.jsonl.gz is ../shared/data/trec-dl19-bm25-top100.jsonl.gz or one like it. The random model has 4 layers of 64, and a
Unigram vocabulary that sentencepiece makes of the passages.
"""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

N_PIECES = 8000


def queries_of(path):
    """[(query, passages)]"""
    with gzip.open(path, "rt") as lines:
        return [(line["query"], [hit["content"] for hit in line["hits"]]) for line in map(json.loads, lines)]


def passages_of(path):
    """Different passages, in the order of the file."""
    return list(dict.fromkeys(text for _, texts in queries_of(path) for text in texts))


def by_pando(pando, command, model, lines):
    """The output lines, in the order of the input."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
        source.write_text("".join(json.dumps(dict(line, id=i)) + "\n" for i, line in enumerate(lines)))
        subprocess.run([pando, command, "--model", model, "--weights", "f32", "--input", source, "--output", output,
                        "--ordered", "--quiet"], check=True)
        return [json.loads(line) for line in output.read_text().splitlines()]


def pando_vectors(pando, model, texts):
    return np.array([line["embedding"] for line in by_pando(pando, "embed", model, [{"text": text} for text in texts])])


def library_vectors(model, texts):
    import torch
    from sentence_transformers import SentenceTransformer
    library = SentenceTransformer(model, device="cpu", model_kwargs={"dtype": torch.float32})
    return library.encode(texts, batch_size=8, show_progress_bar=False).astype(np.float64)


def compare_vectors(pando, model, trec, n):
    texts = passages_of(trec)[:int(n)]
    distance = np.abs(pando_vectors(pando, model, texts) - library_vectors(model, texts)).max()
    print(f"{len(texts)} passages, largest difference of a number {distance:.2g}")


def compare_orders(ours, theirs):
    """ours, theirs: scores of the candidates, a row for each query. Equal scores keep the order of the input."""
    candidates = sum(len(row) for row in ours)
    moved = swapped = 0
    gaps = []  # gaps of the library's scores at ranks where the orders differ
    for own, other in zip(ours, theirs, strict=True):
        first, second = (np.argsort(-np.asarray(row), kind="stable") for row in (own, other))
        different = first != second
        moved += int(different.sum())
        swapped += bool(different.any())
        gaps += list(np.abs(np.asarray(other)[first] - np.asarray(other)[second])[different])
    distance = max(np.abs(np.asarray(own) - np.asarray(other)).max() for own, other in zip(ours, theirs))
    print(f"{len(ours)} queries, {candidates} candidates, largest difference of a score {distance:.2g}; "
          f"{moved} candidates of {swapped} queries have another place; there the library's scores differ by at most "
          f"{max(gaps, default=0):.2g}")


def rank_by_vectors(pando, model, trec):
    queries = queries_of(trec)
    texts = list(dict.fromkeys([query for query, _ in queries] + passages_of(trec)))
    place = {text: i for i, text in enumerate(texts)}
    scores = []
    for vectors in (pando_vectors(pando, model, texts), library_vectors(model, texts)):
        scores.append([vectors[[place[text] for text in passages]] @ vectors[place[query]] for query, passages in queries])
    compare_orders(*scores)


def rank_pairs(pando, model, trec):
    import torch
    from sentence_transformers import CrossEncoder
    queries = queries_of(trec)
    ours = []
    lines = by_pando(pando, "rerank", model, [{"query": query, "documents": texts} for query, texts in queries])
    for line in lines:
        ours.append([result["score"] for result in sorted(line["results"], key=lambda result: result["index"])])
    library = CrossEncoder(model, device="cpu", model_kwargs={"dtype": torch.float32})
    theirs = [library.predict([(query, text) for text in texts], batch_size=16, show_progress_bar=False).astype(np.float64)
              for query, texts in queries]
    compare_orders(ours, theirs)


def make(model, trec):
    import sentencepiece
    import torch
    import transformers
    folder = pathlib.Path(model)
    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(passages_of(trec)), model_prefix=folder / "sentencepiece.bpe", model_type="unigram",
        vocab_size=N_PIECES, hard_vocab_limit=False, unk_id=0, bos_id=1, eos_id=2, minloglevel=2)  # XLM-R's ids
    tokenizer = transformers.XLMRobertaTokenizer.from_pretrained(folder, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4,
        max_position_embeddings=514, type_vocab_size=1, num_labels=1, initializer_range=0.2, pad_token_id=1)
    transformers.XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    print(f"{folder}: {len(tokenizer)} tokens")


COMMANDS = {"vectors": (compare_vectors, 4), "ranking": (rank_by_vectors, 3), "pairs": (rank_pairs, 3), "make": (make, 2)}


def main():
    function, n = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, None))
    if function is None or len(sys.argv) != 2 + n:
        raise SystemExit(__doc__)
    function(*sys.argv[2:])


if __name__ == "__main__":
    main()
