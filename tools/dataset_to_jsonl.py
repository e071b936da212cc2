#!/usr/bin/env python3
"""Turns published question sets into input lines for `pando run` and `pando rerank`.

usage: dataset_to_jsonl.py squad FILE.json[.gz] [--unanswerable TEXT] > questions.jsonl
       dataset_to_jsonl.py fairytaleqa FILE.jsonl[.gz] [--shortest] [--stories N] [--questions N] > questions.jsonl
       dataset_to_jsonl.py race FILE.jsonl[.gz] [--choices letters|texts] [--level middle|high] [--limit N] > questions.jsonl
       dataset_to_jsonl.py race FILE.jsonl[.gz] --lm-eval [--level middle|high] [--limit N] > prompts.jsonl
       dataset_to_jsonl.py mmlu FILE.jsonl[.gz] [--shots N --dev FILE.jsonl] [--questions N] [--limit N] [--prompts]
           > questions.jsonl
       dataset_to_jsonl.py gsm8k FILE.jsonl[.gz] [--shots N --dev FILE.jsonl] [--limit N] > problems.jsonl
       dataset_to_jsonl.py trec FILE.jsonl[.gz] [--questions N] > queries.jsonl

Questions of race and mmlu have choices, so that `pando run` answers with the likeliest and reports the accuracy.
docs/answers.md says how the prompts relate to those of lm-eval.
"""
import argparse
import gzip
import json
import signal
import sys

TOOL = "dataset_to_jsonl.py"
LETTERS = ["A", "B", "C", "D"]


def opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def rows_of(path):
    return [json.loads(line) for line in opened(path)]


def lettered(question, options):
    return "\n".join([question] + [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True)])


def squad(args):
    for article in json.load(opened(args.file))["data"]:
        for index, paragraph in enumerate(article["paragraphs"]):
            none = [] if args.unanswerable is None else [args.unanswerable]
            questions = [
                {"id": q["id"], "text": q["question"], "answers": [a["text"] for a in q["answers"]] or none}
                for q in paragraph["qas"]
            ]
            if questions:
                yield {"id": f"{article['title']}/{index}", "context": paragraph["context"], "questions": questions}


def fairytaleqa(args):
    rows = [row for row in rows_of(args.file) if len(row["questions"]) >= (args.questions or 0)]
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


def race(args):
    left = sys.maxsize if args.limit is None else args.limit
    for row in rows_of(args.file):
        if args.level in (None, row["level"]) and left > 0:
            line = race_as_lm_eval(row) if args.lm_eval else race_line(row, args.choices or "letters", left)
            left -= len(line.get("questions", [line]))
            yield line


def race_line(row, choices, most):
    """An article with its questions, at most so many."""
    line = {"id": row["id"], "context": row["article"], "questions": [], "metadata": {"level": row["level"]}}
    if choices == "letters":
        line["choices"] = LETTERS
    for question, options, answer in list(zip(row["questions"], row["options"], row["answers"], strict=True))[:most]:
        if choices == "letters":
            line["questions"].append({"text": lettered(question, options), "answers": [answer]})
        else:
            right = options[LETTERS.index(answer)]
            line["questions"].append({"text": question, "choices": options, "answers": [right]})
    return line


def race_as_lm_eval(row):
    """Its task `race` asks the last question of an article alone, behind the others with their answers."""
    prompt = f"Article: {row['article']}\n\n"
    rights = [options[LETTERS.index(answer)] for options, answer in zip(row["options"], row["answers"], strict=True)]
    blank = " _  ."
    for question, right in list(zip(row["questions"], rights, strict=True))[:-1]:
        if question.endswith(" " + blank):
            prompt += f"{question.removesuffix(blank)}{right}\n"
        else:
            prompt += f"Question: {question}\nAnswer: {right}\n"
    return {
        "id": row["id"],
        "prompt": prompt + row["questions"][-1],
        "choices": row["options"][-1],
        "answers": rights[-1:],
        "metadata": {"level": row["level"]},
    }


def mmlu(args):
    """The prompts are those of lm-eval's `mmlu`: what comes before a question is the context, all else its text."""
    dev = {}
    for row in rows_of(args.dev) if args.dev else []:
        dev.setdefault(row["subject"], []).append(row)
    rows = {}
    for row in rows_of(args.file):
        rows.setdefault(row["subject"], []).append(row)
    for subject, n in dealt({subject: len(of) for subject, of in rows.items()}, args.questions, args.limit).items():
        shots = dev.get(subject, [])[: args.shots]
        if len(shots) < (args.shots or 0):
            sys.exit(f"{TOOL}: '{args.dev}' has {len(shots)} questions of '{subject}', expected {args.shots}")
        name = subject.replace("_", " ")
        context = f"The following are multiple choice questions (with answers) about {name}.\n\n"
        context += "".join(f"{mmlu_text(row)} {LETTERS[row['answer']]}\n\n" for row in shots)
        questions = [{"text": mmlu_text(row), "answers": [LETTERS[row["answer"]]]} for row in rows[subject][:n]]
        common = {"choices": LETTERS, "metadata": {"subject": subject}}
        if args.prompts:
            for i, question in enumerate(questions):
                yield {"id": f"{subject}/{i}", "prompt": context + question["text"], "answers": question["answers"]} | common
        else:
            template = "{instruction}{context}{question}"
            yield {"id": subject, "context": context, "template": template, "questions": questions} | common


