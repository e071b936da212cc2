#!/usr/bin/env python3
"""The prompts, choices and answers of tools/dataset_to_jsonl.py are those of the evaluation harness's own tasks
`race` and `mmlu`, for every question of the data sets.

usage: lm_eval_prompts_test.py PANDO
"""
import gzip
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

import jinja2
import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE.parent / "shared" / "data"
TASKS = pathlib.Path(importlib.util.find_spec("lm_eval").origin).parent / "tasks"


def rows_of(name):
    path = DATA / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return [json.loads(line) for line in file]


def converted(kind, name, *options):
    text = subprocess.run([sys.executable, SOURCE / "tools" / "dataset_to_jsonl.py", kind, DATA / name, *options],
                          check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.rstrip("\n").split("\n")]


def by_subject(rows):
    subjects = {}
    for row in rows:
        subjects.setdefault(row["subject"], []).append(row)
    return subjects


class Prompts(unittest.TestCase):
    def test_race(self):
        spec = importlib.util.spec_from_file_location("race", TASKS / "race" / "preprocess_race.py")
        race = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(race)
        rows = [row for row in rows_of("race-test.jsonl.gz") if row["level"] == "high"]
        for row, line in zip(rows, converted("race", "race-test.jsonl.gz", "--lm-eval", "--level", "high"), strict=True):
            problems = [{"question": question, "options": options, "answer": answer} for question, options, answer
                        in zip(row["questions"], row["options"], row["answers"], strict=True)]
            doc = {"article": row["article"], "problems": repr(problems)}
            choices = race.doc_to_choice(doc)
            self.assertEqual(line["prompt"], race.doc_to_text(doc))
            self.assertEqual(line["choices"], choices)
            self.assertEqual(line["answers"], [choices[race.doc_to_target(doc)]])

    def test_mmlu(self):
        folder = TASKS / "mmlu" / "default"
        task = yaml.safe_load((folder / "_default_template_yaml").read_text())
        text_of = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(task["doc_to_text"]).render
        dev, test = by_subject(rows_of("mmlu-dev.jsonl")), by_subject(rows_of("mmlu-test.jsonl.gz"))
        for n_shots in (0, 5):
            options = ["--shots", str(n_shots), "--dev", str(DATA / "mmlu-dev.jsonl")] if n_shots > 0 else []
            for line in converted("mmlu", "mmlu-test.jsonl.gz", *options):
                subject = line["id"]
                before = yaml.safe_load((folder / f"mmlu_{subject}.yaml").read_text())["description"]
                for row in dev[subject][:n_shots]:
                    before += f"{text_of(row)} {task['doc_to_choice'][row['answer']]}\n\n"
                self.assertEqual(line["choices"], task["doc_to_choice"])
                for row, question in zip(test[subject], line["questions"], strict=True):
                    self.assertEqual(line["context"] + question["text"], before + text_of(row))
                    self.assertEqual(question["answers"], [task["doc_to_choice"][row["answer"]]])


if __name__ == "__main__":
    if not (DATA / "mmlu-test.jsonl.gz").exists():
        print("skipped: no data sets")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
