#!/usr/bin/env python3
"""Writes tests/clients/lm_eval/golden.json: what the evaluation harness finds with the transformers library.

    python3 tools/lm_eval_golden.py stories260K.bin

The Python needs requirements-clients.txt, requirements-golden.txt and accelerate 1.15.0.
"""
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "clients"))
import lm_eval_stories  # noqa: E402


def main():
    weights = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        lm_eval_stories.convert(weights, folder)
        golden = lm_eval_stories.evaluate("hf", {"pretrained": folder, "dtype": "float32", "device": "cpu",
                                                 "add_bos_token": False, "batch_size": 1})
    lines = [json.dumps({name: json.loads(json.dumps(value, default=str)) for name, value in of_task.items()})
             for of_task in golden.values()]
    text = ",\n".join(f"  {json.dumps(task)}: {line}" for task, line in zip(golden, lines))
    (ROOT / "tests" / "clients" / "lm_eval" / "golden.json").write_text("{\n" + text + "\n}\n")
    for task, of_task in golden.items():
        print(task, of_task["metrics"])


main()