def mmlu_text(row):
    return lettered(row["question"].strip(), row["choices"]) + "\nAnswer:"


def dealt(sizes, most_each, most):
    """How many of each: its size and `most_each` at most, `most` in all, dealt one by one."""
    sizes = {name: min(size, size if most_each is None else most_each) for name, size in sizes.items()}
    left = sum(sizes.values()) if most is None else min(most, sum(sizes.values()))
    taken = dict.fromkeys(sizes, 0)
    while left > 0:
        for name in [name for name in sizes if taken[name] < sizes[name]][:left]:
            taken[name] += 1
            left -= 1
    return {name: n for name, n in taken.items() if n > 0}


def gsm8k(args):
    """The prompts are those of lm-eval's `gsm8k`, with the first problems of --dev as shots."""
    shots = rows_of(args.dev)[: args.shots] if args.dev else []
    if len(shots) < (args.shots or 0):
        sys.exit(f"{TOOL}: '{args.dev}' has {len(shots)} problems, expected {args.shots}")
    yield {
        "id": "gsm8k",
        "context": "".join(f"Question: {row['question']}\nAnswer: {row['answer']}\n\n" for row in shots),
        "template": "{context}Question: {question}\nAnswer:",
        "stop": ["Question:"],
        "questions": [{"text": row["question"], "answers": [row["answer"]]} for row in rows_of(args.file)[: args.limit]],
    }


def trec(args):
    for row in rows_of(args.file)[: args.questions]:
        hits = row["hits"]
        yield {
            "id": str(row.get("qid", hits[0].get("qid"))),
            "query": row["query"],
            "documents": [{"id": str(hit["docid"]), "text": hit["content"]} for hit in hits],
        }


def count(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}, expected 0 or more")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)

    def kind(make, text):
        added = kinds.add_parser(make.__name__, description=text, help=text)
        added.set_defaults(make=make)
        added.add_argument("file")
        return added

    of = kind(squad, "one line for each paragraph, with its questions and reference answers")
    of.add_argument("--unanswerable", metavar="TEXT",
                    help='the reference answer where there is none, as in "null"; default: an empty list, which asks '
                         "for an empty answer")
    of = kind(fairytaleqa, "one line for each story")
    of.add_argument("--stories", type=count, metavar="N", help="the first N stories")
    of.add_argument("--questions", type=count, metavar="N", help="the first N questions of stories that have so many")
    of.add_argument("--shortest", action="store_true", help="the shortest stories instead of the first")
    of = kind(race, "one line for each article, with its questions")
    form = of.add_mutually_exclusive_group()
    form.add_argument("--choices", choices=["letters", "texts"],
                      help="letters (default): the question lists the options, the answer is A, B, C or D; "
                           "texts: the answer is an option")
    form.add_argument("--lm-eval", action="store_true",
                      help="the prompts of lm-eval's task race, one for each article (that task uses --level high)")
    of.add_argument("--level", choices=["middle", "high"], help="only articles of that school level")
    of.add_argument("--limit", type=count, metavar="N", help="the first N questions")
    of = kind(mmlu, "one line for each subject, with its questions: the prompts of lm-eval's mmlu")
    of.add_argument("--shots", type=count, metavar="N", help="the subject's first N questions of --dev come before "
                                                             "each question, with their answers")
    of.add_argument("--dev", metavar="FILE", help="the questions for --shots")
    of.add_argument("--questions", type=count, metavar="N", help="the first N of each subject, as lm-eval's --limit")
    of.add_argument("--limit", type=count, metavar="N", help="N questions in all, from each subject in turn")
    of.add_argument("--prompts", action="store_true", help="one line for each question, with its whole prompt, for programs "
                                                           "that know no contexts")
    of = kind(gsm8k, "one line with all problems, for `pando eval --metric number`")
    of.add_argument("--shots", type=count, metavar="N", help="the first N problems of --dev come before each, solved")
    of.add_argument("--dev", metavar="FILE", help="the problems for --shots")
    of.add_argument("--limit", type=count, metavar="N", help="the first N problems")
    of = kind(trec, "one line for each query, with its candidates, for `pando rerank`")
    of.add_argument("--questions", type=count, metavar="N", help="the first N queries")

    args = parser.parse_args()
    if args.kind in ("mmlu", "gsm8k") and bool(args.shots) != bool(args.dev):
        parser.error("--shots and --dev go together")
    return args


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    args = arguments()
    try:
        for line in args.make(args):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:  # missing, unreadable, not gzip
        sys.exit(f"{TOOL}: cannot read '{error.filename or args.file}': {error.strerror or error}")
    except (EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        sys.exit(f"{TOOL}: '{args.file}' is not JSON: {error}")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"{TOOL}: '{args.file}' is not of the kind {args.kind}: {error}")


if __name__ == "__main__":
    main()
