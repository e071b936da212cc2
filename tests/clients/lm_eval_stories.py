"""The tasks of tests/clients/lm_eval with one model, by the evaluation harness."""
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "lm_eval"
TOOL = FOLDER.parents[2] / "tools" / "convert_llama2c.py"
TASKS = [f"pando_stories_{name}" for name in ("choice", "greedy", "rolling")]


def convert(weights, out):
    """A model of llama2.c as a Hugging Face directory."""
    subprocess.run([sys.executable, TOOL, weights, out], check=True, stdout=subprocess.DEVNULL)


def evaluate(kind, arguments):
    """{task: {"metrics": {name: value}, "requests": [[log-likelihood, whether greedy decoding gives it], ...]}}, of
    whole texts the log-likelihood alone; in the order of the data."""
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HF_HOME=home, HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", OPENAI_API_KEY="none")
        os.chdir(FOLDER)  # where the tasks find their data
        import lm_eval  # reads the environment
        import lm_eval.tasks
        manager = lm_eval.tasks.TaskManager(include_path=str(FOLDER), include_defaults=False)
        found = lm_eval.simple_evaluate(model=kind, model_args=arguments, tasks=TASKS, task_manager=manager,
                                        bootstrap_iters=0, log_samples=True)
    return {task: {"metrics": {name.split(",")[0]: value for name, value in found["results"][task].items()
                               if isinstance(value, float)},
                   "requests": [as_list(answer) for sample in sorted(found["samples"][task], key=lambda s: s["doc_id"])
                                for answers in sample["resps"] for answer in answers]}
            for task in TASKS}


def as_list(answer):
    return [float(answer[0]), bool(answer[1])] if isinstance(answer, (list, tuple)) else [float(answer)]
