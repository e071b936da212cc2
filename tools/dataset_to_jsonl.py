#!/usr/bin/env python3
"""Turns published question sets into input lines for `pando run` and `pando rerank`.

usage: dataset_to_jsonl.py squad FILE.json[.gz] > questions.jsonl
       dataset_to_jsonl.py fairytaleqa FILE.jsonl[.gz] [--shortest] [--stories N] [--questions N] > questions.jsonl
       dataset_to_jsonl.py trec FILE.jsonl[.gz] [--questions N] > queries.jsonl

squad: one line a paragraph with its questions and reference answers (none where unanswerable).
fairytaleqa: one line a story. --questions keeps the first N questions of stories that have so many,
--stories the first N stories, --shortest the shortest instead of the first.
trec: one line a query with its candidates, for `pando rerank`. --questions keeps the first N queries.
"""
import argparse
import gzip
import json
import signal
import sys


def opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def squad(args):
    for article in json.load(opened(args.file))["data"]:
        for index, paragraph in enumerate(article["paragraphs"]):
            questions = [
                {"id": q["id"], "text": q["question"], "answers": [a["text"] for a in q["answers"]]}
                for q in paragraph["qas"]
            ]
            if questions:
                yield {"id": f"{article['title']}/{index}", "context": paragraph["context"], "questions": questions}


def fairytaleqa(args):
    rows = [json.loads(line) for line in opened(args.file)]
    rows = [row for row in rows if len(row["questions"]) >= (args.questions or 0)]
    for row in rows:
        row["text"] = "\n".join(section["text"] for section in row["sections"])
    if args.shortest:
        rows.sort(key=lambda row: len(row["text"]))
    for row in rows[: args.stories]:
        yield {
            "id": row["story"],
            "context": row["text"],
            "questions": [{"text": q["question"], "answers": q["answers"]} for q in row["questions"][: args.questions]],
        }


def trec(args):
    for line in list(opened(args.file))[: args.questions]:
        row = json.loads(line)
        hits = row["hits"]
        yield {
            "id": str(row.get("qid", hits[0].get("qid"))),
            "query": row["query"],
            "documents": [{"id": str(hit["docid"]), "text": hit["content"]} for hit in hits],
        }


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["squad", "fairytaleqa", "trec"])
    parser.add_argument("file")
    parser.add_argument("--stories", type=int)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--shortest", action="store_true")
    args = parser.parse_args()
    takes = {"squad": [], "fairytaleqa": ["stories", "questions", "shortest"], "trec": ["questions"]}[args.kind]
    for option in ("stories", "questions", "shortest"):
        if getattr(args, option) and option not in takes:
            parser.error(f"--{option}: {args.kind} has no use for it")
    try:
        for line in {"squad": squad, "fairytaleqa": fairytaleqa, "trec": trec}[args.kind](args):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:  # missing, unreadable, not gzip
        sys.exit(f"{parser.prog}: cannot read '{args.file}': {error.strerror or error}")
    except (EOFError, ValueError) as error:
        sys.exit(f"{parser.prog}: '{args.file}' is not JSON: {error}")
    except (KeyError, TypeError) as error:
        sys.exit(f"{parser.prog}: '{args.file}' is not of the kind {args.kind}: {error}")


if __name__ == "__main__":
    main()
