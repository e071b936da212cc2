#!/usr/bin/env python3
"""The accuracy of a published model on MMLU and RACE: `pando run` and the evaluation harness over `pando serve` give
the same figure, to the last digit that the harness prints, and answer every question alike.

usage: lm_eval_published_test.py PANDO
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from server import server

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE.parent / "shared" / "data"
MODEL = SOURCE / "build" / "published" / "smollm2.gguf"
PANDO = str(pathlib.Path(sys.argv[1]).resolve())
N_QUESTIONS = "500"
SETS = {
    "mmlu": ["mmlu", DATA / "mmlu-test.jsonl.gz", "--limit", N_QUESTIONS, "--shots", "5", "--dev",
             DATA / "mmlu-dev.jsonl", "--prompts"],
    "race": ["race", DATA / "race-test.jsonl.gz", "--limit", N_QUESTIONS, "--lm-eval", "--level", "high"],
}
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {path}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: choices
doc_to_target: "{{{{choices.index(answers[0])}}}}"
metric_list:
  - metric: acc
"""


def by_harness(folder, address):
    """{task: (accuracy, [index of the likeliest choice])}"""
    os.environ.update(HF_HOME=str(folder / "home"), HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", OPENAI_API_KEY="none")
    import lm_eval  # reads the environment
    import lm_eval.tasks
    tasks = lm_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)
    found = lm_eval.simple_evaluate(
        model="local-completions", tasks=list(SETS), task_manager=tasks, bootstrap_iters=0, log_samples=True,
        model_args={"model": "demo", "base_url": address + "/v1/completions", "max_length": 8192,
                    "batch_size": 8, "num_concurrent": 4, "timeout": 7200})
    out = {}
    for task in SETS:
        samples = sorted(found["samples"][task], key=lambda sample: sample["doc_id"])
        likelihoods = [[float(response[0][0]) for response in sample["resps"]] for sample in samples]
        out[task] = found["results"][task]["acc,none"], [max(range(len(of)), key=of.__getitem__) for of in likelihoods]
    return out


class Accuracy(unittest.TestCase):
    def test_is_as_by_the_harness(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            ours = {task: self.by_run(folder, task, command) for task, command in SETS.items()}
            with server(PANDO, MODEL, "--kv-memory", "1GiB", "--threads", "2") as address:
                theirs = by_harness(folder, address)
        for task, (accuracy, answers) in ours.items():
            print(f"{task}: accuracy {accuracy:.4f} by pando run, {theirs[task][0]:.4f} by lm-eval")
            self.assertEqual(answers, theirs[task][1], task)
            self.assertEqual(f"{accuracy:.4f}", f"{theirs[task][0]:.4f}", task)

    def by_run(self, folder, task, command):
        path = folder / f"{task}.jsonl"
        with path.open("w") as file:
            subprocess.run([SOURCE / "tools" / "dataset_to_jsonl.py", *command], check=True, stdout=file)
        (folder / f"{task}.yaml").write_text(TASK.format(name=task, path=path))
        answers, report = folder / "answers.jsonl", folder / "report.json"
        subprocess.run([PANDO, "run", "--model", MODEL, "--input", path, "--output", answers, "--overwrite", "--ordered",
                        "--report", report, "--quiet", "--threads", "2"], check=True)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        texts = [json.loads(line)["text"] for line in answers.read_text().splitlines()]
        self.assertEqual(len(lines), int(N_QUESTIONS))
        return (json.loads(report.read_text())["run"]["scores"]["choice"]["accuracy"],
                [line["choices"].index(text) for line, text in zip(lines, texts, strict=True)])


if __name__ == "__main__":
    if not MODEL.exists() or not DATA.exists():
        print(f"skipped: no {MODEL.name if DATA.exists() else DATA} (hint: scripts/published --fetch smollm2 brings the model)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
