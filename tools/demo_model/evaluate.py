#!/usr/bin/env python3
"""Measures the demo model with the engine: exact match over unseen documents, by kind and by length.

    python tools/demo_model/evaluate.py --model models/demo [--pando build/pando]
    python tools/demo_model/evaluate.py --write-only questions.jsonl --model models/demo

An answer counts where it is the expected text, character by character. Needs `tokenizers` only.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

from tokenizers import Tokenizer

import data


def documents(args, length_of):
    """Input lines of `pando run`, and the expected (length, kind, answer) by line and question."""
    lines, expected = [], {}
    for n_tokens in args.lengths:
        for i in range(args.documents):
            rng = random.Random(f"evaluate/{args.seed}/{n_tokens}/{i}")
            document = data.Document(rng, data.Mix(templates=args.templates), test=True).fill(n_tokens, length_of)
            questions = document.questions(args.questions)
            name = f"{n_tokens}-{i}"
            lines.append({"id": name, "context": document.text(),
                          "questions": [{"text": q.text, "answers": [q.answer]} for q in questions]})
            expected |= {(name, str(k)): (n_tokens, q.kind, q.answer) for k, q in enumerate(questions)}
    return lines, expected


def answers(args, path):
    command = [args.pando, "run", "--model", args.model, "--input", path, "--max-tokens", "32", "--threads", "1",
               "--quiet"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(expected, given, lengths):
    """Markdown: a row for each kind, a column for each length."""
    counts = {}
    for key, (n_tokens, kind, answer) in expected.items():
        right = given[key] == answer
        for cell in ((kind, n_tokens), (kind, "all"), ("all", n_tokens), ("all", "all")):
            n, k = counts.get(cell, (0, 0))
            counts[cell] = (n + 1, k + right)
    columns = [*lengths, "all"]
    yield "| kind | " + " | ".join(map(str, columns)) + " | questions |"
    yield "|---" * (len(columns) + 2) + "|"
    for kind in [*data.QUESTION_KINDS, "all"]:
        cells = [counts.get((kind, column), (0, 0)) for column in columns]
        shown = [f"{100 * k / n:.1f}" if n else "-" for n, k in cells]
        yield f"| {kind} | " + " | ".join(shown) + f" | {cells[-1][0]} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--pando", default="build/pando")
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128, 256, 512, 1024],
                        help="of documents, in tokens")
    parser.add_argument("--documents", type=int, default=50, help="of each length")
    parser.add_argument("--questions", type=int, default=30, help="about each document")
    parser.add_argument("--templates", type=int, default=1, help="sentences and questions used of each kind: 1 or 2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write-only", metavar="FILE", help="write the questions and stop")
    parser.add_argument("--errors", type=int, default=0, help="print so many wrong answers")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(pathlib.Path(args.model) / "tokenizer.json"))
    lines, expected = documents(args, lambda text: len(tokenizer.encode(text).ids))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if args.write_only:
        pathlib.Path(args.write_only).write_text(text)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(text)
        file.flush()
        rows = answers(args, file.name)
    given = {(row["id"], row["question_id"]): row["text"].strip() for row in rows}
    print("\n".join(table(expected, given, args.lengths)))
    wrong = [(key, given[key], want) for key, want in expected.items() if given[key] != want[2]]
    for key, got, want in wrong[:args.errors]:
        print(key, repr(got), want)


if __name__ == "__main__":
    main()
