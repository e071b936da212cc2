#!/usr/bin/env python3
"""tools/dataset_to_jsonl.py: the lines of small files of each form.

usage: datasets_test.py SOURCE_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]) / "tools" / "dataset_to_jsonl.py"

SQUAD = {"data": [{"title": "T", "paragraphs": [{"context": "C.", "qas": [
    {"id": "1", "question": "Which?", "answers": [{"text": "This"}, {"text": "this one"}], "is_impossible": False},
    {"id": "2", "question": "Why?", "answers": [], "is_impossible": True}]}]}]}
RACE = [
    {"id": "m1", "level": "middle", "article": "Sheep graze.", "questions": ["What do they  _  .", "Who?"],
     "options": [["eat", "graze", "run", "sit"], ["Cows", "Dogs", "Sheep", "Cats"]], "answers": ["B", "C"]},
    {"id": "h1", "level": "high", "article": "It rains.", "questions": ["It  _  .", "How?", "When?"],
     "options": [["rains", "a", "b", "c"], ["Hard", "d", "e", "f"], ["g", "h", "i", "Now"]],
     "answers": ["A", "A", "D"]},
]
MMLU = [{"subject": subject, "question": f" {subject} {i}?\n", "choices": ["w", "x", "y", "z"], "answer": i % 4}
        for subject, n in (("anatomy", 5), ("world_history", 3), ("law", 1)) for i in range(n)]
DEV = [{"subject": subject, "question": f"Dev {i}?", "choices": ["1", "2", "3", "4"], "answer": 3 - i}
       for subject in ("anatomy", "world_history", "law") for i in range(2)]


class DataSets(unittest.TestCase):
    def run_tool(self, rows, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "rows").write_text("\n".join(json.dumps(row) for row in rows))
            (path / "dev").write_text("\n".join(json.dumps(row) for row in DEV))
            return subprocess.run([sys.executable, TOOL.resolve(), arguments[0], "rows", *arguments[1:]], cwd=folder,
                                  capture_output=True, text=True)

    def lines(self, rows, *arguments):
        ran = self.run_tool(rows, *arguments)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [json.loads(line) for line in ran.stdout.splitlines()]

    def refused(self, rows, *arguments):
        ran = self.run_tool(rows, *arguments)
        self.assertNotEqual(ran.returncode, 0)
        return ran.stderr.splitlines()[-1]

    def test_squad(self):
        def answers(*options):
            return [question["answers"] for question in self.lines([SQUAD], "squad", *options)[0]["questions"]]

        self.assertEqual(answers(), [["This", "this one"], []])
        self.assertEqual(answers("--unanswerable", "null"), [["This", "this one"], ["null"]])
        self.assertEqual(answers("--unanswerable", ""), [["This", "this one"], [""]])

    def test_race_by_letters(self):
        middle, high = self.lines(RACE, "race")
        self.assertEqual(middle, {
            "id": "m1", "context": "Sheep graze.", "choices": ["A", "B", "C", "D"], "metadata": {"level": "middle"},
            "questions": [{"text": "What do they  _  .\nA. eat\nB. graze\nC. run\nD. sit", "answers": ["B"]},
                          {"text": "Who?\nA. Cows\nB. Dogs\nC. Sheep\nD. Cats", "answers": ["C"]}]})
        self.assertEqual(len(high["questions"]), 3)

    def test_race_by_texts(self):
        high, = self.lines(RACE, "race", "--choices", "texts", "--level", "high")
        self.assertNotIn("choices", high)
        self.assertEqual(high["questions"][2], {"text": "When?", "choices": ["g", "h", "i", "Now"], "answers": ["Now"]})

    def test_race_as_lm_eval(self):
        middle, high = self.lines(RACE, "race", "--lm-eval")
        self.assertEqual(middle["prompt"], "Article: Sheep graze.\n\nWhat do they graze\nWho?")
        self.assertEqual(high, {
            "id": "h1", "prompt": "Article: It rains.\n\nIt rains\nQuestion: How?\nAnswer: Hard\nWhen?",
            "choices": ["g", "h", "i", "Now"], "answers": ["Now"], "metadata": {"level": "high"}})

    def test_race_limit_counts_questions(self):
        def sizes(*options):
            return [len(line.get("questions", [0])) for line in self.lines(RACE, "race", *options)]

        self.assertEqual(sizes("--limit", "4"), [2, 2])
        self.assertEqual(sizes("--limit", "2"), [2])
        self.assertEqual(sizes("--limit", "0"), [])
        self.assertEqual(sizes("--limit", "1", "--lm-eval"), [1])

    def test_mmlu_without_shots(self):
        anatomy, history, _ = self.lines(MMLU, "mmlu")
        self.assertEqual(history["context"],
                         "The following are multiple choice questions (with answers) about world history.\n\n")
        self.assertEqual(history["metadata"], {"subject": "world_history"})
        self.assertEqual(anatomy["questions"][1],
                         {"text": "anatomy 1?\nA. w\nB. x\nC. y\nD. z\nAnswer:", "answers": ["B"]})
        self.assertEqual(anatomy["choices"], ["A", "B", "C", "D"])

    def test_mmlu_as_prompts(self):
        lines = self.lines(MMLU, "mmlu", "--limit", "4", "--shots", "1", "--dev", "dev")
        prompts = self.lines(MMLU, "mmlu", "--limit", "4", "--shots", "1", "--dev", "dev", "--prompts")
        self.assertEqual([line["id"] for line in prompts], ["anatomy/0", "anatomy/1", "world_history/0", "law/0"])
        expected = [(of["context"] + q["text"], of["choices"], q["answers"]) for of in lines for q in of["questions"]]
        self.assertEqual([(line["prompt"], line["choices"], line["answers"]) for line in prompts], expected)

    def test_mmlu_with_shots(self):
        for n in (1, 2):
            line = self.lines(MMLU, "mmlu", "--shots", str(n), "--dev", "dev")[2]
            shots = "Dev 0?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: D\n\nDev 1?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: C\n\n"
            self.assertEqual(line["context"].split("about law.\n\n")[1], shots if n == 2 else shots[: len(shots) // 2])
        self.assertEqual(self.refused(MMLU, "mmlu", "--shots", "3", "--dev", "dev"),
                         "dataset_to_jsonl.py: 'dev' has 2 questions of 'anatomy', expected 3")
        self.assertIn("--shots and --dev go together", self.refused(MMLU, "mmlu", "--shots", "3"))

    def test_mmlu_limits(self):
        def sizes(*options):
            return {line["id"]: len(line["questions"]) for line in self.lines(MMLU, "mmlu", *options)}

        self.assertEqual(sizes("--limit", "7"), {"anatomy": 3, "world_history": 3, "law": 1})
        self.assertEqual(sizes("--limit", "100"), {"anatomy": 5, "world_history": 3, "law": 1})
        self.assertEqual(sizes("--limit", "2"), {"anatomy": 1, "world_history": 1})
        self.assertEqual(sizes("--questions", "2"), {"anatomy": 2, "world_history": 2, "law": 1})
        self.assertEqual(sizes("--questions", "2", "--limit", "4"), {"anatomy": 2, "world_history": 1, "law": 1})

    def test_gsm8k(self):
        rows = [{"question": f"{i} + 1?", "answer": f"One more.\n#### {i + 1}"} for i in range(3)]
        line, = self.lines(rows, "gsm8k", "--limit", "2", "--shots", "2", "--dev", "rows")
        self.assertEqual(line["context"], "Question: 0 + 1?\nAnswer: One more.\n#### 1\n\n"
                                          "Question: 1 + 1?\nAnswer: One more.\n#### 2\n\n")
        self.assertEqual(line["template"], "{context}Question: {question}\nAnswer:")
        self.assertEqual(line["questions"], [{"text": "0 + 1?", "answers": ["One more.\n#### 1"]},
                                             {"text": "1 + 1?", "answers": ["One more.\n#### 2"]}])
        self.assertEqual(self.lines(rows, "gsm8k")[0]["context"], "")
        self.assertIn("has 3 problems, expected 4", self.refused(rows, "gsm8k", "--shots", "4", "--dev", "rows"))

    def test_files_of_other_kinds(self):
        self.assertEqual(self.refused(MMLU, "race"), "dataset_to_jsonl.py: 'rows' is not of the kind race: 'level'")
        self.assertIn("-1, expected 0 or more", self.refused(RACE, "race", "--limit", "-1"))
        short = [dict(RACE[0], answers=["B"])]
        self.assertIn("'rows' is not of the kind race", self.refused(short, "race"))


unittest.main(argv=sys.argv[:1])
