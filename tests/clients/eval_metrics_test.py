#!/usr/bin/env python3
"""`pando eval` gives the scores of public packages: ROUGE-L of rouge-score, exact match and F1 of dspy (SQuAD's rules).

usage: eval_metrics_test.py PANDO [OUTPUT...]    OUTPUT: of `pando run --with answers`, beside the data sets
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from dspy.evaluate.metrics import em_score, f1_score, normalize_text
from rouge_score import rouge_scorer

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE.parent / "shared" / "data"
METRICS = ["exact_match", "token_f1", "rouge_l"]
scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)


def is_compared(text):
    """The packages treat letters beyond ASCII otherwise, and SQuAD's rules leave nothing of an article or a letter."""
    words = normalize_text(text)
    return text.isascii() and words and len(words) > 1


def pairs(name, kind, *options):
    """(text, references): a question's own reference, that of the next question, and both."""
    text = subprocess.run([sys.executable, SOURCE / "tools" / "dataset_to_jsonl.py", kind, DATA / name, *options],
                          check=True, capture_output=True, text=True).stdout
    answers = [question["answers"] for line in text.splitlines() for question in json.loads(line)["questions"]]
    answers = [one for one in answers if one and all(is_compared(text) for text in one)]
    for one, other in zip(answers, answers[1:]):
        yield from ((one[-1], one), (other[0], one), (f"{one[0]}, and {other[0]}.", one))


def expected(text, references):
    return [max(map(float, (em_score(text, reference) for reference in references))),
            max(f1_score(text, reference) for reference in references),
            scorer.score_multi(references, text)["rougeL"].fmeasure]


def scores(path, *options):
    done = subprocess.run([PANDO, "eval", path, "--json", *options], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


class EvalMetrics(unittest.TestCase):
    def compare(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "answers.jsonl"
            path.write_text("".join(json.dumps({**line, "number": str(i)}) + "\n" for i, line in enumerate(lines)))
            found = scores(path, "--by", "number", "--metric", ",".join(METRICS))
        of_line = {(one["group"], one["metric"]): one["value"] for one in found["scores"] if "group" in one}
        sums = [0.0] * len(METRICS)
        for i, line in enumerate(lines):
            for k, value in enumerate(expected(line["text"], line["answers"])):
                self.assertAlmostEqual(of_line[str(i), METRICS[k]], value, places=12, msg=f"{METRICS[k]}: {line}")
                sums[k] += value
        means = {one["metric"]: one["value"] for one in found["scores"] if "group" not in one}
        for metric, total in zip(METRICS, sums):
            self.assertAlmostEqual(means[metric], total / len(lines), places=12)
        print(f"{len(lines)} answers: " + ", ".join(f"{name} {means[name]:.4f}" for name in METRICS))

    def test_data_sets(self):
        for data in (["squad-v1.1-articles.json.gz", "squad"],
                     ["fairytaleqa-train.jsonl.gz", "fairytaleqa", "--shortest", "--stories", "40"]):
            if not (DATA / data[0]).exists():
                self.skipTest(f"no {DATA / data[0]}")
            lines = [{"text": text, "answers": answers} for text, answers in pairs(*data)][:6000]
            self.assertGreater(len(lines), 1000)
            self.compare(lines)

    def test_outputs(self):
        for path in OUTPUTS:
            lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
            lines = [line for line in lines if line.get("answers") and all(map(is_compared, line["answers"]))
                     and line["text"].isascii()]
            self.compare([{"text": line["text"], "answers": line["answers"]} for line in lines])


if __name__ == "__main__":
    PANDO, OUTPUTS = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
